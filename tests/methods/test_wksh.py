import numpy as np
import pytest

from benchmarks.worlds import random_mixture
from whyflag import Domain, Explainer
from whyflag.games import Background, Nearest
from whyflag.methods import WKSH, ShapleyValue
from whyflag.prepared import Prepared
from whyflag.shapley import Kernel

ENERGY = random_mixture(5, 3, 100.0, seed=1)
NORMAL = np.random.default_rng(0).normal(size=(300, 5)) * np.geomspace(0.01, 100, 5)
PREPARED = Prepared(ENERGY, Domain(5))
X = np.random.default_rng(1).normal(size=(5, 5)) * np.geomspace(0.01, 100, 5) * 2


def test_references_are_the_nearest_rows_in_units_of_the_scales():
    scale = NORMAL.std(axis=0)
    ours = Explainer(ENERGY, NORMAL, "wKSH")(X)
    for i, x in enumerate(X):
        squares = ((NORMAL - x) / scale) ** 2
        nearest = np.argsort((squares / (1 + squares / 9)).sum(axis=1))[:8]
        alone = ShapleyValue(PREPARED, Background(NORMAL[nearest]), Kernel()).attribute(x[None])
        np.testing.assert_allclose(ours.values[i], alone.values[0], rtol=1e-9, atol=1e-9)


def test_fewer_rows_than_references_are_all_taken():
    few = Explainer(ENERGY, NORMAL[:3], WKSH(n_references=8), domain=Domain(5))(X)
    alone = ShapleyValue(PREPARED, Background(NORMAL[:3]), Kernel()).attribute(X)
    np.testing.assert_allclose(few.values, alone.values, rtol=1e-9, atol=1e-9)


def test_a_gross_value_does_not_choose_the_neighbours():
    """It is as far from every row, so that the other columns decide as if it were normal."""
    domain, row = Domain.infer(NORMAL), NORMAL[:1] * 0.9
    gross = row.copy()
    gross[0, 2] = 1e9
    normal_rows = Nearest(NORMAL, domain)(row)[0]
    rows = Nearest(NORMAL, domain)(gross)[0]
    assert len({tuple(r) for r in rows} & {tuple(r) for r in normal_rows}) >= 5
    farthest = np.sort(((NORMAL - row) / domain.scale)[:, 2])[[0, -1]]
    assert np.isin(((rows - row) / domain.scale)[:, 2], farthest).sum() <= 1


def test_rounding_does_not_choose_among_equally_near_rows():
    rng = np.random.default_rng(0)
    rows, queries = rng.integers(0, 3, (200, 5)) * 1.0, rng.integers(0, 3, (40, 5)) * 1.0
    domain = Domain.infer(rows)
    chosen = Nearest(rows, domain)(queries)
    for seed in range(3):
        noise = 1e-13 * np.random.default_rng(seed).normal(size=rows.shape)
        shaken = Nearest(rows + noise, domain)(queries + noise[:40])
        np.testing.assert_allclose(shaken, chosen, atol=1e-12)


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
    with pytest.raises(ValueError, match=r"`n_references` must be a whole number, .* got 0"):
        WKSH(n_references=0)
