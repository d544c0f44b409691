from dataclasses import replace

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.linear_model import Ridge

from benchmarks.worlds import random_mixture
from whyflag import Domain, Explainer, as_score
from whyflag.methods import ACE

D = 5
ENERGY = random_mixture(D, 2, 10.0, seed=0)
NORMAL = np.random.default_rng(0).normal(size=(200, D)) * [1, 2, 3, 4, 5] + 1
X = np.random.default_rng(1).normal(size=(4, D)) * 6


def shares(w, u):
    soft = np.logaddexp(0, w * u)
    return soft / soft.sum()


def neighbours(x, n, seed=0):
    """The draw that the method makes, written out."""
    rng = np.random.default_rng(seed)
    return x + 0.1 * rng.standard_normal((n, D)) * NORMAL.std(axis=0)


def test_equals_scikit_learns_ridge():
    attribution = Explainer(ENERGY, NORMAL, ACE(n_neighbors=50))(X)
    mean, scale = NORMAL.mean(axis=0), NORMAL.std(axis=0)
    for x, values in zip(X, attribution.values, strict=True):
        near = neighbours(x, 50)
        weights = np.exp(-(((near - x) / scale) ** 2).sum(axis=1) / (0.75**2 * D))
        ridge = Ridge(alpha=1 / 50, fit_intercept=False)
        ridge.fit((near - mean) / scale, ENERGY(near) - ENERGY(mean[None]), weights)
        np.testing.assert_allclose(values, shares(ridge.coef_, (x - mean) / scale), rtol=1e-6)


def test_shares_are_positive_and_sum_to_one():
    values = Explainer(ENERGY, NORMAL, "ACE")(X).values
    assert (values > 0).all()
    np.testing.assert_allclose(values.sum(axis=1), 1.0)


def test_a_constant_of_the_score_does_not_matter():
    """A density in other units differs by one; a model without an intercept must not see it."""
    plain = Explainer(as_score(lambda X: ENERGY(X)), NORMAL, "ACE")(X)
    other = Explainer(as_score(lambda X: ENERGY(X) + 50), NORMAL, "ACE")(X)
    np.testing.assert_allclose(other.values, plain.values, rtol=1e-9)


def test_the_unit_of_the_score_does_not_matter():
    plain = Explainer(as_score(lambda X: ENERGY(X)), NORMAL, "ACE")(X)
    other = Explainer(as_score(lambda X: 1e-3 * ENERGY(X)), NORMAL, "ACE")(X)
    np.testing.assert_allclose(other.values, plain.values, rtol=1e-9)


def test_a_linear_score_is_told_apart():
    """Of a score that is linear, the model is the score: softplus of each part."""
    slopes = np.array([3.0, -1.0, 0.0, 0.5, 2.0])
    score = as_score(lambda X: X @ slopes)
    score = replace(score, unit=1.0)
    background = np.array([[-1.0] * D, [1.0] * D])
    values = Explainer(score, background, ACE(n_neighbors=5000), domain=Domain(D))(X).values
    expected = np.array([shares(slopes, x) for x in X])
    np.testing.assert_allclose(values, expected, atol=1e-3)


def test_binary_neighbours_are_flips_and_few_at_a_time():
    asked = []

    def score(X):
        asked.append(X.copy())
        return X @ np.array([1.0, 2.0, 3.0, 4.0, 5.0])

    bits = (np.random.default_rng(0).random((100, D)) < 0.5).astype(float)
    Explainer(as_score(score), bits, ACE(n_neighbors=400))(bits[:1])
    near = max(asked, key=len)
    flipped = near != bits[0]
    assert np.isin(near, [0.0, 1.0]).all()
    np.testing.assert_allclose(flipped.mean(axis=0), 0.1, atol=0.05)


def test_a_missing_category_can_be_to_blame():
    """Counted from the mean, a binary column that should be 1 and is 0 has a part of its own."""
    bits = np.ones((100, 3))
    bits[:10, 1] = 0
    bits[10:40, 2] = 0
    score = as_score(lambda X: 10 * (1 - X[:, 0]) + X[:, 2])
    values = Explainer(score, bits, "ACE", domain=Domain(3, binary=[0, 1, 2]))([[0.0, 1.0, 1.0]])
    assert values.values.argmax() == 0


def test_neighbours_stay_within_the_bounds():
    asked = []

    def score(X):
        asked.append(X.copy())
        return np.sqrt(X).sum(axis=1)

    positive = np.abs(NORMAL)
    domain = Domain(D, lower=0.0, scale=positive.std(axis=0))
    Explainer(as_score(score), positive, "ACE", domain=domain)(np.full((1, D), 0.01))
    assert (np.vstack(asked) >= 0).all()


def loss(w, near, x, beta):
    """What ACE-KL minimises, written out."""
    mean, scale = NORMAL.mean(axis=0), NORMAL.std(axis=0)
    weights = np.exp(-(((near - x) / scale) ** 2).sum(axis=1) / (0.75**2 * D))
    miss = ENERGY(near) - ENERGY(mean[None]) - (near - mean) / scale @ w
    kl = -np.log(D) - np.log(shares(w, (x - mean) / scale)).mean()
    return weights @ miss**2 + w @ w / len(near) - beta / len(near) * kl


def test_the_kl_variant_ends_at_a_minimum_of_its_loss():
    from scipy.optimize import approx_fprime, minimize

    attribution = Explainer(ENERGY, NORMAL, ACE(n_neighbors=50, kl=2000.0))(X)
    plain = Explainer(ENERGY, NORMAL, ACE(n_neighbors=50))(X)
    mean, scale = NORMAL.mean(axis=0), NORMAL.std(axis=0)
    for x, values, before in zip(X, attribution.values, plain.values, strict=True):
        near = neighbours(x, 50)
        ridge = Ridge(alpha=1 / 50, fit_intercept=False)
        weights = np.exp(-(((near - x) / scale) ** 2).sum(axis=1) / (0.75**2 * D))
        ridge.fit((near - mean) / scale, ENERGY(near) - ENERGY(mean[None]), weights)
        found = minimize(loss, ridge.coef_, args=(near, x, 2000.0), method="BFGS", tol=1e-8)
        np.testing.assert_allclose(values, shares(found.x, (x - mean) / scale), atol=1e-3)
        assert np.abs(approx_fprime(found.x, loss, 1e-6, near, x, 2000.0)).max() < 1.0
        assert -np.log(values).mean() > -np.log(before).mean()  # further from uniform


def test_the_kl_variant_survives_shares_of_nothing():
    """Far below zero softplus is exp, and its logarithm must not be that of zero."""
    score = as_score(lambda X: 1e4 * (X[:, 0] - X[:, 1]))
    score = replace(score, unit=1.0)
    background = np.array([[-1.0, -1.0], [1.0, 1.0]])
    values = Explainer(score, background, ACE(kl=50.0), domain=Domain(2))([[5.0, 5.0]]).values
    assert np.isfinite(values).all()
    assert values[0, 0] > 0.999
    assert np.isfinite(log_softmax(values)).all()


@pytest.mark.parametrize(
    ("setting", "rule"),
    [
        ({"noise": 0.0}, "`noise` must be a finite number, above 0"),
        ({"alpha": -1.0}, "`alpha` must be a finite number, above 0"),
        ({"flips": 1.0}, "`flips` must be a finite number, above 0 and below 1"),
        ({"n_neighbors": 1}, "`n_neighbors` must be a whole number, at least 2"),
    ],
)
def test_settings_that_make_no_sense_are_refused(setting, rule):
    with pytest.raises(ValueError, match=rule):
        ACE(**setting)
