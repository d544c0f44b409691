import os
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest

from benchmarks.worlds import correlated_rows
from helpers import assert_same_rows
from whyflag import Explainer, explainer
from whyflag.detectors import GMM, VAE
from whyflag.parallel import count_jobs, in_processes

NORMAL = correlated_rows(300, 5, seed=1)
ROWS = correlated_rows(23, 5, seed=2) + 3 * NORMAL.std(axis=0)


@pytest.fixture
def eager(monkeypatch):
    """Processes as soon as possible, however little there is to do."""
    monkeypatch.setattr(explainer, "TELLING", 0.0)
    monkeypatch.setattr(explainer, "WORTH_PROCESSES", 0.0)


def test_jobs_are_counted():
    assert count_jobs(3) == 3
    assert count_jobs(-1) >= 1
    for wrong in (0, -2):
        with pytest.raises(
            ValueError, match="`n_jobs` must be a whole number, at least 1, or -1, got"
        ):
            count_jobs(wrong)


def test_items_are_done_in_other_processes_and_come_in_their_order():
    found = list(in_processes(2, lambda item: (item, os.getpid()), range(6)))
    assert [item for item, _ in found] == list(range(6))
    assert os.getpid() not in {process for _, process in found}


def test_linear_algebra_has_one_thread_in_each():
    def blas_threads(_):
        from threadpoolctl import threadpool_info

        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    (inside,) = in_processes(count_jobs(-1), blas_threads, [0])
    assert set(inside) == {1}


def test_an_error_says_where_it_happened():
    def fail(item):
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost") as caught:
        list(in_processes(2, fail, range(3)))
    assert any("copied into processes" in note for note in caught.value.__notes__)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("method", ["ASH", "KSH"])
@pytest.mark.parametrize("make", [GMM, VAE, IsolationForest])
def test_the_result_is_the_same(make, method):
    detector = make(random_state=0).fit(NORMAL)
    one = Explainer(detector, NORMAL, method)(ROWS)
    several = Explainer(detector, NORMAL, method, n_jobs=2)(ROWS)
    assert_same_rows(several, one)
    assert several.row_names == one.row_names


@pytest.mark.usefixtures("eager")
def test_a_plain_function_goes_along():
    here = NORMAL.mean(axis=0)
    explain = Explainer(lambda X: ((X - here) ** 2).sum(axis=1), NORMAL, "KSH", n_jobs=2)
    np.testing.assert_allclose(explain(ROWS).unexplained, 0.0, atol=1e-9)


def test_little_work_is_done_here(monkeypatch):
    ticks = count()  # a clock by which every chunk takes a thousandth of a second
    clock = SimpleNamespace(perf_counter=lambda: 0.001 * next(ticks))
    monkeypatch.setattr(explainer, "time", clock)

    class Here:
        """A score that can not be copied."""

        def __call__(self, X):
            return (X**2).sum(axis=1)

        def __reduce__(self):
            raise AssertionError("It was to be copied.")

    assert len(Explainer(Here(), NORMAL, "KSH", n_jobs=2)(ROWS)) == len(ROWS)
