import json

import numpy as np
import pytest
from scipy import stats

from whyflag.calibration import HIGHEST, SPREAD, Calibration, alarm

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("n", "asked", "rank", "promised"),
    [(99, 0.01, 99, 0.01), (199, 0.01, 198, 0.01), (150, 0.01, 150, 1 / 151), (19, 0.1, 18, 0.1)],
)
def test_the_alarm_is_the_conformal_quantile(n, asked, rank, promised):
    scores = RNG.permutation(np.arange(1.0, n + 1))
    assert alarm(scores, asked) == (rank, pytest.approx(promised))


def test_with_too_few_rows_less_is_promised():
    normal = Calibration.of(np.arange(1.0, 50.0), 0.01)
    assert (normal.threshold, normal.promised) == (49.0, pytest.approx(0.02))
    assert normal.promise == ("at most 2 % of normal rows; for 1 % it takes 99 rows, not 49")


def test_rows_that_raise_the_alarm_anyway_count():
    scores = np.r_[np.arange(1.0, 298.0), np.inf, np.inf]  # 299 rows
    assert alarm(scores, 0.01) == (297.0, pytest.approx(0.01))
    many = np.r_[np.arange(1.0, 290.0), np.full(10, np.inf)]
    assert alarm(many, 0.01) == (289.0, pytest.approx(11 / 300))


def test_new_rows_raise_the_alarm_as_often_as_promised():
    # Over 4,000 calibrations by 120 rows, one new row each: 1 in 121 by a law that knows no shape.
    scores = np.random.default_rng(1).standard_cauchy((4000, 121))
    raised = sum(row[-1] > alarm(row[:-1], 0.01)[0] for row in scores)
    low, high = stats.binom.interval(0.999, 4000, 1 / 121)
    assert low <= raised <= high


@pytest.mark.parametrize("n", [50, HIGHEST + SPREAD, 20_000])
def test_severity_is_the_part_of_lower_scores(n):
    scores = RNG.normal(size=n)
    normal = Calibration.of(scores, 0.05)
    asked = np.r_[RNG.normal(size=200), scores[:50], 10.0, -10.0]
    below = (scores[None] < asked[:, None]).sum(axis=1)
    assert np.abs(normal.below(asked) - below).max() <= n // SPREAD
    assert normal.severity(asked)[-2:].tolist() == [100.0, 0.0]
    highest = np.sort(scores)[-HIGHEST // 2 :]
    assert normal.below(highest).tolist() == list(range(n - len(highest), n))


def test_ties_are_not_below():
    normal = Calibration.of(np.array([1.0, 2.0, 2.0, 2.0, 3.0]), 0.2)
    assert normal.below(np.array([1.0, 2.0, 2.5, 3.0, 3.5])).tolist() == [0, 1, 4, 4, 5]


def test_what_is_not_above_all_is_not_above_100_percent():
    normal = Calibration.of(np.arange(1.0, 10_001.0))
    assert normal.told(10_000.0) == "above 99.99 %"
    assert normal.told(10_000.5) == "above all 10,000"


def test_a_calibration_survives_json():
    normal = Calibration.of(RNG.normal(size=3000), 0.01)
    content = json.loads(json.dumps(normal.to_json()))
    again = Calibration.from_json(content)
    assert len(content["scores"]) == HIGHEST + SPREAD
    assert again.below(np.linspace(-3, 3, 99)).tolist() == (
        normal.below(np.linspace(-3, 3, 99)).tolist()
    )
    assert (again.threshold, again.promise) == (normal.threshold, normal.promise)


@pytest.mark.parametrize(
    "change",
    [{"ranks": [1, 1, 3]}, {"scores": [2.0, 1.0, 3.0]}, {"n": 5}, {"threshold": np.inf}],
    ids=str,
)
def test_a_calibration_that_does_not_fit_together_is_refused(change):
    content = Calibration.of(np.arange(3.0), 0.5).to_json() | change
    with pytest.raises(ValueError, match=r"do not fit|not finite"):
        Calibration.from_json(content)


def test_no_finite_score_is_refused():
    with pytest.raises(ValueError, match="finite scores, got 3"):
        alarm(np.full(3, np.inf), 0.01)
