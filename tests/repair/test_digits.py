import numpy as np
import pytest

from whyflag import Domain
from whyflag.repair.digits import ends_in_few_digits, in_few_digits, most_decimals
from whyflag.repair.known import Known
from whyflag.repair.trials import Trials
from whyflag.score import Score


def rounded(function, value, *, scale=1.0, alarm=1.0, **changes):
    domain = Domain(1, scale=scale, lower=-1e12, upper=1e12).having(**changes)
    score = Score(function, n_features=1, threshold=alarm)
    known = Known(score, domain, None)
    rows, before = np.array([[value]]), np.array([[99.0]])
    moved, owner = np.ones((1, 1), bool), np.zeros(1, int)
    found, scores = in_few_digits(rows, score(rows), moved, before, owner, known, Trials(known, 1))
    np.testing.assert_array_equal(scores, score(found))
    return found[0, 0]


def quiet(X):
    return np.zeros(len(X))


@pytest.mark.parametrize(
    ("value", "scale", "expected"),
    [
        (0.123456789, 1.0, 0.12),
        (998494498.3345, 1e7, 998500000.0),
        (1.4760123e-6, 1e-6, 1.48e-6),
        (-3.14159, 0.2, -3.142),
    ],
)
def test_a_hundredth_of_a_scale_is_told_apart(value, scale, expected):
    assert rounded(quiet, value, scale=scale) == expected


def test_as_many_digits_are_kept_as_the_alarm_asks_for():
    def narrow(X):
        return 1e4 * np.abs(X[:, 0] - 0.123456)

    assert rounded(narrow, 0.123456, alarm=1.0) == 0.1235
    assert rounded(narrow, 0.123456, alarm=0.01) == 0.123456  # 0.12346 raises it


def test_what_raises_an_alarm_anyhow_stays():
    assert rounded(lambda X: np.full(len(X), 5.0), 0.123456) == 0.123456


@pytest.mark.parametrize("kind", [{"step": {0: 0.001}}, {"given": {0: [0.1235, 7.0]}}])
def test_columns_of_a_known_kind_have_their_own_digits(kind):
    assert rounded(quiet, 0.1235, **kind) == 0.1235


def test_ends_are_rounded_inwards():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 3))
    low, high = rows - rng.gamma(1, 1, rows.shape) - 0.1, rows + rng.gamma(1, 1, rows.shape) + 0.1
    domain = Domain(3, scale=[1, 0.01, 300])
    lower, upper = ends_in_few_digits(low, rows, high, domain)
    assert ((low <= lower) & (lower <= rows) & (rows <= upper) & (upper <= high)).all()
    assert (upper - lower >= 0.9 * (high - low)).all()
    wide = (high - low)[:, 0] > 1
    np.testing.assert_array_equal(lower[wide, 0], lower[wide, 0].round(2))
    assert most_decimals(1.0) == 5


def test_of_what_has_no_range_nothing_is_made():
    nothing = np.full((1, 1), np.nan)
    lower, upper = ends_in_few_digits(nothing, np.zeros((1, 1)), nothing, Domain(1))
    assert np.isnan([lower, upper]).all()
