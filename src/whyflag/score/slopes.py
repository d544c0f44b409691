"""Gradients that come from outside, compared with differences of their score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, final

import numpy as np

from whyflag.arrays import BoolVector, IntVector, Matrix, Vector, evenly
from whyflag.batches import CALL, batches
from whyflag.score.answers import PRECISION
from whyflag.score.audit import Question
from whyflag.score.gradient import Gradient

if TYPE_CHECKING:
    from whyflag.score.base import Score

HEAD = 64  # rows from which those that are looked at are taken
ENOUGH = 4  # distinct rows; then the gradient is trusted
SAME_SLOPE = 1e-2  # a right gradient and a good difference are closer than this
SMALL = 1e-3  # of the steepest column's part: slopes below do not matter
SHORT = 1e-3  # of a column's spread: over such a step a score is a line, or has a kink
STEADY = 0.05  # differences of two steps that are as close as this tell something
STEPS = 10.0 ** -np.arange(1, 9)  # of a column's spread
BLIND_STEPS = 10.0 ** -np.arange(0, 15)  # of its values, where a column has none


@final
class Slopes(Question):
    """Is the gradient that of the score?

    For each column it is looked at in two rows, and in those that have its smallest and its
    largest value. A slope is refused if the differences of two steps agree with one another and
    not with it. It is right if it agrees with the difference of any step, or lies between the
    slopes on both sides (at a kink). What is not finite is not judged here, unless nothing else
    comes.

    Args:
        remedy: What to do about a wrong gradient.
    """

    def __init__(self, remedy: str) -> None:
        self._remedy = remedy
        self._rows_left = ENOUGH
        self._silent = True

    def ask(self, score: Score, X: Matrix, values: Vector) -> bool:
        gradient = score.find(Gradient)
        if gradient is None:
            return True
        _, first = np.unique(X[: 16 * HEAD], axis=0, return_index=True)
        which = np.sort(first)
        which = which[evenly(len(which), HEAD)]
        rows = np.ascontiguousarray(X[which])
        with np.errstate(all="ignore"):
            here, claimed = gradient(rows)
        known = np.isfinite(here)
        if known.any():
            self._compare(score, which[known], rows[known], here[known], claimed[known])
        self._silent &= not np.isfinite(claimed[known]).any()
        self._rows_left -= int(known.sum())
        if self._silent and self._rows_left <= 0:
            raise ValueError(
                "The gradient must be finite at normal rows, got no finite slope at any row and "
                f"column that was asked for. {self._remedy}"
            )
        return self._rows_left <= 0

    def _compare(
        self, score: Score, which: IntVector, rows: Matrix, here: Vector, gradient: Matrix
    ) -> None:
        scale, blind = _scales(rows)  # n x d, d
        with np.errstate(all="ignore"):
            part = np.abs(gradient) * scale
            steepest = np.where(np.isfinite(part), part, 0.0).max(axis=1)  # n
        row, column = _pairs(rows, gradient)
        if not len(row):
            return
        precision, ask = score.precision, partial(_asked, score.function)
        first = _Slopes.at(gradient, here, scale, steepest, row, column)
        found = first.differences(ask, rows, first.scale * np.cbrt(precision), precision)
        doubtful = ~found.agrees
        if not doubtful.any():
            return
        row, column = row[doubtful], column[doubtful]
        precision = max(precision, _seen_precision(ask, rows, here, scale))
        slopes = _Slopes.at(gradient, here, scale, steepest, row, column)
        unknown = bool(blind[column].any())
        steps = BLIND_STEPS if unknown else STEPS
        tried = [slopes.differences(ask, rows, step * slopes.scale, precision) for step in steps]
        evidence = _evidence(tried, unknown)
        if (evidence >= 0).any():
            i = int(np.argmax(evidence >= 0))
            best = tried[evidence[i]]
            raise ValueError(
                "The gradient must be that of the score, got "
                f"{gradient[row[i], column[i]]:.6g} at row {which[row[i]]}, column {column[i]}, "
                f"where differences of the score give {best.central[i]:.6g}. {self._remedy}"
            )


def _seen_precision(
    ask: Callable[[Matrix], Vector], rows: Matrix, here: Vector, scale: Matrix
) -> float:
    """That of half or single precision, if points rounded to it score the same to the bit."""
    for kind, finer in ((np.float16, 3e-5), (np.float32, 3e-9)):
        # Whole numbers do not tell; what is so close to them that only this rounding joins
        # them does.
        points = np.where(rows == 0, scale / 3000, rows * (1 + finer))
        with np.errstate(over="ignore"):
            rounded = points.astype(kind).astype(np.float64)
        values = ask(points)
        near = np.isclose(values, here, rtol=0.01, atol=0.0).mean() >= 0.5
        if near and np.array_equal(ask(rounded), values, equal_nan=True):
            return float(np.finfo(kind).eps)
    return PRECISION


def _asked(function: Callable[[Matrix], Vector], points: Matrix) -> Vector:
    """Scores, NaN where the function has none or fails: beside a row it need not work."""
    values = np.full(len(points), np.nan)
    for some in batches(len(points), points.shape[1], CALL):
        try:
            with np.errstate(all="ignore"):
                values[some] = function(points[some])
        except Exception:  # noqa: S110
            pass
    return values


def _scales(rows: Matrix) -> tuple[Matrix, BoolVector]:
    """What counts as a change of each value, and the columns that do not tell: n x d, d."""
    size = np.abs(rows)
    away = np.abs(rows - np.median(rows, axis=0))
    spread = np.median(away, axis=0)
    spread = np.where(spread > 0, spread, away.max(axis=0))
    blind = spread <= 1e-12 * size.max(axis=0)
    typical = np.where(blind, np.where(size > 0, size, 1.0), spread)
    return np.maximum(typical, 1e-6 * size), blind


def _pairs(rows: Matrix, gradient: Matrix) -> tuple[IntVector, IntVector]:
    """Rows and columns that are looked at: two rows, and each column's smallest and largest."""
    n, d = rows.shape
    chosen = np.stack([np.full(d, 0), np.full(d, n // 2), rows.argmin(axis=0), rows.argmax(axis=0)])
    row, column = np.divmod(np.unique(chosen * d + np.arange(d)), d)
    finite = np.isfinite(gradient[row, column])
    return row[finite], column[finite]


@final
@dataclass(frozen=True)
class _Slopes:
    """Slopes as the gradient has them, one for each pair of a row and a column."""

    row: IntVector  # m
    column: IntVector  # m
    claimed: Vector  # m
    here: Vector  # m: scores
    scale: Vector  # m
    small: Vector  # m: slopes that do not matter in their rows

    @classmethod
    def at(
        cls,
        gradient: Matrix,
        here: Vector,
        scale: Matrix,
        steepest: Vector,
        row: IntVector,
        column: IntVector,
    ) -> _Slopes:
        """The slopes of some pairs."""
        unit = scale[row, column]
        return cls(
            row, column, gradient[row, column], here[row], unit, SMALL * steepest[row] / unit
        )

    def differences(
        self, function: Callable[[Matrix], Vector], rows: Matrix, step: Vector, precision: float
    ) -> _Differences:
        """Compare with differences over one step, (m,)."""
        at = rows[self.row, self.column]
        above, below = at + step, at - step
        pair = np.arange(len(step))
        points = np.concatenate([rows[self.row], rows[self.row]])  # 2m x d
        points[pair, self.column], points[len(step) + pair, self.column] = above, below
        ahead, behind = np.split(function(points), 2)
        with np.errstate(all="ignore"):
            right, left = (ahead - self.here) / (above - at), (self.here - behind) / (at - below)
            central = (ahead - behind) / (above - below)
            # At the edge of where the function works there is one side.
            right, left = (
                np.where(np.isfinite(right), right, left),
                np.where(np.isfinite(left), left, right),
            )
            central = np.where(np.isfinite(central), central, right)
            largest = np.nanmax([np.abs(ahead), np.abs(behind), np.abs(self.here)], axis=0)
            noise = 8 * precision * largest / step
        works = np.isfinite(central) & (step >= 4 * precision * np.abs(at))
        still = (ahead == self.here) & (behind == self.here)
        return _Differences(self, step, left, right, central, noise, works, still)


@final
@dataclass(frozen=True)
class _Differences:
    """Slopes by differences over one step."""

    slopes: _Slopes
    step: Vector  # m
    left: Vector  # m
    right: Vector  # m
    central: Vector  # m
    noise: Vector  # m: what rounding of the scores makes of a slope
    works: BoolVector  # m: whether there is a number, and a step
    still: BoolVector  # m: whether the score did not move

    @property
    def tells(self) -> BoolVector:
        """Whether rounding leaves something to compare."""
        size = np.maximum(np.abs(self.slopes.claimed), np.abs(self.central))
        # A score in single precision does not move for a while; its steps are as small as this.
        moves = np.abs(self.slopes.claimed) * self.step >= 1e-6 * np.abs(self.slopes.here)
        return self.works & (self.noise <= 0.1 * size) & (~self.still | moves)

    @property
    def agrees(self) -> BoolVector:
        """Whether the slope that is claimed is this one."""
        nothing = (self.slopes.claimed == 0) & (self.central == 0) & self.works
        long_enough = ~self.still | (self.step >= 1e-4 * self.slopes.scale)
        return (self.tells & (self._off() <= 0)) | (nothing & long_enough)

    @property
    def differs(self) -> BoolVector:
        """Whether the slope that is claimed is another one, and that matters."""
        return self.tells & (self._off() > self.slopes.small)

    @property
    def between(self) -> BoolVector:
        """Whether the slope that is claimed lies between those of both sides."""
        claimed = self.slopes.claimed
        low, high = np.minimum(self.left, self.right), np.maximum(self.left, self.right)
        margin = SAME_SLOPE * np.maximum(np.abs(low), np.abs(high)) + 2 * self.noise
        return (claimed >= low - margin) & (claimed <= high + margin)

    @property
    def sides_tell(self) -> BoolVector:
        """Whether rounding leaves something of the slopes of both sides."""
        steeper = np.maximum(np.abs(self.left), np.abs(self.right))
        return self.works & ~self.still & (self.noise <= 0.01 * steeper)

    def _off(self) -> Vector:
        """How far the slopes are apart, beyond rounding and curvature."""
        size = np.maximum(np.abs(self.slopes.claimed), np.abs(self.central))
        away = np.abs(self.slopes.claimed - self.central)
        return np.asarray(away - SAME_SLOPE * size - 2 * self.noise)


def _evidence(tried: list[_Differences], blind: bool) -> IntVector:
    """The step that speaks against each slope, by differences from long to short; −1: none."""
    agrees = np.any([step.agrees for step in tried], axis=0)  # m
    right = agrees | _kinks(tried, blind)
    found = np.full(len(right), -1)
    run = np.zeros(len(right), dtype=np.int64)
    for k in range(1, len(tried)):
        one, other = tried[k - 1], tried[k]
        size = np.maximum(np.abs(one.central), np.abs(other.central))
        steady = np.abs(one.central - other.central) <= STEADY * size + one.noise + other.noise
        run = np.where(steady & one.differs & other.differs & ~right, run + 1, 0)
        # Steps of unknown length may reach into another region: it takes one more to tell.
        found = np.where(run > blind, k, found)
    return found


def _kinks(tried: list[_Differences], blind: bool) -> BoolVector:
    """Slopes that lie between those of both sides: m."""
    # Over long steps curvature opens such a gap. Where it is not known what is long, and where
    # rounding hides short ones, the shortest step that tells is as good as any.
    kink = shortest = np.zeros(len(tried[0].step), dtype=np.bool_)
    for step in tried:
        shortest = np.where(step.sides_tell, step.between, shortest)
        short = (step.step <= SHORT * step.slopes.scale) & (not blind)
        kink = kink | (short & step.sides_tell & step.between)
    return kink | shortest
