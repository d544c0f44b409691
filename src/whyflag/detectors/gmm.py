"""The Gaussian mixture as an anomaly detector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from sklearn.mixture import GaussianMixture
from sklearn.utils.validation import check_is_fitted

from whyflag.arrays import Matrix
from whyflag.checks import check_number
from whyflag.detectors.base import Detector, standardisation
from whyflag.detectors.floor import variance_floor
from whyflag.detectors.selection import Candidate, choose
from whyflag.progress import steps
from whyflag.score import Score
from whyflag.score.mixture import MixtureEnergy


@final
class GMM(Detector):
    """Gaussian mixture; the anomaly score is its energy, −log density.

    The number of components is the one whose mixture gives held-out rows the highest likelihood
    (the paper's appendix, "Gaussian mixture models"). Columns are standardised inside, so that
    `reg_covar` means the same for every column; energies are those of the rows as they are.

    Args:
        n_components: Numbers of components to choose from, or one number.
        validation_fraction: Part of the rows that is held out for the choice, unless `fit` is
            given held-out rows. The chosen mixture is then fitted to all rows.
        reg_covar: Added to the variance of each standardised column; without it 1/d for d columns,
            at most 0.1 (`variance_floor`). Less sees tighter bonds between columns broken, but
            finds fewer culprits (docs/design/nearness.md).
        n_init: Starts of each fit; the best is kept.
        max_iter: Most iterations of each start.
        max_rows: Rows that a mixture is fitted to at the most; of more it is fitted to some, drawn
            at random. Location, spread and `offset_` are those of all.
        contamination: Part of the training rows that `predict` calls anomalous.
        random_state: Seed of the split and of the starts.

    Attributes:
        n_components_: The number that was chosen.
        reg_covar_: What was added to the variances.
        selection_: The numbers that were tried, and the mean energy of held-out rows with each.
        n_iter_: Iterations of the chosen fit.
        offset_: `score_samples` below this is anomalous.
    """

    def __init__(
        self,
        n_components: int | Sequence[int] = (2, 3, 4),
        *,
        validation_fraction: float = 0.2,
        reg_covar: float | None = None,
        n_init: int = 3,
        max_iter: int = 500,
        max_rows: int = 100_000,
        contamination: float = 0.01,
        random_state: int = 0,
    ) -> None:
        self.n_components = n_components
        self.validation_fraction = validation_fraction
        self.reg_covar = reg_covar
        self.n_init = n_init
        self.max_iter = max_iter
        self.max_rows = max_rows
        self.contamination = contamination
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, X_valid: Any = None) -> GMM:
        rows, seen, held = self._read(X, X_valid)
        numbers = self._numbers()
        floor = variance_floor(rows.shape[1])
        self.reg_covar_ = floor if self.reg_covar is None else self.reg_covar
        self.location_, self.spread_ = standardisation(rows)
        Z, Z_seen, Z_held = (
            (self._some(part) - self.location_) / self.spread_ for part in (rows, seen, held)
        )
        # More components than there are different rows cannot be fitted.
        different = _count_different(Z_seen, max(numbers))
        possible = [k for k in numbers if k <= different] or [1]
        candidates = [
            self._candidate(k, Z_seen, Z_held) for k in steps(possible, "GMM", "candidate")
        ]
        self.selection_ = choose("mean energy of held-out standardised rows", candidates)
        self.n_components_ = self.selection_.best.settings["n_components"]
        mixture = self._mixture(self.n_components_).fit(Z)
        self.weights_, self.means_ = mixture.weights_, mixture.means_
        self.covariances_ = mixture.covariances_
        self.n_iter_ = mixture.n_iter_
        self.offset_ = self._offset(self.energy().to_score(), rows)
        return self

    def to_score(self) -> Score:
        """The energy as a score, high = anomalous."""
        check_is_fitted(self)
        return self._named(self.energy().to_score(), self.offset_)

    def energy(self) -> MixtureEnergy:
        """The energy as a formula."""
        return MixtureEnergy(
            np.log(self.weights_), self.means_, self.covariances_, self.location_, self.spread_
        )

    def _some(self, rows: Matrix) -> Matrix:
        """As many of the rows as a mixture is fitted to."""
        if len(rows) <= self.max_rows:
            return rows
        order = np.random.default_rng(self.random_state).permutation(len(rows))
        return rows[np.sort(order[: self.max_rows])]

    def _candidate(self, k: int, seen: Matrix, held: Matrix) -> Candidate:
        settings = {"n_components": k}
        try:
            mixture = self._mixture(k).fit(seen)
        except ValueError as error:  # a covariance that collapsed
            return Candidate(settings, np.nan, f"failed: {error}")
        return Candidate(settings, -float(mixture.score(held)), f"{mixture.n_iter_} iterations")

    def _mixture(self, k: int) -> GaussianMixture:
        return GaussianMixture(
            k,
            reg_covar=self.reg_covar_,
            n_init=self.n_init,
            max_iter=self.max_iter,
            random_state=self.random_state,
        )

    def _check_settings(self) -> None:
        super()._check_settings()
        check_number("reg_covar", self.reg_covar, at_least=0, or_none=True)

    def _numbers(self) -> list[int]:
        numbers = np.atleast_1d(np.asarray(self.n_components))
        if numbers.size == 0 or numbers.dtype.kind not in "iu" or (numbers < 1).any():
            raise ValueError(
                f"`n_components` must be one or more positive numbers, got {self.n_components!r}."
            )
        return [int(k) for k in numbers]


def _count_different(rows: Matrix, most: int) -> int:
    """How many different rows there are, or `most` if there are more."""
    left, n = rows, 0
    while len(left) and n < most:
        left = left[(left != left[0]).any(axis=1)]
        n += 1
    return n
