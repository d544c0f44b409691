import numpy as np
import pytest
from sklearn.ensemble import IsolationForest

from planted import NORMAL, PLANTED
from whyflag import as_score
from whyflag.score import Trees, trees

FORESTS = {
    "default": {},
    "some columns": {"max_features": 0.4},
    "few rows": {"max_samples": 7, "bootstrap": True},
    "two rows": {"max_samples": 2},
    "one row": {"max_samples": 1},
    "one tree": {"n_estimators": 1, "contamination": 0.1},
}


@pytest.mark.parametrize("settings", FORESTS.values(), ids=FORESTS)
def test_forests_score_as_scikit_learn_says(settings):
    forest = IsolationForest(random_state=0, **settings).fit(NORMAL)
    rows = np.asfortranarray(np.vstack([NORMAL[:50], PLANTED, 1e60 * PLANTED]))
    score = as_score(forest)
    with np.errstate(over="ignore"):
        expected = -forest.score_samples(rows)
    np.testing.assert_allclose(score(rows), expected, rtol=1e-12)
    assert score.threshold == -forest.offset_


@pytest.mark.parametrize("settings", FORESTS.values(), ids=FORESTS)
def test_numba_changes_no_digit(settings, monkeypatch):
    """Nor do rows beside a row, among which fewer or more splits are left out."""
    score = as_score(IsolationForest(random_state=0, **settings).fit(NORMAL))
    between = NORMAL[:1] + np.linspace(0, 1, 300)[:, None] * (PLANTED[:1] - NORMAL[:1])
    rows = np.vstack([NORMAL[:50], PLANTED, between, np.full_like(NORMAL[:1], np.inf)])
    found = [score(rows), score(between), score(rows[:1])]
    rows[3, 1] = np.nan
    unknown = score(rows)
    monkeypatch.setattr(trees, "compiled", lambda loops: None)
    np.testing.assert_array_equal(score(rows), unknown)
    rows[3] = NORMAL[3]
    np.testing.assert_array_equal(score(rows), found[0])
    np.testing.assert_array_equal(score(between), found[1])
    np.testing.assert_array_equal(score(rows[:1]), found[2])


class Renamed(IsolationForest):
    """A subclass that changes no score."""


class Squared(IsolationForest):
    def score_samples(self, X):
        return -(super().score_samples(X) ** 2)


@pytest.mark.parametrize("kind", [Renamed, Squared])
def test_a_subclass_scores_as_it_says_and_is_a_forest_if_it_changes_no_score(kind):
    forest = kind(n_estimators=10, random_state=0).fit(NORMAL)
    score = as_score(forest)
    np.testing.assert_allclose(score(PLANTED), -forest.score_samples(PLANTED), rtol=1e-12)
    assert (score.find(Trees) is not None) == (kind is Renamed)


def test_trees_of_one_row_are_no_sum_over_trees():
    forest = IsolationForest(max_samples=1, random_state=0).fit(NORMAL)
    assert as_score(forest).find(Trees) is None
