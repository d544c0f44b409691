"""A gradient for a score that has none to offer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix, Tensor, Vector
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

    Binary columns have no slope: a value between 0 and 1 would mean nothing to the score. Nor have
    columns that can hold one value only, beside which the score may know no value. A call
    of a score may take a second whatever its size, so a gradient is one call, where it is known
    whether the score is computed in single precision.

    Args:
        score: The score.
        domain: The scales, and the columns that have slopes.
        single: Whether the score is computed in single precision; None: its values tell.
    """

    def __init__(self, score: Score, domain: Domain, single: bool | None = None) -> None:
        self.score = score
        self.scale = domain.scale
        self.single = single
        moves = ~(domain.binary | domain.fixed) & (domain.lower < domain.upper)
        self.columns: IntVector = np.flatnonzero(moves)  # k
        self.n_calls = 1 + 2 * len(self.columns)  # rows that are scored for each gradient

    def value_and_grad(self, X: Matrix) -> tuple[Vector, Matrix]:
        """The score and its differences: (n, d) -> (n,), (n, d)."""
        gradient = np.zeros_like(X)
        if self.single is None:
            value = self.score(X)
            step = np.where(is_single(value), STEP_SINGLE, STEP)
            for rows in batches(len(X), (self.n_calls - 1) * X.shape[1]):
                pairs = self.pairs(X[rows], step[rows])
                gradient[rows, self.columns] = pairs.slopes(self.score(pairs.flat))
            return value, gradient
        value = np.empty(len(X))
        for rows in batches(len(X), self.n_calls * X.shape[1]):
            pairs = self.pairs(X[rows], np.full(len(X[rows]), self.step))
            values = self.score(np.vstack([X[rows], pairs.flat]))
            value[rows], sides = values[: len(pairs.made)], values[len(pairs.made) :]
            gradient[rows, self.columns] = pairs.slopes(sides)
        return value, gradient

    @property
    def step(self) -> float:
        """How long a step is, in scales, where it is known whether the score is single."""
        return STEP_SINGLE if self.single else STEP

    def pairs(self, X: Matrix, step: Vector) -> Pairs:
        """Points on both sides of rows, over a step of each in scales: (n, d), (n,)."""
        columns, k = self.columns, len(self.columns)
        steps = step[:, None] * self.scale[columns]  # n x k
        steps = np.maximum(steps, SEEN * np.abs(X[:, columns]))
        points = np.broadcast_to(X[:, None, None, :], (len(X), 2, k, X.shape[1])).copy()
        each = np.arange(k)
        points[:, 0, each, columns] += steps
        points[:, 1, each, columns] -= steps
        # Divide by the step that was made, which rounding may have changed.
        return Pairs(points, points[:, 0, each, columns] - points[:, 1, each, columns])


@final
@dataclass(frozen=True)
class Pairs:
    """Two points for each column of each row, one on either side."""

    points: Tensor  # n x 2 x k x d
    made: Matrix  # n x k: how far they are apart

    @property
    def flat(self) -> Matrix:
        """The points one after another."""
        return self.points.reshape(-1, self.points.shape[-1])

    def slopes(self, values: Vector) -> Matrix:
        """Slopes by the scores of the points: (n 2 k,) -> (n, k)."""
        ahead, behind = np.moveaxis(values.reshape(self.points.shape[:3]), 1, 0)
        with np.errstate(invalid="ignore"):  # ∞ − ∞ where the score has no answer
            return np.asarray((ahead - behind) / self.made)


@final
@dataclass(frozen=True)
class Character:
    """What a score is like at typical rows: seen by one call of it.

    Attributes:
        values: Its values there, (n,).
        single: Whether all of them are numbers of single precision; None without rows.
        rough: Whether it jumps about near some of them, as neighbours and forests do. There a
            slope tells nothing of what a step brings: a step a little longer finds another.
    """

    values: Vector
    single: bool | None
    rough: bool

    @classmethod
    def of(cls, score: Score, domain: Domain) -> Character:
        """That of a score at the typical rows of a domain."""
        X = domain.typical
        if len(X) == 0:
            return cls(np.empty(0), None, False)
        sloped = FiniteDifference(score, domain)
        widths = (STEP, STEP_SINGLE, STEP_WIDE)
        pairs = [sloped.pairs(X, np.full(len(X), width)) for width in widths]
        values = score(np.vstack([X, *(some.flat for some in pairs)]))
        value, *sides = np.split(values, np.cumsum([len(X), *(len(p.flat) for p in pairs[:-1])]))
        slopes = [
            some.slopes(side) * sloped.scale[sloped.columns]
            for some, side in zip(pairs, sides, strict=True)
        ]  # 3 of n x k
        alike = is_single(value)
        short, wide = np.where(alike[:, None], slopes[1], slopes[0]), slopes[2]
        largest = np.maximum(np.abs(short), np.abs(wide)).max(axis=1, initial=0, keepdims=True)
        with np.errstate(invalid="ignore"):  # where the score has no answer
            jumps = np.abs(wide - short) > JUMP * largest
        return cls(value, bool(alike.all()), bool(jumps.any()))


def is_single(value: Vector) -> BoolVector:
    """Which values are numbers of single precision, (n,)."""
    with np.errstate(over="ignore"):
        return np.asarray(value == value.astype(np.float32))


def sloping(gradient: Matrix, free: BoolMatrix) -> tuple[BoolVector, BoolVector]:
    """Whether each row has a slope in any of its free columns, and in all: (n, d) -> (n,)."""
    return (free & (gradient != 0)).any(axis=1), (~free | (gradient != 0)).all(axis=1)
