from dataclasses import replace

import numpy as np

from whyflag import Explainer
from whyflag.detectors import GMM
from whyflag.records import join_rows
from whyflag.repair.as_they_came import _best

SHARES = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])


def tried(changed, silenced, scores):
    """Repairs that were tried, whatever their values are."""
    rows = np.random.default_rng(0).normal(size=(100, 3))
    one = Explainer(GMM(1, random_state=0).fit(rows), rows).repair([[9.0, 0.0, 0.0]])
    many = replace(join_rows([one] * len(changed)), changed=np.array(changed, dtype=bool))
    return replace(
        many,
        silenced=np.array(silenced),
        scores=np.array(scores),
        evaluations=np.arange(1, len(changed) + 1),
    )


def test_of_those_that_end_the_alarm_the_one_with_fewest_features_is_taken():
    some = tried([[1, 1, 0], [0, 0, 1], [1, 0, 0]], [True, True, False], [1.0, 2.0, 9.0])
    found = _best(some, np.array([0, 0, 0]), SHARES)
    assert found.changed.tolist() == [[False, False, True]]
    assert found.evaluations.tolist() == [6]


def test_of_as_many_features_those_of_the_largest_share_are_taken_row_by_row():
    some = tried([[1, 0, 0], [0, 0, 1]] * 2, [True] * 4, [2.0, 1.0, 2.0, 1.0])
    found = _best(some, np.array([0, 0, 1, 1]), SHARES)
    assert found.changed.tolist() == [[True, False, False], [False, False, True]]


def test_where_none_ends_the_alarm_the_lowest_score_is_taken():
    some = tried([[1, 0, 0], [1, 1, 1]], [False, False], [8.0, 7.0])
    assert _best(some, np.array([0, 0]), SHARES).scores.tolist() == [7.0]
