import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor

from whyflag import Ensemble, Explainer, calibrate
from whyflag.detectors import GMM
from whyflag.held_out import MOST, Part, folds_of, held_out_scores

ROWS = np.random.default_rng(0).normal(size=(300, 3))


@pytest.mark.parametrize(("n", "folds"), [(12, 10), (999, 10), (1000, 5), (4999, 5)])
def test_each_row_is_held_out_once_where_they_are_few(n, folds):
    made = folds_of(n, 0)
    assert len(made) == folds
    assert sorted(np.concatenate([held for _, held in made]).tolist()) == list(range(n))
    assert all(not set(seen) & set(held) and len(seen) + len(held) == n for seen, held in made)


@pytest.mark.parametrize(("n", "held_out"), [(5000, 1000), (100_000, MOST)])
def test_of_many_rows_one_part_is_held_out(n, held_out):
    ((seen, held),) = folds_of(n, 0)
    assert (len(held), len(seen)) == (held_out, n - held_out)
    assert not set(seen) & set(held)


class Mean:
    """A detector whose scores are known: the distance from the mean of its rows, times 10."""

    def get_params(self, deep=True):
        return {}

    def fit(self, X, y=None):
        self.mean_ = np.asarray(X).mean()
        return self

    def to_score(self):
        from whyflag.score import Score

        return Score(lambda X: 10 * np.abs(X[:, 0] - self.mean_), n_features=1)


def test_rows_are_scored_by_copies_that_have_not_seen_them():
    X = np.r_[np.zeros(99), 100.0][:, None]
    detector = Mean().fit(X)
    folds = folds_of(100, 0)
    scores = held_out_scores(detector, [Part(X[seen], X[seen], X[held]) for seen, held in folds])
    positions = np.concatenate([held for _, held in folds])
    # The copy that has not seen the odd row is fitted to zeros, and all its scores are 0: it is
    # moved by what the detector says of these, 10, and not scaled.
    assert scores[positions == 99].item() == pytest.approx(1000 + 10)
    assert detector.mean_ == 1.0


class Memory(Mean):
    """A detector that knows its rows by heart: 100 for any other, and next to nothing for them."""

    def fit(self, X, y=None):
        self.known_ = {*np.asarray(X)[:, 0]}
        self.unit_ = 0.001 if len(self.known_) == 100 else 1.0
        return self

    def to_score(self):
        from whyflag.score import Score

        def function(X):
            return np.array([x * self.unit_ if x in self.known_ else 100 + x for x in X[:, 0]])

        return Score(function, n_features=1)


def test_the_spread_of_rows_that_were_fitted_to_does_not_scale_others():
    X = np.random.default_rng(0).normal(size=(100, 1))
    # Rows that the copies do not know have 98 to 102: beyond all that they know, which is within 3.
    assert np.all(calibrate(Memory().fit(X), X, 0.05).scores > 94)


def test_calibration_does_not_change_the_detector_and_follows_from_the_seed():
    detector = GMM().fit(ROWS)
    before = detector.to_score()(ROWS)
    one, other, third = (calibrate(detector, ROWS, seed=seed) for seed in (0, 0, 1))
    assert one.scores.tolist() == other.scores.tolist() != third.scores.tolist()
    assert detector.to_score()(ROWS).tolist() == before.tolist()


@pytest.mark.parametrize(
    "detector",
    [
        GMM(),
        IsolationForest(n_estimators=20, random_state=0),
        LocalOutlierFactor(n_neighbors=10, novelty=True),
    ],
    ids=lambda each: type(each).__name__,
)
def test_the_alarm_is_true_of_rows_that_were_not_seen(detector):
    rng = np.random.default_rng(3)
    X, new = rng.normal(size=(200, 6)), rng.normal(size=(20_000, 6))
    normal = calibrate(detector.fit(X), X, 0.05)
    raised = (Explainer(detector, X).score(new) > normal.threshold).sum()
    # The part above the m-th of n is distributed as Beta(n + 1 − m, m): here m is 190.
    low, high = stats.betabinom.interval(0.998, 20_000, 11, 190)
    assert low <= raised <= high


def test_given_rows_take_the_place_of_copies():
    detector = GMM().fit(ROWS)
    other = np.random.default_rng(5).normal(size=(400, 3))
    normal = calibrate(lambda X: detector.to_score()(X), ROWS, 0.02, held_out=other)
    assert normal.n == 400
    assert normal.threshold == np.sort(detector.to_score()(other))[392]  # ⌈0.98 · 401⌉ = 393
    with pytest.raises(TypeError, match="`held_out`"):
        calibrate(lambda X: X[:, 0], ROWS)


@pytest.mark.parametrize(
    ("X", "rate", "said"),
    [
        (ROWS[:1], 0.01, "`X` must have at least two rows"),
        (ROWS[:0], 0.01, "`X` must have at least one row"),
        (ROWS[:, :2], 0.01, r"`X` must have shape \(n, 3\), got \(300, 2\)"),
        (np.nan, 0.01, r"`X` must have shape \(n, d\)"),
        (ROWS, 0.6, "`rate` must be a finite number, above 0 and at most 0.5, got 0.6"),
    ],
)
def test_what_can_not_be_calibrated_is_refused_before_a_copy_is_fitted(X, rate, said, monkeypatch):
    detector = GMM().fit(ROWS)
    monkeypatch.setattr("whyflag.held_out.held_out_scores", None)
    with pytest.raises(ValueError, match=said):
        calibrate(detector, X, rate)


def test_frames_are_taken_by_their_columns():
    frame = pd.DataFrame(ROWS, columns=["a", "b", "c"])
    normal = calibrate(GMM().fit(frame), frame)
    assert normal.scores == pytest.approx(calibrate(GMM().fit(ROWS), ROWS).scores)


def test_an_attribution_has_a_severity_where_the_alarm_is_calibrated():
    detector = GMM().fit(ROWS)
    normal = calibrate(detector, ROWS)
    explain = Explainer(detector, ROWS, threshold=normal)
    said = explain([[0.0, 9.0, 0.0], [0.0, 0.1, 0.0]])
    assert said.threshold == normal.threshold
    assert said.severity.tolist() == normal.severity(said.scores).tolist()
    assert said.severity[0] == 100 > said.severity[1]
    assert said[1].severity.tolist() == said.severity[1:].tolist()
    both = Ensemble.of(detector, ROWS, threshold=normal)([[0.0, 9.0, 0.0]])
    assert both.severity.tolist() == [100]
    with pytest.raises(ValueError, match="threshold=calibrate"):
        _ = Explainer(detector, ROWS)([[0.0, 9.0, 0.0]]).severity
