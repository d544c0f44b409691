import numpy as np
import pytest
from sklearn.datasets import make_moons

from whyflag.detectors import GMM, LOF, Forest
from whyflag.detectors.choice import CLEARLY, choose_detector

CANDIDATES = {"gmm": GMM(), "forest": Forest(50), "lof": LOF()}


def test_the_first_is_kept_unless_another_is_clearly_better():
    rows = np.random.default_rng(0).multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], 600)
    name, found = choose_detector(CANDIDATES, rows, np.eye(2, dtype=bool))
    assert name == "gmm"
    assert set(found) == set(CANDIDATES)
    assert max(each.ranked for each in found.values()) <= found["gmm"].ranked + CLEARLY


def test_another_is_taken_where_it_is_clearly_better():
    # Two thin crescents: one Gaussian covers what is between them too.
    rows, _ = make_moons(1500, noise=0.03, random_state=0)
    candidates = {"gmm": GMM(1), "lof": LOF()}
    name, found = choose_detector(candidates, rows, np.eye(2, dtype=bool))
    assert name == "lof"
    assert found["lof"].ranked > found["gmm"].ranked + CLEARLY
    assert found["lof"].alarmed > found["gmm"].alarmed


def test_the_choice_follows_from_the_seed_and_fits_copies():
    rows = np.random.default_rng(0).normal(size=(300, 3))
    groups = np.eye(3, dtype=bool)
    one, other = (choose_detector(CANDIDATES, rows, groups, seed=4) for _ in range(2))
    assert one == other
    assert not hasattr(CANDIDATES["gmm"], "means_")


@pytest.mark.parametrize("n", [10, 12])
def test_a_few_rows_are_enough(n):
    rows = np.random.default_rng(0).normal(size=(n, 2))
    assert choose_detector(CANDIDATES, rows, np.eye(2, dtype=bool))[0] in CANDIDATES


def test_one_that_ranks_well_and_raises_no_alarm_is_not_taken(recwarn):
    # Rows that come more often than LOF has neighbours: a normal row beside them scores 1e9.
    rng = np.random.default_rng(0)
    covariance = [[4, 3.6, 0], [3.6, 4, 0], [0, 0, 1]]
    distinct = rng.multivariate_normal([20, 40, 5], covariance, 60).round(2)
    rows = distinct[rng.integers(60, size=1000)]
    name, found = choose_detector(CANDIDATES, rows, np.eye(3, dtype=bool))
    assert name == "gmm"
    assert found["lof"].ranked > found["gmm"].ranked + CLEARLY
    assert found["lof"].alarmed < 0.1 < 0.5 < found["gmm"].alarmed
    assert not recwarn
