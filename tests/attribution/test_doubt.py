"""Rows whose first feature is in doubt: none stands out, or several are as large."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest

from whyflag import Attribution, Ensemble, Explainer, as_score
from whyflag.attribution.doubt import doubts_of, is_even, tied
from whyflag.detectors import GMM

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=(300, 6)) @ np.diag([1.0, 2.0, 0.5, 1.0, 3.0, 1.0])
SCALE = NORMAL.std(axis=0)
SIX = ("a", "b", "c", "d", "e", "f")


def make(values, errors=None, threshold=None):
    values = np.array(values, dtype=float)
    n, p = values.shape
    return Attribution(
        values=values,
        base_values=np.zeros(n),
        scores=values.sum(axis=1),
        evaluations=np.ones(n, dtype=int),
        standard_errors=None if errors is None else np.array(errors, dtype=float),
        data=np.zeros((n, p)),
        row_names=tuple(range(n)),
        feature_names=SIX[:p],
        column_names=SIX[:p],
        membership=np.eye(p, dtype=bool),
        threshold=threshold,
    )


@pytest.mark.parametrize(
    ("shares", "even"),
    [
        ([1 / 6] * 6, True),
        ([0.2] * 5 + [0.0], True),  # 5 of 6, more than 2.4
        ([0.4, 0.4, 0.2, 0, 0, 0], True),  # 2.8
        ([0.5, 0.5, 0, 0, 0, 0], False),  # 2
        ([0.5, 0.3, 0.2, 0, 0, 0], True),  # 2.63
        ([0.51, 0.1, 0.1, 0.1, 0.1, 0.09], False),  # more than half
        ([0.5, 0.5], False),
        ([0.0] * 6, True),
    ],
)
def test_how_even_shares_are(shares, even):
    assert is_even(np.array([shares])).tolist() == [even]


def test_attributions_are_tied_within_two_errors_of_their_difference():
    values, errors = np.array([[9.0, 4.0, 3.9]]), np.array([[2.0, 1.5, 1.5]])
    assert tied(values, errors).tolist() == [[True, True, False]]  # 2 · 2.5 = 5
    assert tied(values, None).tolist() == [[True, False, False]]
    assert tied(np.array([[3.0, 3.0 + 1e-13, 1.0]]), None).tolist() == [[True, True, False]]
    assert tied(values, np.full((1, 3), np.inf)).all()  # too few were drawn to tell


def told(values):
    values = np.array([values])
    shares = values / values.sum()
    return doubts_of(shares, values, np.full(values.shape, 0.01), "abcdefghijkl")[0]


def test_what_is_told():
    tie = "cannot be told apart: their attributions differ by less than twice the standard error."
    assert told([2.0, 1.5, 1.5]) == "No feature stands out: the largest share, that of a, is 40 %."
    assert told([3.0, 0.0, 3.0]) == f"a and c {tie}"
    assert told([3.0, 3, 0, 3] + [0] * 8) == f"a, b and d {tie}"
    assert told([3.0, 3, 0, 3, 3] + [0] * 7) == f"a, b and 2 others {tie}"
    assert told([9.0, 1.0, 1.0]) == ""


def test_a_row_without_positive_values_says_so():
    remark = "No feature stands out: no attribution is positive."
    assert make([[-1.0, -2.0, -3.0]]).remarks == (remark,)


def test_one_feature_alone_is_never_in_doubt():
    assert make([[3.0], [0.0]]).remarks == ("", "")


def test_what_is_not_finite_is_not_judged():
    assert make([[np.nan, 1.0, 1.0]]).remarks == ("",)


def test_only_rows_that_raise_the_alarm_are_asked():
    rows = make([[1.0, 1.0, 1.0], [5.0, 5.0, 5.0]], threshold=4.0)
    assert rows.in_doubt.tolist() == [False, True]
    assert "1 without a clear first feature" in repr(rows)
    assert replace(rows, threshold=None).in_doubt.all()


@pytest.mark.parametrize(
    "detector", [GMM(random_state=0), IsolationForest(random_state=0)], ids=["GMM", "forest"]
)
def test_one_culprit_stands_out_and_many_do_not(detector):
    explain = Explainer(detector.fit(NORMAL), NORMAL)
    culprits = np.zeros((6, 6)) + np.diag(5 * SCALE)
    assert not explain(NORMAL[:6] + culprits).in_doubt.any()
    far = explain(3 * SCALE * RNG.choice([-1, 1], (20, 6)))
    assert far.in_doubt.mean() >= 0.8
    assert any(text.startswith("No feature stands out") for text in far.remarks)


def test_a_detector_that_sees_nothing_has_no_culprit():
    blind = as_score(lambda X: np.ones(len(X)), n_features=6)
    said = Explainer(blind, NORMAL)(NORMAL[:3] + 5 * SCALE)
    assert all(text.startswith("No feature stands out") for text in said.remarks)


def test_an_ensemble_is_in_doubt_if_a_member_is():
    detector = GMM(random_state=0).fit(NORMAL)
    said = Ensemble.of(detector, NORMAL)(3 * SCALE * np.ones((1, 6)))
    assert said.in_doubt == np.any([member.in_doubt for member in said.members])
    assert "near: No feature stands out" in said.remarks[0]


def test_without_standard_errors_only_equal_ones_are_tied():
    values = np.array([[3.0, 3.0, *[0.0] * 6]])
    said = doubts_of(values / values.sum(), values, None, "abcdefgh")[0]
    assert said == "a and b cannot be told apart: their attributions are equal."
