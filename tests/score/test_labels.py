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


@pytest.mark.parametrize("labels", [(-1, 1), (0, 1), (False, True), (0.0, 1.0)])
def test_labels_are_refused(labels):
    low, high = labels

    def function(X):
        return np.where(X[:, 0] > 1, high, low)

    with pytest.raises(ValueError, match=rf"returns labels, only {low:g} and {high:g}\."):
        Explainer(function, NORMAL)


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
