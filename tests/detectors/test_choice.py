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
    assert max(found.values()) <= found["gmm"] + CLEARLY


def test_another_is_taken_where_it_is_clearly_better():
    # Two thin crescents: one Gaussian covers what is between them too.
    rows, _ = make_moons(1500, noise=0.03, random_state=0)
    candidates = {"gmm": GMM(1), "lof": LOF()}
    name, found = choose_detector(candidates, rows, np.eye(2, dtype=bool))
    assert name == "lof"
    assert found["lof"] > found["gmm"] + CLEARLY


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
