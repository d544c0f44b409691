"""Functions that return labels are no scores."""

import numpy as np
import pytest
from pyod.models.knn import KNN
from sklearn.ensemble import IsolationForest

from whyflag import Explainer, as_score

NORMAL = np.random.default_rng(0).normal(size=(200, 2))


def test_texts_are_refused_with_what_a_score_must_be():
    with pytest.raises(TypeError, match=r"returns texts, such as .*'normal'.* high = anomalous"):
        Explainer(lambda X: np.where(X[:, 0] > 1, "odd", "normal"), NORMAL)


def test_labels_are_refused():
    with pytest.raises(ValueError, match=r"returns labels, only -1 and 1\."):
        Explainer(lambda X: np.where(X[:, 0] > 1, 1, -1), NORMAL)


def test_the_number_of_rules_that_a_row_breaks_is_a_score():
    explain = Explainer(lambda X: (X > 2).sum(axis=1), NORMAL)
    assert explain([[0.0, 5.0]]).top(1)["feature"].item() == "x1"


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("detector", [IsolationForest(random_state=0), KNN()])
def test_a_method_that_returns_labels_is_refused(detector, turned):
    detector.fit(NORMAL)
    with pytest.raises(ValueError, match=r"predict returns labels.*Pass the detector itself"):
        as_score(detector.predict, higher_is_anomalous=not turned)


def test_a_score_that_starts_with_zeros_and_ones_is_none_of_labels():
    score = as_score(lambda X: np.clip(np.floor(np.abs(X[:, 0])), 0, 3), n_features=2)
    assert score(NORMAL).max() > 1
    assert Explainer(score, NORMAL)(np.array([[9.0, 0.0]])).scores == [3.0]


def test_a_constant_is_none_of_labels():
    score = as_score(lambda X: np.zeros(len(X)), n_features=2)
    assert not score(NORMAL).any()
