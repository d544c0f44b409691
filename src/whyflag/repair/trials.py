"""Scores of rows in which features have other values."""

from __future__ import annotations

from itertools import pairwise
from typing import final

import numpy as np

from whyflag.arrays import BoolMatrix, IntVector, Matrix, Tensor, Vector
from whyflag.batches import CALL, batch_size, batches
from whyflag.score import Score, evaluate


@final
class Trials:
    """Scores rows, many at a time, and counts for whom.

    Args:
        score: The anomaly score.
        membership: Which columns each feature has, (p, d).
        n: The number of rows that are repaired.
    """

    def __init__(self, score: Score, membership: BoolMatrix, n: int) -> None:
        self.membership = membership
        self.count: IntVector = np.zeros(n, dtype=np.int64)
        self._score = score

    def of(self, points: Matrix, owner: IntVector) -> Vector:
        """Scores of points (b, d), each tried for the row `owner`, (b,)."""
        np.add.at(self.count, owner, 1)
        if not len(points):
            return np.empty(0)
        return evaluate(self._score, points, chunk=batch_size(points.shape[1], CALL))

    def of_features(
        self, X: Matrix, owner: IntVector, features: IntVector, values: list[Tensor]
    ) -> list[Matrix]:
        """Scores with one feature changed: for each feature (n, c, s) -> (n, c)."""
        n, d = X.shape
        sizes = [each.shape[1] for each in values]
        ends = np.cumsum([0, *sizes])
        scores = np.empty((n, ends[-1]))
        for some in batches(n, int(ends[-1]) * d):
            points = np.repeat(X[some][:, None], ends[-1], axis=1)  # r x C x d
            for k, feature in enumerate(features):
                points[:, ends[k] : ends[k + 1], self.membership[feature]] = values[k][some]
            whose = np.repeat(owner[some], ends[-1])
            scores[some] = self.of(points.reshape(-1, d), whose).reshape(points.shape[:2])
        return [scores[:, begin:end] for begin, end in pairwise(ends)]
