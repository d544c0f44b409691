import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm
from sklearn.decomposition import PCA

from benchmarks.worlds import correlated_rows, random_mixture
from whyflag import Domain, Explainer
from whyflag.methods import MARG
from whyflag.prepared import Prepared
from whyflag.score.mixture import MixtureEnergy

ENERGY = random_mixture(5, 3, 10.0, seed=2)
X = np.random.default_rng(0).normal(size=(6, 5)) * 2


def test_equals_scipys_densities():
    values = MARG().bind(Prepared(ENERGY, Domain(5))).attribute(X).values
    for i in range(5):
        deviation = np.sqrt(ENERGY.function.covariances[:, i, i])
        log_density = norm.logpdf(X[:, i, None], ENERGY.function.means[:, i], deviation)
        expected = -logsumexp(log_density + ENERGY.function.log_weights, axis=1)
        np.testing.assert_allclose(values[:, i], expected, rtol=1e-12)


def test_equals_scipys_densities_of_columns_in_their_scales():
    scale = np.array([0.1, 1.0, 3.0, 10.0, 100.0])
    values = MARG().bind(Prepared(ENERGY, Domain(5, scale=scale))).attribute(X).values
    for i in range(5):
        deviation = np.sqrt(ENERGY.function.covariances[:, i, i]) / scale[i]
        log_density = norm.logpdf(
            X[:, i, None] / scale[i], ENERGY.function.means[:, i] / scale[i], deviation
        )
        expected = -logsumexp(log_density + ENERGY.function.log_weights, axis=1)
        np.testing.assert_allclose(values[:, i], expected, rtol=1e-10)


def test_a_group_has_the_density_of_its_columns():
    domain = Domain(5, players={"group": [1, 3, 4]})
    attribution = MARG().bind(Prepared(ENERGY, domain)).attribute(X)
    columns = np.array([1, 3, 4])
    log_density = [
        multivariate_normal.logpdf(
            X[:, columns], mean[columns], covariance[np.ix_(columns, columns)]
        )
        for mean, covariance in zip(ENERGY.function.means, ENERGY.function.covariances, strict=True)
    ]
    expected = -logsumexp(np.array(log_density).T + ENERGY.function.log_weights, axis=1)
    group = attribution.values[:, domain.player_names.index("group")]
    np.testing.assert_allclose(group, expected, rtol=1e-12)


def test_fixed_columns_are_given():
    gaussian = MixtureEnergy(
        np.zeros(1), np.zeros((1, 2)), np.array([[[1.0, 0.8], [0.8, 1.0]]])
    ).to_score()
    attribution = (
        MARG().bind(Prepared(gaussian, Domain(2, fixed=[0]))).attribute(np.array([[2.0, 2.0]]))
    )
    assert attribution.values[0, 1] == pytest.approx(-norm.logpdf(2.0, 0.8 * 2.0, 0.6))


def test_of_a_reconstruction_they_are_the_squared_errors_and_add_up():
    rows = correlated_rows(200, 6, seed=0)
    pca = PCA(2).fit(rows)
    attribution = Explainer(pca, rows, "marg")(rows[:5])
    errors = (rows[:5] - pca.inverse_transform(pca.transform(rows[:5]))) ** 2
    np.testing.assert_allclose(attribution.values, errors, rtol=1e-9, atol=1e-12)
    assert attribution.additive
    np.testing.assert_allclose(attribution.unexplained, 0.0, atol=1e-9)


def test_of_a_density_they_are_no_parts_of_the_score():
    attribution = Explainer(ENERGY, domain=Domain(5), method="marg")(X)
    assert not attribution.additive
    with pytest.raises(ValueError, match="Values by marg are not parts of the score"):
        _ = attribution.unexplained
