"""Rows with one to five wrong values: more is repaired only where it is needed."""

from functools import cache

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM

from whyflag import Domain, Explainer, as_score
from whyflag.detectors import GMM
from whyflag.repair.search import WORTH, sizes

DETECTORS = {
    "GMM": lambda rows: GMM(2, random_state=0).fit(rows),
    "LOF": lambda rows: LocalOutlierFactor(novelty=True, contamination=0.03).fit(rows),
    "forest": lambda rows: IsolationForest(n_estimators=50, contamination=0.05, random_state=0).fit(
        rows
    ),
    "OneClassSVM": lambda rows: OneClassSVM(nu=0.05).fit(rows),
}
COLUMNS = (4, 8, 24)
CASES = [(name, d) for name in DETECTORS for d in COLUMNS]


@cache
def made(d):
    """Normal rows that follow three causes, and rows with up to five values moved."""
    rng = np.random.default_rng(d)
    causes = rng.normal(size=(3, d))
    rows, wrong = (
        rng.normal(size=(n, 3)) @ causes + 0.7 * rng.normal(size=(n, d)) for n in (400, 24)
    )
    for i, row in enumerate(wrong):
        which = rng.choice(d, size=min(d, 1 + i % 5), replace=False)
        row[which] += rng.choice([-1, 1], len(which)) * rng.choice([6, 15, 100, 1e4], len(which))
    return rows, wrong


@cache
def detector(name, d):
    return DETECTORS[name](made(d)[0])


def explainer(name, d, movable=None):
    rows, _ = made(d)
    fixed = [] if movable is None else np.setdiff1d(np.arange(d), movable).tolist()
    domain = Domain.infer(rows, bounded=True).having(fixed=fixed)
    return Explainer(detector(name, d), rows, domain=domain)


@pytest.mark.parametrize(("name", "d"), CASES)
def test_whatever_fewer_features_silence_more_do_too(name, d):
    order = np.random.default_rng(0).permutation(d)
    silenced = np.zeros(24, dtype=bool)
    for most in sorted({1, 2, 3, d // 2, d}):
        repair = explainer(name, d, order[:most]).repair(made(d)[1])
        assert (repair.silenced >= silenced).all()
        assert (repair.scores <= repair.before).all()
        silenced = repair.silenced
    assert silenced.any()


@pytest.mark.parametrize(("name", "d"), CASES)
def test_of_several_changes_that_end_the_alarm_each_is_needed(name, d):
    explain, wrong = explainer(name, d), made(d)[1]
    repair = explain.repair(wrong)
    rows, columns = np.nonzero(
        repair.changed & (repair.silenced & (repair.before > repair.alarm))[:, None]
    )
    undone = repair.rows[rows]
    undone[np.arange(len(rows)), columns] = wrong[rows, columns]
    assert (explain.score(undone) > repair.alarm).all()
    np.testing.assert_array_equal(repair.silenced, repair.scores <= repair.alarm)


@pytest.mark.parametrize(("name", "d"), [("GMM", 8), ("LOF", 8), ("GMM", 24), ("LOF", 24)])
def test_several_changes_have_a_lower_score_than_each_by_itself(name, d):
    """A grid of quantiles stands for all that one feature can do."""
    explain, (rows, wrong) = explainer(name, d), made(d)
    repair = explain.repair(wrong)
    for i in np.flatnonzero(repair.changed.sum(axis=1) > 1):
        tried = np.repeat(wrong[i][None], 51 * d, axis=0)
        for j in range(d):
            tried[51 * j : 51 * (j + 1), j] = np.quantile(rows[:, j], np.linspace(0, 1, 51))
        assert repair.scores[i] < explain.score(tried).min()
    assert (repair.changed.sum(axis=1) > 1).any()


@pytest.mark.parametrize("name", ["GMM", "LOF"])
def test_several_values_are_what_the_others_lead_one_to_expect_of_them_together(name):
    """Two of eight columns that follow three causes: a regression on the six others is the goal."""
    rng = np.random.default_rng(3)
    causes = rng.normal(size=(3, 8))
    rows, truth = (
        (rng.normal(size=(n, 3)) @ causes + 0.3 * rng.normal(size=(n, 8))).round(2)
        for n in (600, 30)
    )
    wrong = truth.copy()
    wrong[:, 0] -= 40
    wrong[:, 5] += 60
    others = [1, 2, 3, 4, 6, 7]
    weights = np.linalg.lstsq(np.c_[np.ones(600), rows[:, others]], rows[:, [0, 5]], rcond=None)[0]
    regression = np.c_[np.ones(30), truth[:, others]] @ weights
    repair = Explainer(DETECTORS[name](rows), rows).repair(wrong)
    names_both = repair.changed[:, [0, 5]].all(axis=1) & (repair.changed.sum(axis=1) == 2)
    assert names_both.mean() > 0.8
    off, goal = (
        np.abs(values - truth[:, [0, 5]])[names_both].mean()
        for values in (repair.rows[:, [0, 5]], regression)
    )
    assert off < 1.3 * goal


@pytest.mark.parametrize("alarm", [0.5, 5.0, 30.0])
def test_more_features_leave_no_higher_score_where_they_add_up(alarm):
    """e(x) = Σ |x_i|: what each feature brings is known, however many are repaired."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 6))
    wrong = rng.normal(size=(20, 6)) * rng.choice([1, 30, 1000], size=(20, 6))
    score = as_score(lambda X: np.abs(X).sum(axis=1), n_features=6, threshold=alarm)
    reported = np.inf
    for most in range(1, 7):
        domain = Domain.infer(rows, bounded=True).having(fixed=range(most, 6))
        repair = Explainer(score, rows, domain=domain).repair(wrong)
        least = np.abs(wrong[:, most:]).sum(axis=1)  # what no repair can take away
        now = np.maximum(repair.scores, alarm)
        spared = WORTH * (repair.before - least)  # what is not worth a change
        assert (now <= np.maximum(reported, alarm) + np.where(repair.silenced, 0.0, spared)).all()
        reported = now


def test_rows_with_several_wrong_values_are_repaired_alone_as_together():
    for name in ("GMM", "LOF"):
        explain, wrong = explainer(name, 24), made(24)[1]
        together = explain.repair(wrong)
        assert (together.changed.sum(axis=1) > 1).any()
        for i in (1, 4, 9, 23):
            alone = explain.repair(wrong[[i]])
            np.testing.assert_array_equal(alone.rows[0], together.rows[i])
            np.testing.assert_array_equal(alone.changed[0], together.changed[i])
            assert alone.evaluations[0] == together.evaluations[i]


@pytest.mark.parametrize(
    ("most", "expected"),
    [(0, []), (1, [1]), (3, [1, 2, 3]), (5, [1, 2, 3, 4, 5]), (20, [1, 2, 3, 4, 6, 9, 13, 19, 20])],
)
def test_numbers_of_features_that_are_changed_together(most, expected):
    assert sizes(most) == expected
