"""The audit of scores that come from outside: fixed, row by row, equal to the library's own."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, final

import numpy as np

from whyflag.arrays import Matrix, Vector
from whyflag.score.base import PRECISION, check_answer, check_finite

# Two answers for one row may differ by rounding (a matrix product of another shape, float32
# inside), never by more than this part of the score.
SAME_ANSWER = 1e-5
FEW = 4  # rows that a comparison with the library takes, and the most looks for them
NUDGE = 4  # roundings by which rows are moved to see how far a score carries them
CARRIED = 100  # times that far may two ways of computing it be apart


def refuse_other_answers(
    one: Vector,
    other: Vector,
    rows: Matrix,
    complaint: str,
    *,
    typical: float = 0.0,
    precision: float = PRECISION,
) -> None:
    """Refuse a score whose two answers for the same rows differ by more than rounding."""
    differs = ~(np.abs(one - other) <= _rounding(one, other, rows, typical, precision))
    if differs.any():
        row = int(np.argmax(differs))
        raise ValueError(
            f"A score must be a fixed function of each row by itself. This one {complaint} "
            f"{one[row]:.6g} and {other[row]:.6g}. Freeze its random state, or score each row "
            "against the training data only."
        )


def _rounding(
    one: Vector, other: Vector, rows: Matrix, typical: float = 0.0, precision: float = PRECISION
) -> Vector:
    """How far two answers may be apart: (n,)."""
    size = np.maximum(np.abs(one), np.abs(other))
    # Some row of a batch may happen to score 0, where all digits are rounding; and where all do,
    # they are what rounding of the rows themselves leaves.
    typical = max(typical, lower_median(size))
    part = min(max(SAME_ANSWER, 1000 * precision), 0.1)
    allowed = part * np.maximum(size, typical)
    return np.asarray(allowed + 8 * PRECISION * np.abs(rows).max(axis=1))


def lower_median(values: Vector) -> float:
    """The value that half of the others are not below; of two, the lower one."""
    return float(np.sort(values)[(len(values) - 1) // 2])


@final
class Audited:
    """A foreign function whose answers are checked: their shape always, their honesty once.

    The first rows it sees are scored again, and a few of them alone. A score that is random, or
    that depends on the other rows of its batch, makes every attribution by perturbation
    meaningless, so it is refused. (One that turns random later is found by `Explainer`.)

    Args:
        function: The function.
        sign: −1 if its low values are the anomalous ones.
        copy: Whether it gets rows of its own, row by row in memory: a function that writes into
            its argument must not reach the caller's rows.
        precision: The relative rounding of its answers; that of their type if none is given.
    """

    def __init__(
        self,
        function: Callable[[Matrix], Any],
        sign: float = 1.0,
        *,
        copy: bool = True,
        precision: float | None = None,
    ) -> None:
        self.function = function
        self.sign = sign
        self.copy = copy
        self.precision = PRECISION if precision is None else precision
        self.answered = self.trusted = False

    def __call__(self, X: Matrix) -> Vector:
        try:
            values = self.answer(X)
        except Exception as error:
            error.add_note(
                f"This happened in the score, called with a float64 array of shape {X.shape}. "
                "For a function of PyTorch tensors see whyflag.adapters.torch.torch_score."
            )
            raise
        # Once it has answered, it may have no answer where a minimiser tries its steps.
        if not self.trusted and (not self.answered or np.isfinite(values).all()):
            self._audit(X, values)
            self.answered = True
            # A row in the company of none proves little: the audit goes on until rows come.
            self.trusted = len(X) > 1
        return values

    def answer(self, X: Matrix) -> Vector:
        """The function's answer, of which only the shape is checked."""
        given = np.asarray(self.function(X.copy() if self.copy else X))
        if given.dtype.kind == "f":
            self.precision = max(self.precision, float(np.finfo(given.dtype).eps))
        values = np.asarray(given, dtype=np.float64)
        check_answer(values, X, getattr(self.function, "__name__", type(self.function).__name__))
        return self.sign * values

    def _audit(self, X: Matrix, values: Vector) -> None:
        check_finite(values, X)
        typical = lower_median(np.abs(values))
        head = X[:64]
        first, second = self.answer(head), self.answer(head)
        self._compare(first, second, head, typical, "is random: scored twice, one batch got")
        rows = np.unique(np.linspace(0, len(X) - 1, FEW).astype(int))
        alone = np.array([self._alone(X[row : row + 1]) for row in rows])
        copies = np.array([self.answer(np.repeat(X[row : row + 1], 8, axis=0))[0] for row in rows])
        remedy = "depends on the other rows of the batch:"
        for one, other, where in (
            (values[rows], alone, "in company and alone"),
            (alone, copies, "alone and among copies of itself"),
        ):
            self._compare(one, other, X[rows], typical, f"{remedy} {where}, a row got")

    def _compare(
        self, one: Vector, other: Vector, rows: Matrix, typical: float, complaint: str
    ) -> None:
        refuse_other_answers(one, other, rows, complaint, typical=typical, precision=self.precision)

    def _alone(self, x: Matrix) -> float:
        try:
            return float(self.answer(x)[0])
        except Exception as error:
            raise ValueError(
                "A score must be a fixed function of each row by itself. This one fails on a row "
                f"alone: {type(error).__name__}: {error}"
            ) from error


