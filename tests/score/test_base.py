import numpy as np
import pytest

from benchmarks.worlds import random_mixture
from whyflag.score import Score, evaluate, unit_from

X = np.random.default_rng(0).normal(size=(20, 3))


def test_evaluate_refuses_what_a_score_of_the_users_own_class_gets_wrong():
    class Wrong(Score):
        def __call__(self, X):
            return np.full(len(X), np.nan)

    with pytest.raises(ValueError, match=r"finite, got nan at row 0.*bounds of the `Domain`"):
        evaluate(Wrong(), X)


def test_the_unit_of_a_gaussians_energy_is_a_nat():
    rng = np.random.default_rng(0)
    for d in (2, 10, 50):
        energy = random_mixture(d, 1, condition=20, seed=0)
        rows = rng.multivariate_normal(energy.means[0], energy.covariances[0], size=20_000)
        assert unit_from(energy(rows), d) == pytest.approx(energy.unit, rel=0.2)


def test_the_unit_is_never_zero():
    assert unit_from(np.full(9, 3.0), 2) == 1.0
    assert unit_from(np.array([0.0, 0.0, 0.0, 0.0, 5.0]), 2) == pytest.approx(2.0)
