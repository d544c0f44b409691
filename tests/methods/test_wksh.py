import numpy as np
import pytest
from scipy.spatial.distance import cdist

from benchmarks.worlds import random_mixture
from whyflag import Domain, Explainer
from whyflag.games import Background
from whyflag.methods import WKSH, ShapleyMethod
from whyflag.shapley import Kernel

ENERGY = random_mixture(5, 3, 100.0, seed=1)
NORMAL = np.random.default_rng(0).normal(size=(300, 5)) * np.geomspace(0.01, 100, 5)
X = np.random.default_rng(1).normal(size=(5, 5)) * np.geomspace(0.01, 100, 5) * 2


def test_references_are_the_nearest_rows_in_units_of_the_scales():
    scale = NORMAL.std(axis=0)
    ours = Explainer(ENERGY, NORMAL, "wKSH")(X)
    for i, x in enumerate(X):
        nearest = np.argsort(cdist(x[None] / scale, NORMAL / scale)[0])[:8]
        alone = ShapleyMethod(Background(ENERGY, NORMAL[nearest]), Kernel()).attribute(x[None])
        np.testing.assert_allclose(ours.values[i], alone.values[0], rtol=1e-9, atol=1e-9)


def test_fewer_rows_than_references_are_all_taken():
    few = Explainer(ENERGY, NORMAL[:3], WKSH(n_references=8), domain=Domain(5))(X)
    alone = ShapleyMethod(Background(ENERGY, NORMAL[:3]), Kernel()).attribute(X)
    np.testing.assert_allclose(few.values, alone.values, rtol=1e-9, atol=1e-9)


def test_equally_near_rows_are_chosen_alike_alone_and_in_company():
    rng = np.random.default_rng(0)
    bits = (rng.random((200, 20)) < 0.5).astype(float)
    energy = random_mixture(20, 2, 10.0, seed=0)
    explain = Explainer(energy, bits, WKSH(solver=Kernel(100)))
    queries = (rng.random((30, 20)) < 0.5).astype(float)
    together = explain(queries).values
    alone = np.vstack([explain(query[None]).values for query in queries])
    np.testing.assert_allclose(alone, together, atol=1e-9)


def test_no_references_are_refused():
    with pytest.raises(ValueError, match="nearest rows must be at least 1, got 0"):
        Explainer(ENERGY, NORMAL, WKSH(n_references=0))
