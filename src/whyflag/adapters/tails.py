"""ECOD and COPOD: how far out in its tails each value of a row lies."""

from __future__ import annotations

from typing import final

import numpy as np

from whyflag.arrays import Matrix, Vector
from whyflag.score import Score
from whyflag.score.additive import of_parts


@final
class TailProbability:
    """e(x) = Σ_i max of −log tail probabilities of x_i among the training rows and x itself.

    PyOD counts a row among the rows it comes with, so that its answer for a row depends on the
    others. This is its answer for the row alone: counts by bisection instead of a sort of all
    training rows, and the skewness by an update of its sums.

    Args:
        training: The training rows, (N, d).
        average: The least that counts is the mean of both tails (COPOD), not their maximum (ECOD).
    """

    def __init__(self, training: Matrix, *, average: bool) -> None:
        self._sorted = np.sort(training, axis=0)
        self._average = average
        self._mean = training.mean(axis=0)
        away = training - self._mean
        self._squares, self._cubes = (away**2).sum(axis=0), (away**3).sum(axis=0)

    def to_score(self) -> Score:
        """The score, with all that is known of it."""
        return Score(
            self,
            of_parts(self.parts),
            n_features=self._sorted.shape[1],
            name="a sum of tail probabilities",
        )

    def __call__(self, X: Matrix) -> Vector:
        return self.parts(X).sum(axis=1)

    def parts(self, X: Matrix) -> Matrix:
        """The part of each column: (n, d) -> (n, d)."""
        n = len(self._sorted) + 1
        left, right = np.empty_like(X), np.empty_like(X)
        for i, column in enumerate(self._sorted.T):
            left[:, i] = np.searchsorted(column, X[:, i], side="right") + 1
            right[:, i] = n - np.searchsorted(column, X[:, i], side="left")
        left, right = -np.log(left / n), -np.log(right / n)
        skew = self._skew(X)
        by_skew = np.where(skew <= 0, left, 0.0) + np.where(skew >= 0, right, 0.0)
        least = (left + right) / 2 if self._average else np.maximum(left, right)
        return np.maximum(by_skew, least)

    def _skew(self, X: Matrix) -> Matrix:
        """Sign of the skewness of each column of the training rows and the row: n x d."""
        n = len(self._sorted) + 1
        away = X - self._mean
        cubes = self._cubes + away**3 * (n - 1) * (n - 2) / n**2 - 3 * away * self._squares / n
        variance = (self._squares + away**2 * (n - 1) / n) / n
        mean = self._mean + away / n
        # Within rounding of a constant column there is no skewness.
        constant = variance <= (np.finfo(np.float64).eps * mean) ** 2
        return np.where(constant, 0.0, np.sign(cubes))
