import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

import whyflag.score.mixture
from benchmarks.worlds import random_mixture
from helpers import random_coalitions
from whyflag.score.mixture import MixtureEnergy

X = np.random.default_rng(3).normal(size=(12, 5)) * 2


@pytest.fixture
def energy():
    return random_mixture(5, 3, condition=50, seed=1).function


def scipy_energy(energy, X, columns):
    log_joint = [
        log_weight
        + multivariate_normal.logpdf(
            X[:, columns], mean[columns], covariance[np.ix_(columns, columns)]
        )
        for log_weight, mean, covariance in zip(
            energy.log_weights, energy.means, energy.covariances, strict=True
        )
    ]
    return -logsumexp(log_joint, axis=0)


def test_energy_equals_scipys(energy):
    np.testing.assert_allclose(energy(X), scipy_energy(energy, X, np.arange(5)), rtol=1e-12)


def test_marginals_equal_scipys(energy):
    keep = random_coalitions(8, 5, seed=0)
    keep = np.vstack([keep[keep.any(axis=1)], np.eye(5, dtype=bool)])
    expected = [scipy_energy(energy, X, np.flatnonzero(columns)) for columns in keep]
    np.testing.assert_allclose(energy.marginal(X, keep), np.transpose(expected), rtol=1e-12)


def test_marginal_of_all_columns_is_the_energy_and_of_none_is_zero(energy):
    keep = np.array([[True] * 5, [False] * 5])
    np.testing.assert_allclose(energy.marginal(X, keep)[:, 0], energy(X), rtol=1e-12)
    np.testing.assert_array_equal(energy.marginal(X, keep)[:, 1], 0.0)


def test_gradient_equals_finite_differences(energy):
    value, gradient = energy.value_and_grad(X)
    np.testing.assert_allclose(value, energy(X))
    for x, g in zip(X, gradient, strict=True):
        np.testing.assert_allclose(g, approx_fprime(x, lambda y: energy(y[None])[0]), rtol=1e-4)


def test_standardisation_is_seen_through(energy):
    location, spread = np.arange(5.0), np.array([1e-4, 1.0, 3.0, 1e3, 0.5])
    stretched = MixtureEnergy(
        energy.log_weights, energy.means, energy.covariances, location, spread
    )
    rows = location + spread * X
    np.testing.assert_allclose(stretched(rows), energy(X) + np.log(spread).sum())
    _, gradient = stretched.value_and_grad(rows)
    np.testing.assert_allclose(gradient * spread, energy.value_and_grad(X)[1], rtol=1e-8)
    keep = np.eye(5, dtype=bool)
    np.testing.assert_allclose(
        stretched.marginal(rows, keep), energy.marginal(X, keep) + np.log(spread)
    )


def test_curvature_is_the_second_derivative_where_one_component_dominates():
    energy = random_mixture(4, 2, condition=5, seed=0).function
    x = energy.means[1][None] + 0.05
    _, _, regime = energy.value_grad_regime(x)
    apart = MixtureEnergy(np.zeros(1), energy.means[1:], energy.covariances[1:])
    assert regime.tolist() == [1]
    step = np.full(4, 0.01)
    ahead = apart.value_and_grad(x + step)[1] - apart.value_and_grad(x)[1]
    np.testing.assert_allclose(ahead[0], energy.curvatures[1] @ step, rtol=1e-8)


def test_far_from_every_component_the_energy_is_still_exact(energy):
    rows = X * 1e3
    np.testing.assert_allclose(energy(rows), scipy_energy(energy, rows, np.arange(5)), rtol=1e-12)
    keep = np.eye(5, dtype=bool)
    expected = [scipy_energy(energy, rows, np.array([i])) for i in range(5)]
    np.testing.assert_allclose(energy.marginal(rows, keep), np.transpose(expected), rtol=1e-12)


def test_blocks_do_not_change_what_is_said_of_a_row(energy, monkeypatch):
    rows = np.random.default_rng(0).normal(size=(50, 5)) * 2
    whole = (energy(rows), *energy.value_grad_regime(rows))
    monkeypatch.setattr(whyflag.score.mixture, "CALL", 1)
    monkeypatch.setattr(whyflag.score.mixture, "FEWEST", 7)
    in_blocks = (energy(rows), *energy.value_grad_regime(rows))
    for one, other in zip(in_blocks, whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_the_component_of_the_largest_share_rules(energy):
    _, _, regime = energy.value_grad_regime(X)
    joint = [
        log_weight + multivariate_normal.logpdf(X, mean, covariance)
        for log_weight, mean, covariance in zip(
            energy.log_weights, energy.means, energy.covariances, strict=True
        )
    ]
    np.testing.assert_array_equal(regime, np.argmax(joint, axis=0))
