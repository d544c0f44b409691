"""Scores of rows in which features have other values."""

from __future__ import annotations

from typing import final

import numpy as np

from whyflag.arrays import BoolMatrix, IntVector, Matrix, Tensor, Vector
from whyflag.batches import CALL, batch_size
from whyflag.repair.standing import Standing
from whyflag.score import Score, evaluate


@final
class Trials:
    """Scores rows, many at a time, and counts for whom.

    Args:
        score: The anomaly score.
        membership: Which columns each feature has, (p, d).
        n: The number of rows that are repaired.
        standing: What asks the detector of them, if it takes cells of them as they came.
    """

    def __init__(
        self, score: Score, membership: BoolMatrix, n: int, standing: Standing | None = None
    ) -> None:
        self.membership, self._standing = membership, standing
        self.count: IntVector = np.zeros(n, dtype=np.int64)
        self._score = score

    def of(self, points: Matrix, owner: IntVector) -> Vector:
        """Scores of points (b, d), each tried for the row `owner`, (b,)."""
        np.add.at(self.count, owner, 1)
        if not len(points):
            return np.empty(0)
        if self._standing is not None and self._standing.is_asked:
            return self._standing(points, owner)
        return evaluate(self._score, points, chunk=batch_size(points.shape[1], CALL))

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
            points[:, self.membership[feature]] = offered.reshape(len(points), offered.shape[2])
            tried.append(points)
            owners.append(np.repeat(owner[which], offered.shape[1]))
        scores = self.of(np.vstack(tried), np.concatenate(owners))
        parts = np.split(scores, np.cumsum([len(points) for points in tried])[:-1])
        return [
            part.reshape(offered.shape[:2]) for part, offered in zip(parts, values, strict=True)
        ]
