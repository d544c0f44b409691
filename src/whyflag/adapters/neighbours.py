"""Neighbours: distances to them, and local outlier factors."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from sklearn.neighbors import LocalOutlierFactor

from whyflag.arrays import IntMatrix, Matrix, Vector
from whyflag.score import Distances, Score
from whyflag.score.distances import Judge, Neighbours, OutlierFactor

MOST_ROWS = 30_000  # beyond, the library finds neighbours sooner than loops over all rows do,
FEW_COLUMNS = 4000  # and in few columns, d, beyond 4000 · 2^(d/2), because its trees do


@final
@dataclass(frozen=True)
class MeanDistance(Judge):
    """The largest, mean or median distance to the k nearest rows."""

    of: Literal["largest", "mean", "median"]
    which_matters = False

    def __call__(self, distances: Matrix, which: IntMatrix) -> Vector:
        if self.of == "largest":
            return distances[:, -1].copy()
        middle = np.mean if self.of == "mean" else np.median
        return np.asarray(middle(distances, axis=1))


@final
class NeighbourScore:
    """A score by Euclidean distances to the k nearest rows that a detector has stored.

    Args:
        search: scikit-learn's search, fitted.
        k: How many neighbours count.
        judge: What becomes of the distances.
    """

    def __init__(self, search: Any, k: int, judge: Judge) -> None:
        self._neighbours = Neighbours(search._fit_X, k, judge, _Search(deepcopy(search), k))

    def to_score(self) -> Score:
        """The score, with what is known of it."""
        d = self._neighbours.rows.shape[1]
        return Score(self._neighbours, (Distances(self._neighbours, np.arange(d)),), n_features=d)


@final
@dataclass(frozen=True, eq=False)
class _Search:
    """The library's own search."""

    search: Any
    k: int

    def __post_init__(self) -> None:
        # Whoever asks has read the names of the columns.
        vars(self.search).pop("feature_names_in_", None)

    def __call__(self, X: Matrix) -> tuple[Matrix, IntMatrix]:
        distances, which = self.search.kneighbors(X, n_neighbors=self.k)
        return distances, which


def local_outlier_factor(detector: LocalOutlierFactor) -> NeighbourScore | None:
    """The score of scikit-learn's local outlier factor; None for distances of another kind."""
    if not detector.novelty or not _is_plain(detector):
        return None
    k = int(detector.n_neighbors_)
    judge = OutlierFactor(detector._distances_fit_X_[:, k - 1], detector._lrd)
    return NeighbourScore(detector, k, judge)


def nearest_distance(detector: Any) -> NeighbourScore | None:
    """The score of PyOD's KNN; None for distances of another kind."""
    if not _is_plain(detector.neigh_) or detector.method not in ("largest", "mean", "median"):
        return None
    return NeighbourScore(detector.neigh_, int(detector.n_neighbors), MeanDistance(detector.method))


def _is_plain(search: Any) -> bool:
    """Whether a search is by Euclidean distances among a moderate number of rows."""
    rows = search._fit_X
    return (
        search.effective_metric_ == "euclidean"
        and isinstance(rows, np.ndarray)
        and rows.dtype == np.float64
        and len(rows) <= min(MOST_ROWS, FEW_COLUMNS * 2 ** (rows.shape[1] / 2))
    )
