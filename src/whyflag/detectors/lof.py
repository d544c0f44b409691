"""The local outlier factor, kept as arrays."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.utils.validation import check_is_fitted, validate_data

from whyflag.arrays import IntMatrix, Matrix, Vector
from whyflag.checks import check_whole
from whyflag.detectors.base import Detector, standardisation
from whyflag.score import Distances, Map, Score
from whyflag.score.distances import Neighbours, OutlierFactor
from whyflag.score.map import Function


@final
class LOF(Detector):
    """Local outlier factor: how much denser rows are around the nearest ones than here.

    Columns are standardised inside, so that distances count all alike.

    Args:
        n_neighbors: Nearest rows that are asked.
        max_rows: Rows that are kept at the most; of more, some that are drawn at random.
        contamination: Part of the training rows that `predict` calls anomalous.
        random_state: Seed of the draw.

    Attributes:
        offset_: `score_samples` below this is anomalous.
    """

    def __init__(
        self,
        n_neighbors: int = 20,
        *,
        max_rows: int = 10_000,
        contamination: float = 0.01,
        random_state: int = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.max_rows = max_rows
        self.contamination = contamination
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, X_valid: Any = None) -> LOF:
        self._check_settings()
        rows: Matrix = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        self.location_, self.spread_ = standardisation(rows)
        order = np.random.default_rng(self.random_state).permutation(len(rows))
        kept = np.sort(order[: self.max_rows])
        self.rows_ = (rows[kept] - self.location_) / self.spread_
        self.k_ = min(self.n_neighbors, len(kept) - 1)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Duplicate values")  # said below in our words
            found = LocalOutlierFactor(self.k_).fit(self.rows_)
        self.reach_ = found._distances_fit_X_[:, self.k_ - 1].copy()
        if not self.reach_.all():
            warnings.warn(
                f"Some rows come more than {self.k_} times (`n_neighbors`): to a local outlier "
                "factor they are infinitely dense, and rows beside them have scores of 1e9.",
                stacklevel=2,
            )
        self.density_ = found._lrd.copy()
        self.offset_ = self._offset(self._factor(), rows)
        return self

    def to_score(self) -> Score:
        """The factor, high = anomalous."""
        check_is_fitted(self)
        return self._named(self._factor(), self.offset_)

    def _factor(self) -> Score:
        d = self.rows_.shape[1]
        search = _Search(NearestNeighbors(n_neighbors=self.k_).fit(self.rows_))
        judge = OutlierFactor(self.reach_, self.density_)
        near = Neighbours(self.rows_, self.k_, judge, search)
        score = Score(near, (Distances(near, np.arange(d)),), n_features=d)
        return score.after(_Standardised(self.location_, self.spread_))

    def _check_settings(self) -> None:
        super()._check_settings()
        check_whole("n_neighbors", self.n_neighbors, at_least=1)
        check_whole("max_rows", self.max_rows, at_least=2)


@final
@dataclass(frozen=True, eq=False)
class _Search:
    """Distances to the nearest of the kept rows, and which they are."""

    search: NearestNeighbors

    def __call__(self, X: Matrix) -> tuple[Matrix, IntMatrix]:
        distances, which = self.search.kneighbors(X)
        return distances, which


@final
class _Standardised(Map):
    """z = (x − location) / spread."""

    smooth = True

    def __init__(self, location: Vector, spread: Vector) -> None:
        self.n_features = len(location)
        self.sources = np.arange(len(location))
        self.jacobian = self._slopes = 1 / spread
        self._location, self._spread = location, spread

    def __call__(self, X: Matrix) -> Matrix:
        return (X - self._location) / self._spread

    def derive(self, X: Matrix) -> tuple[Matrix, Function]:
        return self(X), lambda gradient: gradient * self._slopes

    def scales(self, scale: Vector) -> Vector:
        return scale * self._slopes