@final
class Original:
    """A library's own number, with which a score that computes it in another way is compared.

    A handful of the first rows is compared, once; then the library is let go.

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
        self.function: Callable[[Matrix], Any] | None = function
        self.name = name
        self.remedy = remedy
        self.alone = alone
        self.precision = precision
        self._rows_left = self._looks_left = FEW

    def compare(
        self, X: Matrix, values: Vector, score: Callable[[Matrix], Vector], typical: float = 0.0
    ) -> None:
        """Refuse a score whose values at the rows are not the library's."""
        if self.function is None:
            return
        some = np.unique(np.linspace(0, len(X) - 1, self._rows_left).astype(int))
        rows = np.ascontiguousarray(X[some])
        asked = self._ask(self.function, rows)
        # Where the library has no number there is nothing to compare with.
        known = np.isfinite(asked)
        if known.any():
            self._refuse(
                some[known], rows[known], values[some[known]], asked[known], score, typical
            )
        self._looks_left -= 1
        self._rows_left -= int(known.sum())
        if self._rows_left <= 0 or self._looks_left <= 0:
            self.function = None

    def _ask(self, function: Callable[[Matrix], Any], rows: Matrix) -> Vector:
        parts = [rows[i : i + 1] for i in range(len(rows))] if self.alone else [rows]
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                asked = np.concatenate([np.ravel(function(part)) for part in parts])
        except Exception:
            # The library may refuse values that are possible here, such as those beyond float32.
            return np.full(len(rows), np.nan)
        return np.asarray(asked, dtype=np.float64)

    def _refuse(
        self,
        which: np.ndarray,
        rows: Matrix,
        values: Vector,
        asked: Vector,
        score: Callable[[Matrix], Vector],
        typical: float,
    ) -> None:
        allowed = _rounding(values, asked, rows, typical, self.precision)
        if (np.abs(values - asked) <= allowed).all():
            return
        # Two ways of computing one number differ by what they make of the rounding of a row. (One
        # that is asked alone counts rows: it jumps where a row is one of them, and is exact.)
        nudge = 0.0 if self.alone else NUDGE * self.precision
        signs = np.array([np.ones(rows.shape[1]), np.arange(rows.shape[1]) % 2 * 2.0 - 1])
        for sign in (*signs, *-signs):
            moved = np.abs(score(rows * (1 + nudge * sign)) - values)
            allowed = np.maximum(allowed, CARRIED * moved)
        differs = ~(np.abs(values - asked) <= allowed)
        if differs.any():
            i = int(np.argmax(differs))
            raise ValueError(
                f"The score of {self.name} is computed here by a formula of whyflag's own, and it "
                f"is not the library's: at row {which[i]} it is {values[i]:.6g}, the library says "
                f"{asked[i]:.6g}. {self.remedy}"
            )
