import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from whyflag.prediction import FAR, Prediction

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(400, 2)) @ RNG.normal(size=(2, 5)) + 0.3 * RNG.normal(size=(400, 5)) + 7
SCALE = ROWS.std(axis=0)
PREDICTION = Prediction.of(ROWS, SCALE)


@given(st.sets(st.integers(0, 4), min_size=1, max_size=4))
def test_it_is_a_ridge_regression_of_each_column_on_the_others(hidden):
    columns = np.isin(np.arange(5), list(hidden))
    z = PREDICTION.scaled(ROWS)
    # The ridge on P is one on the covariance of what predicts: n times as much on sums of squares.
    ridge = Ridge(alpha=len(z) * (0.01 + 5 / len(z)))
    theirs = ridge.fit(z[:, ~columns], z[:, columns])
    off = PREDICTION.of_some(z, columns) - z[:, ~columns] @ np.atleast_2d(theirs.coef_).T
    np.testing.assert_allclose(off, 0.0, atol=1e-9)


def test_only_what_is_unknown_is_filled():
    X, unknown = ROWS[:20].copy(), RNG.random((20, 5)) < 0.3
    X[unknown] = 1e9
    found = PREDICTION.filled(X, unknown)
    np.testing.assert_array_equal(found[~unknown], ROWS[:20][~unknown])
    off = np.abs(found - ROWS[:20])[unknown] / np.broadcast_to(SCALE, (20, 5))[unknown]
    usual = np.abs(np.median(ROWS, axis=0) - ROWS[:20])[unknown]
    assert np.median(off) < 0.6 * np.median(usual / np.broadcast_to(SCALE, (20, 5))[unknown])


def test_of_a_row_of_which_nothing_is_known_the_medians_are_expected():
    found = PREDICTION.filled(np.zeros((1, 5)), np.ones((1, 5), bool))
    np.testing.assert_allclose(found[0], np.median(ROWS, axis=0))


@pytest.mark.parametrize("gross", [1e3, 1e300])
def test_a_gross_value_predicts_no_more_than_one_that_is_far(gross):
    X, unknown = np.median(ROWS, axis=0)[None] + [[0, gross, 0, 0, 0]], np.eye(5, dtype=bool)[:1]
    far = X.copy()
    far[0, 1] = np.median(ROWS[:, 1]) + FAR * SCALE[1]
    assert PREDICTION.filled(X, unknown)[0, 0] == pytest.approx(
        PREDICTION.filled(far, unknown)[0, 0]
    )
