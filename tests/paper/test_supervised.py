import numpy as np
import pytest
from imblearn.over_sampling import SMOTE
from sklearn.svm import SVC

from whyflag_paper.datasets import Split
from whyflag_paper.supervised import Classifier, clear_culprits


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(120, 4))
    anomalous = rng.normal(size=(15, 4))
    anomalous[:, 2] += 6
    return normal, anomalous


def test_the_decision_value_is_scikit_learns(rows):
    normal, anomalous = rows
    X, y = SMOTE(random_state=0).fit_resample(
        np.vstack(rows), np.repeat([0, 1], [len(normal), len(anomalous)])
    )
    expected = SVC().fit(X, y).decision_function(anomalous)
    classifier = Classifier.fit(normal, anomalous, seed=0)
    assert classifier.decision(anomalous) == pytest.approx(expected, rel=1e-9)


def test_the_probability_rises_with_the_decision_value(rows):
    classifier = Classifier.fit(*rows, seed=0)
    assert classifier(rows[1]).min() > 0.5 > classifier(rows[0]).max()
    order = np.argsort(classifier.decision(np.vstack(rows)))
    assert (np.diff(classifier(np.vstack(rows))[order]) >= 0).all()


def test_the_feature_that_tells_the_classes_apart_is_the_culprit(rows):
    normal, anomalous = rows
    split = Split(normal[:80], normal[80:100], normal[100:], anomalous)
    clear, culprits = clear_culprits(split, seed=0, most=15)
    assert len(clear) > 10
    assert set(culprits) == {2}


def test_rows_without_a_clear_culprit_are_left_out():
    rng = np.random.default_rng(1)
    normal, anomalous = rng.normal(size=(120, 2)), rng.normal(size=(15, 2)) + 5
    split = Split(normal[:80], normal[80:100], normal[100:], anomalous)
    clear, _ = clear_culprits(split, seed=0, most=15)
    assert len(clear) < 5


def test_no_more_rows_are_looked_at_than_asked_for(rows):
    normal, anomalous = rows
    split = Split(normal[:80], normal[80:100], normal[100:], anomalous)
    clear, culprits = clear_culprits(split, seed=0, most=6)
    assert len(clear) == len(culprits) <= 6
    assert set(clear) <= set(range(15))
