import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.mixture import GaussianMixture
from sklearn.utils.estimator_checks import parametrize_with_checks

from whyflag import as_score
from whyflag.detectors import GMM


@parametrize_with_checks([GMM()])
def test_it_is_a_scikit_learn_estimator(estimator, check):
    check(estimator)


def three_clusters(n, seed):
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])
    return centres[rng.integers(3, size=n)] + rng.normal(size=(n, 2))


def test_the_number_of_components_is_the_one_that_held_out_rows_prefer():
    detector = GMM((1, 2, 3)).fit(three_clusters(600, 0))
    assert detector.n_components_ == 3
    losses = [candidate.held_out_loss for candidate in detector.selection_.candidates]
    assert losses[0] > losses[1] > losses[2]
    assert detector.selection_.best.settings == {"n_components": 3}


def test_a_number_of_components_that_collapses_does_not_end_the_search():
    rows = np.repeat([[0.0, 0.0], [1.0, 1.0], [2.0, 0.5]], 20, axis=0)
    detector = GMM((1, 3), reg_covar=0.0).fit(rows)
    assert detector.n_components_ == 1
    assert detector.selection_.candidates[1].outcome.startswith("failed: ")


def test_the_paper_s_numbers_of_components_are_the_default():
    candidates = GMM().fit(three_clusters(200, 0)).selection_.candidates
    assert [candidate.settings["n_components"] for candidate in candidates] == [2, 3, 4]


def test_given_held_out_rows_decide():
    detector = GMM().fit(three_clusters(600, 0), X_valid=three_clusters(200, 1))
    expected = {
        k: GaussianMixture(k, n_init=3, random_state=0).fit(three_clusters(600, 0))
        for k in (2, 3, 4)
    }
    held_out = {k: mixture.score(three_clusters(200, 1)) for k, mixture in expected.items()}
    assert detector.n_components_ == max(held_out, key=held_out.get)


def test_scores_equal_scikit_learns_whatever_the_units():
    X = three_clusters(300, 0)
    units = np.array([1e-5, 1e4])
    detector = GMM(3, reg_covar=0.0).fit(X * units)
    theirs = GaussianMixture(3, reg_covar=0.0, n_init=3, random_state=0)
    theirs.fit((X - X.mean(axis=0)) / X.std(axis=0))
    expected = theirs.score_samples((X - X.mean(axis=0)) / X.std(axis=0))
    np.testing.assert_allclose(
        detector.score_samples(X * units), expected - np.log(units * X.std(axis=0)).sum()
    )
    np.testing.assert_allclose(as_score(detector)(X * units), -detector.score_samples(X * units))


def test_predict_flags_the_share_that_was_asked_for():
    X = three_clusters(1000, 0)
    assert (GMM(contamination=0.05).fit(X).predict(X) == -1).mean() == pytest.approx(0.05)
    assert GMM().fit(X).predict([[50.0, 50.0]]) == [-1]


def test_same_seed_same_bits():
    X = three_clusters(200, 0)
    one, other = GMM(random_state=1).fit(X), GMM(random_state=1).fit(X)
    np.testing.assert_array_equal(one.score_samples(X), other.score_samples(X))


def test_a_constant_column_is_no_obstacle():
    X = np.column_stack([three_clusters(200, 0), np.full(200, 0.1)])
    assert np.isfinite(GMM().fit(X).score_samples(X)).all()


def test_a_frames_names_are_kept():
    frame = pd.DataFrame(three_clusters(100, 0), columns=["a", "b"])
    assert GMM().fit(frame).feature_names_in_.tolist() == ["a", "b"]


def test_an_unfitted_detector_cannot_be_explained():
    with pytest.raises(NotFittedError):
        as_score(GMM())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 0}, "n_components.*positive"),
        ({"n_components": ()}, "n_components.*positive"),
        ({"validation_fraction": 1.0}, "validation_fraction.*at most 0.9"),
        ({"contamination": 0.9}, "contamination.*at most 0.5"),
        ({"random_state": 2**32}, "random_state.*at most 4294967295, got 4294967296"),
        ({"reg_covar": -0.1}, "`reg_covar` must be a finite number, at least 0, .*got -0.1"),
        (
            {"reg_covar": np.inf},
            "`reg_covar` must be a finite number, at least 0, .*got inf",
        ),
        (
            {"reg_covar": np.nan},
            "`reg_covar` must be a finite number, at least 0, .*got nan",
        ),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        GMM(**settings).fit(three_clusters(50, 0))


def test_of_very_many_rows_some_are_fitted_to():
    rows = np.random.default_rng(0).normal(size=(3000, 3)) * [1, 10, 100]
    some = GMM(2, max_rows=500).fit(rows)
    whole = GMM(2).fit(rows)
    assert some.spread_.tolist() == whole.spread_.tolist()
    assert some.means_.tolist() != whole.means_.tolist()
    assert some.to_score()(rows) == pytest.approx(whole.to_score()(rows), abs=1.5)
    assert (some.to_score()(rows) > -some.offset_).mean() == pytest.approx(0.01)


def test_rows_that_are_few_but_for_repetitions_have_as_few_components():
    rows = np.repeat(np.random.default_rng(0).normal(size=(3, 2)), 40, axis=0)
    assert GMM().fit(rows).n_components_ <= 3  # and no warning, which would be an error here
