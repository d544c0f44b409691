"""A library's own number, with which a score that computes it in another way is compared."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, final

import numpy as np

from whyflag.arrays import IntVector, Matrix, Vector, evenly
from whyflag.score.answers import PRECISION, rounding
from whyflag.score.audit import Question

if TYPE_CHECKING:
    from whyflag.score.base import Score

FEW = 4  # rows that are compared, and the most looks for them
NUDGE = 4  # roundings by which rows are moved to see how far a score carries them
CARRIED = 100  # times that far may two ways of computing it be apart


@final
class Original(Question):
    """Is the score the library's own number?

    Args:
        function: Rows to the library's scores, high = anomalous.
        name: Of what the scores are.
        remedy: What to pass instead if the numbers differ.
        alone: Whether the library is asked for one row at a time.
        precision: The relative rounding of its numbers.
    """

    def __init__(
        self,
        function: Callable[[Matrix], Any],
        name: str,
        remedy: str,
        *,
        alone: bool = False,
        precision: float = PRECISION,
    ) -> None:
        self.function = function
        self.name = name
        self.remedy = remedy
        self.alone = alone
        self.precision = precision
        self._rows_left = self._looks_left = FEW

    def ask(self, score: Score, X: Matrix, values: Vector) -> bool:
        some = evenly(len(X), self._rows_left)
        rows = np.ascontiguousarray(X[some])
        asked = self._ask(rows)
        # Where the library has no number there is nothing to compare with.
        known = np.isfinite(asked)
        if known.any():
            self._refuse(score, some[known], rows[known], values[some[known]], asked[known])
        self._looks_left -= 1
        self._rows_left -= int(known.sum())
        return self._rows_left <= 0 or self._looks_left <= 0

    def _ask(self, rows: Matrix) -> Vector:
        parts = [rows[i : i + 1] for i in range(len(rows))] if self.alone else [rows]
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                asked = np.concatenate([np.ravel(self.function(part)) for part in parts])
        except Exception:
            # The library may refuse values that are possible here, such as those beyond float32.
            return np.full(len(rows), np.nan)
        return np.asarray(asked, dtype=np.float64)

    def _refuse(
        self, score: Score, which: IntVector, rows: Matrix, values: Vector, asked: Vector
    ) -> None:
        # Kernels fade to nothing far from the data; the threshold tells what is something.
        typical = abs(score.threshold or 0.0)
        allowed = rounding(values, asked, rows, typical, self.precision)
        if (np.abs(values - asked) <= allowed).all():
            return
        # Two ways of computing one number differ by what they make of the rounding of a row. (One
        # that is asked alone counts rows: it jumps where a row is one of them, and is exact.)
        nudge = 0.0 if self.alone else NUDGE * self.precision
        alike, apart = np.ones(rows.shape[1]), (-1.0) ** np.arange(rows.shape[1])
        for sign in (alike, -alike, apart, -apart):
            moved = np.abs(score.function(rows * (1 + nudge * sign)) - values)
            allowed = np.maximum(allowed, CARRIED * moved)
        differs = ~(np.abs(values - asked) <= allowed)
        if differs.any():
            i = int(np.argmax(differs))
            raise ValueError(
                f"The score of {self.name} is computed here by a formula of whyflag's own, and it "
                f"is not the library's: at row {which[i]} it is {values[i]:.6g}, the library says "
                f"{asked[i]:.6g}. {self.remedy}"
            )
