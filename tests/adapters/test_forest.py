import numpy as np
import pytest
from sklearn.ensemble import IsolationForest

from planted import NORMAL, PLANTED
from whyflag import as_score
from whyflag.score import Trees

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
