import numpy as np
import pytest

from benchmarks.worlds import correlated_rows, random_mixture
from whyflag.adapters.mahalanobis import MahalanobisDistance
from whyflag.adapters.tails import TailProbability
from whyflag.score import Marginals
from whyflag.score.growing import AskedMarginal
from whyflag.score.mixture import MixtureEnergy

D = 7
ROWS = correlated_rows(40, D, seed=0)
MIXTURE = random_mixture(D, 3, 1e4, seed=0).function
FORMULAS = {
    "mixture": MixtureEnergy(
        MIXTURE.log_weights,
        MIXTURE.means,
        MIXTURE.covariances,
        ROWS.mean(axis=0),
        ROWS.std(axis=0),
    ),
    "distance": MahalanobisDistance(
        ROWS.mean(axis=0), np.cov(ROWS.T), np.linalg.inv(np.cov(ROWS.T))
    ),
    "sum of parts": TailProbability(ROWS, average=False),
}


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("begin", [[], [2], [0, 5]])
def test_what_grows_step_by_step_equals_what_is_asked_for_anew(name, begin):
    rng = np.random.default_rng(1)
    marginals = FORMULAS[name].to_score().need(Marginals)
    X = ROWS[:6] * 1.3
    start = np.isin(np.arange(D), begin)
    growing, asked = marginals.growing(X, start), AskedMarginal(marginals.marginal, X, start)
    inside = np.tile(start, (len(X), 1))
    groups = np.array([[1, 0, 0, 0, 0, 0, 0], [0, 1, 0, 1, 1, 0, 0], [0, 0, 1, 0, 0, 1, 0]], bool)
    groups = np.vstack([groups, np.eye(D, dtype=bool)])
    for _ in range(4):
        new = ~(inside[:, None, :] & groups).any(axis=2)  # rows x groups
        one, other = growing.added(groups), asked.added(groups)
        np.testing.assert_allclose(one[new], other[new], rtol=1e-8, atol=1e-8)
        columns = (rng.random(X.shape) < 0.2) & ~inside  # each row its own, some of them none
        growing.add(columns)
        asked.add(columns)
        inside |= columns
