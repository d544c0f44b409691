"""Scores of rows in which features have other values."""

from __future__ import annotations

from typing import final

import numpy as np

from whyflag.arrays import IntVector, Matrix, Tensor, Vector
from whyflag.batches import CALL, batch_size
from whyflag.repair.known import Known
from whyflag.repair.standing import Standing
from whyflag.score import evaluate


@final
class Trials:
    """Scores rows, many at a time, and counts for whom.

    Args:
        known: The anomaly score, and which columns each feature has.
        n: The number of rows that are repaired.
        standing: What asks the detector of them, if it takes cells of them as they came.
    """

    def __init__(self, known: Known, n: int, standing: Standing | None = None) -> None:
        self.count: IntVector = np.zeros(n, dtype=np.int64)
        self._known, self._standing = known, standing

    def of(self, points: Matrix, owner: IntVector) -> Vector:
        """Scores of points (b, d), each tried for the row `owner`, (b,)."""
        np.add.at(self.count, owner, 1)
        if not len(points):
            return np.empty(0)
        if self._standing is not None and self._standing.is_asked:
            return self._standing(points, owner)
        return evaluate(self._known.score, points, chunk=batch_size(points.shape[1], CALL))

    def of_features(
        self,
        X: Matrix,
        owner: IntVector,
        features: IntVector,
        whose: list[IntVector],
        values: list[Tensor],
    ) -> list[Matrix]:
        """Scores of some rows of X with one feature changed: of each (r, c, s) -> (r, c)."""
        if not len(features):
            return []
        tried, owners = [], []
        for feature, which, offered in zip(features, whose, values, strict=True):
            points = np.repeat(X[which], offered.shape[1], axis=0)  # rc x d
            points[:, self._known.domain.membership[feature]] = offered.reshape(
                len(points), offered.shape[2]
            )
            tried.append(points)
            owners.append(np.repeat(owner[which], offered.shape[1]))
        scores = self.of(np.vstack(tried), np.concatenate(owners))
        parts = np.split(scores, np.cumsum([len(points) for points in tried])[:-1])
        return [
            part.reshape(offered.shape[:2]) for part, offered in zip(parts, values, strict=True)
        ]
