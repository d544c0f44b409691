import numpy as np
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from whyflag import as_score
from whyflag.score import Gradient

X = np.random.default_rng(0).normal(size=(20, 3))


def squares(X):
    return (X**2).sum(axis=1)


def test_a_function_becomes_a_score():
    np.testing.assert_array_equal(as_score(squares)(X), squares(X))


def test_a_gradient_makes_it_differentiable():
    score = as_score(squares, gradient=lambda X: 2 * X)
    assert score.find(Gradient) is not None
    value, gradient = score.value_and_grad(X)
    np.testing.assert_array_equal(value, squares(X))
    np.testing.assert_array_equal(gradient, 2 * X)


def test_a_score_stays_what_it_is():
    score = as_score(squares, n_features=3)
    assert as_score(score) is score
    assert as_score(score, n_features=3) is score


@pytest.mark.parametrize("detector", [3, "GMM", IsolationForest])
def test_what_cannot_score_is_refused_with_a_way_out(detector):
    with pytest.raises(TypeError, match=r"function from rows.*as_score\(detector.score_samples"):
        as_score(detector)


def test_a_function_of_the_other_direction_is_turned():
    score = as_score(
        lambda X: -squares(X),
        gradient=lambda X: -2 * X,
        higher_is_anomalous=False,
        threshold=-9.0,
    )
    np.testing.assert_array_equal(score(X), squares(X))
    np.testing.assert_array_equal(score.value_and_grad(X)[1], 2 * X)
    assert score.threshold == 9.0
    plain = as_score(lambda X: -squares(X), higher_is_anomalous=False)
    np.testing.assert_array_equal(plain(X), squares(X))
    assert plain.threshold is None


def test_a_threshold_of_ones_own_replaces_the_detectors():
    score = as_score(squares, threshold=1.0)
    assert as_score(score, threshold=2.0).threshold == 2.0
    assert score.threshold == 1.0


def test_the_direction_of_a_detector_is_known():
    forest = IsolationForest(n_estimators=5, random_state=0).fit(X)
    with pytest.raises(TypeError, match="`higher_is_anomalous` goes with a plain function"):
        as_score(forest, higher_is_anomalous=False)


@pytest.mark.parametrize(
    ("detector", "names"),
    [
        (IsolationForest(n_estimators=5), ("score_samples", "decision_function")),
        (make_pipeline(StandardScaler(), IsolationForest(n_estimators=5)), ("score_samples",)),
        (KernelDensity(), ("score_samples",)),
    ],
)
def test_a_method_that_is_high_for_normal_rows_is_refused_unless_it_is_said(detector, names):
    detector.fit(X)
    for name in names:
        method = getattr(detector, name)
        with pytest.raises(ValueError, match=rf"{name} is high for normal rows.*as_score\("):
            as_score(method)
        np.testing.assert_array_equal(as_score(method, higher_is_anomalous=False)(X), -method(X))


def test_a_method_of_a_classifier_may_be_a_score():
    classifier = LogisticRegression().fit(X, X[:, 0] > 0)
    decide = classifier.decision_function
    np.testing.assert_array_equal(as_score(decide)(X), decide(X))


def test_a_gradient_for_a_score_is_refused():
    with pytest.raises(TypeError, match="goes with a plain function"):
        as_score(as_score(squares), gradient=lambda X: X)


def test_a_score_of_other_rows_is_refused():
    with pytest.raises(ValueError, match="rows of 3 features, got n_features=4"):
        as_score(as_score(squares, n_features=3), n_features=4)
