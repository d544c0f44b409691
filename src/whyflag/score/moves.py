"""Scores of rows that differ from others in one column."""

from __future__ import annotations

import numpy as np

from whyflag.arrays import IntVector, Matrix, Vector
from whyflag.batches import batches
from whyflag.score.base import Score
from whyflag.score.distances import Distances


def score_moves(
    score: Score, X: Matrix, row: IntVector, column: IntVector, value: Vector
) -> Vector:
    """Scores of rows of X in which one column has another value: (b, d), (q,) … -> (q,).

    The moves are in the order of their rows, and of their columns: what the other columns add to
    distances is summed once for all of them.
    """
    distances = score.find(Distances)
    if distances is not None:
        known = distances.of_moves(X, row, column, value)
        if known is not None:
            return known
    scores = np.empty(len(row))
    for some in batches(len(row), X.shape[1]):
        points = X[row[some]]
        points[np.arange(len(points)), column[some]] = value[some]
        scores[some] = score(points)
    return scores
