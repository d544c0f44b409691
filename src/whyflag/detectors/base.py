"""What the detectors have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from whyflag.arrays import BoolVector, Matrix, Vector
from whyflag.checks import check_number, check_whole
from whyflag.detectors.selection import Selection
from whyflag.score import Score


class Detector(OutlierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A scikit-learn estimator with an anomaly score.

    Every detector has the settings `contamination` (part of the training rows that `predict` calls
    anomalous) and `random_state`; one that is chosen among candidates has `validation_fraction` too
    (part of the rows that is held out, unless `fit` is given held-out rows).

    Attributes:
        selection_: The candidates and their held-out losses, if there are candidates.
        offset_: `score_samples` below this is anomalous.
    """

    validation_fraction: float
    contamination: float
    random_state: int
    selection_: Selection
    offset_: float

    @abstractmethod
    def fit(self, X: Any, y: Any = None, *, X_valid: Any = None) -> Detector:
        """Fit to normal rows, (n, d).

        Args:
            X: Normal rows.
            y: Ignored.
            X_valid: Held-out normal rows for the choice among candidates. Without them, a part of
                `X` is held out.
        """

    @abstractmethod
    def to_score(self) -> Score:
        """The anomaly score, high = anomalous."""

    def score_samples(self, X: Any) -> Vector:
        """The score of rows turned to high = normal, as everywhere in scikit-learn."""
        check_is_fitted(self)
        rows: Matrix = validate_data(self, X, dtype=np.float64, reset=False)
        return -self.to_score()(rows)

    def decision_function(self, X: Any) -> Vector:
        """`score_samples` above the threshold: negative = anomalous."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """1 for normal rows, −1 for anomalous ones."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def settled(self) -> Detector:
        """One that is not fitted, and has only the candidate to choose that this one chose."""
        same: Detector = clone(self)
        # An entry for each column is nothing that was chosen: other rows may have other columns.
        chosen = {name: getattr(self, f"{name}_", None) for name in self.get_params()}
        return same.set_params(**{name: each for name, each in chosen.items() if np.isscalar(each)})

    def save(self, folder: str | Path) -> None:
        """Write the fitted detector to a folder: arrays and JSON, no code."""
        from whyflag.detectors.files import save

        save(self, folder)

    def _read(self, X: Any, X_valid: Any) -> tuple[Matrix, Matrix, Matrix]:
        """All training rows, those of them that candidates are fitted to, and held-out rows."""
        self._check_settings()
        rows: Matrix = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        if X_valid is not None:
            held: Matrix = validate_data(self, X_valid, dtype=np.float64, reset=False)
            return rows, rows, held
        order = np.random.default_rng(self.random_state).permutation(len(rows))
        n_held = max(1, round(self.validation_fraction * len(rows)))
        return rows, rows[order[n_held:]], rows[order[:n_held]]

    def _check_settings(self) -> None:
        """Refuse settings that make no sense; when fitted, as scikit-learn wants it."""
        settings = vars(self)
        if "validation_fraction" in settings:
            check_number("validation_fraction", self.validation_fraction, above=0, at_most=0.9)
        check_number("contamination", self.contamination, above=0, at_most=0.5)
        check_whole("random_state", self.random_state, at_least=0, at_most=2**32 - 1)
        for name in ("n_init", "max_iter", "max_rows", "batch_size", "max_updates", "patience"):
            if name in settings:
                check_whole(name, settings[name], at_least=1)
        if "learning_rate" in settings:
            check_number("learning_rate", settings["learning_rate"], above=0)

    def _offset(self, score: Score, rows: Matrix) -> float:
        return float(np.percentile(-score(rows), 100 * self.contamination))

    def _named(self, score: Score, offset: float | None) -> Score:
        """The score with the names and the alarm that go with it."""
        names = getattr(self, "feature_names_in_", None)
        return replace(
            score,
            n_features=self.n_features_in_,
            feature_names=None if names is None else tuple(str(name) for name in names),
            threshold=None if offset is None else -offset,
            name=type(self).__name__,
        )


def standardisation(rows: Matrix, leave: BoolVector | None = None) -> tuple[Vector, Vector]:
    """Mean and deviation of each column: 0 and 1 for those to leave, deviation 1 for constant."""
    location, spread = rows.mean(axis=0), rows.std(axis=0)
    # A deviation within rounding of the column's magnitude is noise of the summation.
    spread = np.where(spread > 1e-12 * np.abs(rows).max(axis=0), spread, 1.0)
    if leave is None:
        return location, spread
    return np.where(leave, 0.0, location), np.where(leave, 1.0, spread)
