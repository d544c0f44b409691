"""The Gaussian mixture as an anomaly detector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.mixture import GaussianMixture
from sklearn.utils.validation import check_is_fitted, validate_data

from whyflag.arrays import Matrix, Vector
from whyflag.score.mixture import MixtureEnergy


@final
class GMM(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """Gaussian mixture; the anomaly score is its energy, −log density.

    The number of components is the one whose mixture gives held-out rows the highest likelihood
    (the paper's appendix, "Gaussian mixture models"). Columns are standardised inside, so that
    `reg_covar` means the same for every column; energies are those of the rows as they are.

    Args:
        n_components: Numbers of components to choose from, or one number.
        validation_fraction: Part of the rows that is held out for the choice, unless `fit` is
            given held-out rows. The chosen mixture is then fitted to all rows.
        reg_covar: Added to the variance of each standardised column.
        n_init: Starts of each fit; the best is kept.
        max_iter: Most iterations of each start.
        contamination: Part of the training rows that `predict` calls anomalous.
        seed: Seed of the split and of the starts.

    Attributes:
        n_components_: The number that was chosen.
        validation_scores_: Mean log-likelihood of the held-out rows by number of components.
        n_iter_: Iterations of the chosen fit.
        offset_: `score_samples` below this is anomalous.
    """

    def __init__(
        self,
        n_components: int | Sequence[int] = (2, 3, 4),
        *,
        validation_fraction: float = 0.2,
        reg_covar: float = 1e-6,
        n_init: int = 3,
        max_iter: int = 500,
        contamination: float = 0.01,
        seed: int = 0,
    ) -> None:
        self.n_components = n_components
        self.validation_fraction = validation_fraction
        self.reg_covar = reg_covar
        self.n_init = n_init
        self.max_iter = max_iter
        self.contamination = contamination
        self.seed = seed

    def fit(self, X: Any, y: Any = None, *, X_valid: Any = None) -> GMM:
        """Fit to normal rows, (n, d).

        Args:
            X: Normal rows.
            y: Ignored.
            X_valid: Held-out normal rows for the choice of the number of components. Without
                them, a part of `X` is held out.
        """
        rows: Matrix = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        self._check_settings()
        location = rows.mean(axis=0)
        spread = rows.std(axis=0)
        spread = np.where(spread > 1e-12 * np.abs(rows).max(axis=0), spread, 1.0)
        Z = (rows - location) / spread
        if X_valid is None:
            order = np.random.default_rng(self.seed).permutation(len(Z))
            n_held = max(1, round(self.validation_fraction * len(Z)))
            held, seen = Z[order[:n_held]], Z[order[n_held:]]
        else:
            held = validate_data(self, X_valid, dtype=np.float64, reset=False)
            held, seen = (held - location) / spread, Z

        numbers = np.atleast_1d(np.asarray(self.n_components)).tolist()
        # More components than rows cannot be fitted.
        candidates = [k for k in numbers if k <= len(seen)] or [1]
        self.validation_scores_ = {}
        if len(candidates) > 1:
            for k in candidates:
                self.validation_scores_[k] = float(self._fit_mixture(seen, k).score(held))
        best = max(self.validation_scores_, key=self.validation_scores_.__getitem__, default=None)
        self.n_components_ = candidates[0] if best is None else best
        mixture = self._fit_mixture(Z, self.n_components_)
        self.weights_, self.means_, self.covariances_ = (
            mixture.weights_,
            mixture.means_,
            mixture.covariances_,
        )
        self.location_, self.spread_ = location, spread
        self.n_iter_ = mixture.n_iter_
        self.offset_ = 0.0
        self.offset_ = float(np.percentile(self.score_samples(X), 100 * self.contamination))
        return self

    def to_score(self) -> MixtureEnergy:
        """The energy as a score, high = anomalous."""
        check_is_fitted(self)
        return MixtureEnergy(
            np.log(self.weights_),
            self.means_,
            self.covariances_,
            self.location_,
            self.spread_,
            threshold=-self.offset_,
        )

    def score_samples(self, X: Any) -> Vector:
        """Log-density of rows, high = normal, as everywhere in scikit-learn."""
        check_is_fitted(self)
        rows: Matrix = validate_data(self, X, dtype=np.float64, reset=False)
        return -self.to_score()(rows)

    def decision_function(self, X: Any) -> Vector:
        """`score_samples` above the threshold: negative = anomalous."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """1 for normal rows, −1 for anomalous ones."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def _fit_mixture(self, Z: Matrix, k: int) -> GaussianMixture:
        mixture = GaussianMixture(
            k,
            reg_covar=self.reg_covar,
            n_init=self.n_init,
            max_iter=self.max_iter,
            random_state=self.seed,
        )
        return mixture.fit(Z)

    def _check_settings(self) -> None:
        numbers = np.atleast_1d(np.asarray(self.n_components))
        if numbers.size == 0 or numbers.dtype.kind not in "iu" or (numbers < 1).any():
            raise ValueError(
                f"`n_components` must be one or more positive numbers, got {self.n_components!r}."
            )
        if not 0 < self.validation_fraction < 1:
            raise ValueError(
                f"`validation_fraction` must be between 0 and 1, got {self.validation_fraction}."
            )
        if not 0 < self.contamination <= 0.5:
            raise ValueError(
                f"`contamination` must be above 0 and at most 0.5, got {self.contamination}."
            )
