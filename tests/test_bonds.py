import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.covariance import LedoitWolf
from sklearn.linear_model import LinearRegression

from whyflag.bonds import Bonds

RNG = np.random.default_rng(0)


def correlated(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)) @ rng.normal(size=(3, d)) + 0.3 * rng.normal(size=(n, d))


@pytest.mark.parametrize(("n", "d"), [(300, 5), (300, 1), (40, 40), (20, 50), (2, 3)])
def test_it_is_the_precision_of_ledoit_and_wolf(n, d):
    differences, asked = correlated(n, d), RNG.normal(size=(7, d))
    precision = np.linalg.inv(LedoitWolf(assume_centered=True).fit(differences).covariance_)
    expected = asked @ precision / np.sqrt(np.diag(precision))
    np.testing.assert_allclose(Bonds.of(differences).residuals(asked), expected, rtol=1e-6)


def test_it_is_the_residual_of_a_regression_on_the_other_columns():
    differences = correlated(100_000, 4)
    found = Bonds.of(differences).residuals(differences[:50])
    for i in range(4):
        others = np.delete(differences, i, axis=1)
        line = LinearRegression(fit_intercept=False).fit(others, differences[:, i])
        left = differences[:, i] - line.predict(others)
        # Shrinkage is a ten-thousandth here.
        np.testing.assert_allclose(found[:, i], left[:50] / left.std(), atol=0.01)


def test_rows_that_are_all_the_same_tell_nothing():
    asked = RNG.normal(size=(3, 4))
    np.testing.assert_array_equal(Bonds.of(np.zeros((5, 4))).residuals(asked), asked)


@given(st.integers(2, 30), st.integers(1, 30), st.integers(0, 10))
def test_columns_that_are_copies_of_one_another_have_finite_residuals(n, d, seed):
    one = np.random.default_rng(seed).normal(size=(n, 1))
    bonds = Bonds.of(np.repeat(one, d, axis=1))
    for size in (1.0, 1e70):
        assert np.isfinite(bonds.residuals(np.full((2, d), size))).all()


def test_an_unbroken_bond_is_no_residual():
    one = RNG.normal(size=(300, 1))
    bonds = Bonds.of(np.hstack([one, one + 0.01 * RNG.normal(size=(300, 1))]))
    together, broken = np.abs(bonds.residuals(np.array([[2.0, 2.0], [2.0, -2.0]])))
    assert together.max() < 0.1 * broken.min()
