import numpy as np
import pytest
import shap

from benchmarks.worlds import random_mixture
from whyflag import Domain, Explainer
from whyflag.clusters import cluster_centers, from_within
from whyflag.games import Background
from whyflag.methods import KSH, ShapleyValue
from whyflag.prepared import Prepared
from whyflag.shapley import Exact

D = 10
ENERGY = random_mixture(D, 3, 100.0, seed=1)
NORMAL = np.random.default_rng(0).normal(size=(300, D)) * np.geomspace(0.5, 2, D)
NORMAL = NORMAL[from_within(NORMAL)]  # as an Explainer has them
PREPARED = Prepared(ENERGY, Domain(D))
X = np.random.default_rng(1).normal(size=(5, D)) * 2


def test_equals_shaps_kernel_explainer():
    """Full enumeration, no selection of features, the same weighted references."""
    domain = Domain(D)
    ours = Explainer(ENERGY, NORMAL, "KSH", domain=domain)(X)
    centers, sizes = cluster_centers(NORMAL, domain.scale, 8)
    data = shap.utils._legacy.DenseData(centers, [str(i) for i in range(D)], None, sizes)
    theirs = shap.KernelExplainer(ENERGY, data)
    values = theirs.shap_values(X, nsamples=2**D, l1_reg=False, silent=True)
    np.testing.assert_allclose(ours.values, values, atol=1e-6)
    np.testing.assert_allclose(ours.base_values, theirs.expected_value, atol=1e-9)


def test_is_the_background_game_and_a_solver():
    method = KSH(n_references=4, solver=Exact())
    ours = Explainer(ENERGY, NORMAL, method, domain=Domain(D))(X)
    centers, sizes = cluster_centers(NORMAL, np.ones(D), 4)
    composed = ShapleyValue(PREPARED, Background(centers, sizes), Exact()).attribute(X)
    np.testing.assert_allclose(ours.values, composed.values, rtol=1e-12, atol=1e-12)


def test_every_feature_gets_a_value_however_many_there_are():
    d = 59
    energy = random_mixture(d, 2, 10.0, seed=0)
    background = np.random.default_rng(0).normal(size=(50, d))
    attribution = Explainer(energy, background, "KSH")(np.full((1, d), 2.0))
    assert (attribution.values != 0).all()
    assert (attribution.standard_errors > 0).all()


def test_no_references_are_refused():
    with pytest.raises(ValueError, match=r"`n_references` must be a whole number, .* got 0"):
        KSH(n_references=0)
