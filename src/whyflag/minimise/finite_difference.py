"""A gradient for a score that has none to offer."""

from __future__ import annotations

from typing import final

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, Matrix, Vector
from whyflag.batches import batches
from whyflag.domain import Domain
from whyflag.score import Score

STEP = 1e-6  # of a column's scale: short, so as not to straddle the steps of a staircase
STEP_SINGLE = 1e-3  # for scores computed in single precision, whose rounding would drown that
STEP_WIDE = 1e-2  # beside the short one, to see whether the slope lasts
JUMP = 0.5  # of a row's largest slope: another step that finds another slope met a jump
SEEN = 1e-12  # of a value: a shorter step would drown in its rounding


@final
class FiniteDifference:
    """Central differences of any score; zero where the score is piecewise constant.

    Binary columns have no slope: a value between 0 and 1 would mean nothing to the score.
    """

    def __init__(self, score: Score, domain: Domain) -> None:
        self.score = score
        self._scale = domain.scale
        self._columns = np.flatnonzero(~(domain.binary | domain.fixed))
        self.n_calls = 1 + 2 * len(self._columns)  # of the score, for each gradient

    def value_and_grad(self, X: Matrix) -> tuple[Vector, Matrix]:
        """The score and its differences: (n, d) -> (n,), (n, d)."""
        value = self.score(X)
        with np.errstate(over="ignore"):
            single = value == value.astype(np.float32)  # n
        return value, self._gradient(X, np.where(single, STEP_SINGLE, STEP))

    def is_rough(self, X: Matrix) -> bool:
        """Whether the score jumps about near some of the rows, as neighbours and forests do.

        There a slope tells nothing of what a step brings: a step a little longer finds another.
        """
        if len(X) == 0 or len(self._columns) == 0:
            return False
        _, short = self.value_and_grad(X)
        wide = self._gradient(X, np.full(len(X), STEP_WIDE))
        short, wide = short * self._scale, wide * self._scale
        largest = np.maximum(np.abs(short), np.abs(wide)).max(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):  # where the score has no answer
            return bool((np.abs(wide - short) > JUMP * largest).any())

    def _gradient(self, X: Matrix, step: Vector) -> Matrix:
        """Differences over a step of each row, in scales: (n, d), (n,) -> (n, d)."""
        step = step[:, None] * self._scale[self._columns]  # n x k
        step = np.maximum(step, SEEN * np.abs(X[:, self._columns]))
        gradient = np.zeros_like(X)
        for rows in batches(len(X), 2 * len(self._columns) * X.shape[1]):
            gradient[rows, self._columns] = self._differences(X[rows], step[rows])
        return gradient

    def sloping(self, X: Matrix, free: BoolMatrix) -> tuple[BoolVector, BoolVector]:
        """Whether each row has a slope in any of its free columns, and in all: (n, d) -> (n,)."""
        _, gradient = self.value_and_grad(X)
        return (free & (gradient != 0)).any(axis=1), (~free | (gradient != 0)).all(axis=1)

    def _differences(self, X: Matrix, step: Matrix) -> Matrix:
        n, d = X.shape
        k = len(self._columns)
        if k == 0:
            return np.zeros((n, 0))
        points = np.broadcast_to(X[:, None, None, :], (n, 2, k, d)).copy()
        each = np.arange(k)
        points[:, 0, each, self._columns] += step
        points[:, 1, each, self._columns] -= step
        ahead, behind = np.moveaxis(self.score(points.reshape(-1, d)).reshape(n, 2, k), 1, 0)
        # Divide by the step that was made, which rounding may have changed.
        made = points[:, 0, each, self._columns] - points[:, 1, each, self._columns]  # n x k
        with np.errstate(invalid="ignore"):  # ∞ − ∞ where the score has no answer
            return np.asarray((ahead - behind) / made)
