import threading
import time

import numpy as np
import pytest
import torch
from sklearn.ensemble import IsolationForest
from threadpoolctl import threadpool_info, threadpool_limits

from benchmarks.worlds import correlated_rows
from whyflag import Explainer
from whyflag.detectors import GMM, VAE
from whyflag.parallel import at_a_time, count_jobs
from whyflag.score.torch import Runner

NORMAL = correlated_rows(300, 5, seed=1)
ROWS = correlated_rows(23, 5, seed=2) + 3 * NORMAL.std(axis=0)


def test_jobs_are_counted():
    assert count_jobs(3) == 3
    assert count_jobs(-1) >= 1
    for wrong in (0, -2):
        with pytest.raises(ValueError, match="`n_jobs` must be at least 1, or -1 for every core"):
            count_jobs(wrong)


def test_results_come_in_the_order_of_the_items_whatever_is_done_first():
    def slow_at_first(item):
        time.sleep(0.05 if item == 0 else 0.0)
        return 10 * item

    with at_a_time(3) as map_:
        assert list(map_(slow_at_first, range(6))) == [0, 10, 20, 30, 40, 50]


def test_several_are_at_work_at_once():
    meeting = threading.Barrier(2, timeout=20)
    with at_a_time(2) as map_:
        assert len(list(map_(lambda _: meeting.wait(), range(2)))) == 2


def test_linear_algebra_has_one_thread_meanwhile_and_its_own_number_afterwards():
    def blas_threads(_=None):
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    with threadpool_limits(2):
        before, torch_before = blas_threads(), torch.get_num_threads()
        with at_a_time(2) as map_:
            (inside,) = map_(blas_threads, [0])
            (torch_inside,) = map_(lambda _: torch.get_num_threads(), [0])
        assert set(inside) == {1}
        assert torch_inside == 1
        assert (blas_threads(), torch.get_num_threads()) == (before, torch_before)


def test_an_error_ends_all():
    done = []

    def fail_at_first(item):
        if item == 0:
            raise KeyError("first")
        time.sleep(0.01)
        done.append(item)

    with pytest.raises(KeyError, match="first"), at_a_time(2) as map_:
        list(map_(fail_at_first, range(1000)))
    assert len(done) < 1000


def dropout_network():
    torch.manual_seed(0)
    layers = [torch.nn.Linear(5, 20), torch.nn.Softplus(), torch.nn.Dropout(0.5)]
    return torch.nn.Sequential(*layers, torch.nn.Linear(20, 1), torch.nn.Flatten(0)).double()


@pytest.mark.parametrize("method", ["ASH", "KSH"])
@pytest.mark.parametrize("make", [GMM, VAE, IsolationForest])
def test_the_result_is_the_same(make, method):
    settings = {"random_state": 0} if make is IsolationForest else {"seed": 0}
    detector = make(**settings).fit(NORMAL)
    one = Explainer(detector, NORMAL, method)(ROWS)
    several = Explainer(detector, NORMAL, method, n_jobs=2)(ROWS)
    np.testing.assert_allclose(several.values, one.values, rtol=1e-6, atol=1e-6 * one.unit)
    assert several.row_names == one.row_names


def test_a_module_stays_in_evaluation_mode_until_the_last_thread_is_done_with_it():
    network = dropout_network()  # in training mode
    runner = Runner(modules=[network])
    first_in, second_in, first_out = (threading.Event() for _ in range(3))
    modes = []

    def first(X):
        first_in.set()
        assert second_in.wait(20)
        return X

    def second(X):
        second_in.set()
        assert first_out.wait(20)
        modes.extend(part.training for part in network.modules())
        return X

    def score_first():
        runner.values(first, ROWS)
        first_out.set()

    thread = threading.Thread(target=score_first)
    thread.start()
    assert first_in.wait(20)
    runner.values(second, ROWS)
    thread.join()
    assert not any(modes)
    assert all(part.training for part in network.modules())
