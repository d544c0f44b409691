"""What values a column can hold: any number, numbers of some decimals, or a few given ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np

from whyflag.arrays import BoolVector, IntVector, Matrix, Tensor, Vector

MOST_DECIMALS = 8  # more are those of a computation, not of a person
ROUNDING = 1e-6  # of a step: 3 × 0.1 is 0.30000000000000004
MOST_GIVEN = 20  # different values that are a list of what is possible
OF_EACH = 5  # rows that each of them has on average
DIFFERENT = 12  # values that are all multiples of a larger step are so by no accident
EXACT = 2.0**53  # whole numbers that are as large have neighbours that are not told apart


@final
@dataclass(frozen=True)
class Kinds:
    """What values each of d columns can hold.

    Attributes:
        step: Values are multiples of it, (d,): 1 for whole numbers, 0.01 for two decimals, 500 for
            amounts in five hundreds; 0 for any number.
        given: The only values that a column can hold, in rising order; None for all others.
        direction: 1 where a value may only rise, −1 where it may only fall, 0 for either, (d,).

    >>> kinds = Kinds.infer(np.array([[3.0, 0.5], [4.0, 0.25]]))
    >>> kinds.admit(np.array([[3.2, 0.333]]), np.zeros((1, 2)))
    array([[3.  , 0.33]])
    """

    step: Vector
    given: tuple[Vector | None, ...]
    direction: IntVector

    @classmethod
    def any(cls, d: int) -> Kinds:
        """Any number, in either direction, in each of d columns."""
        return cls(np.zeros(d), (None,) * d, np.zeros(d, dtype=np.int64))

    @classmethod
    def infer(cls, rows: Matrix) -> Kinds:
        """Read off normal rows: their decimals, and lists of few values that occur again."""
        columns = [np.unique(column) for column in rows.T]
        return replace(
            cls.any(rows.shape[1]),
            step=np.array([_step(values) for values in columns]),
            given=tuple(
                values if len(values) <= min(MOST_GIVEN, len(rows) / OF_EACH) else None
                for values in columns
            ),
        )

    def admit(self, values: Tensor, x: Tensor) -> Tensor:
        """The nearest values that the columns can hold, coming from x: (..., d) -> (..., d)."""
        rounded, digits = values.copy(), self.decimals
        for step in np.unique(self.step[self.step > 0]):
            own = np.flatnonzero(self.step == step)
            # 3 × 0.1 is 0.30000000000000004, which nobody writes.
            rounded[..., own] = np.round(np.round(values[..., own] / step) * step, digits[own[0]])
        for j, known in enumerate(self.given):
            if known is not None:
                after = np.searchsorted((known[1:] + known[:-1]) / 2, values[..., j])
                rounded[..., j] = known[after]
        wrong_way = (rounded - x) * self.direction < 0
        return np.where(wrong_way, x, rounded)

    @cached_property
    def settled(self) -> BoolVector:
        """Which columns can hold one value only, (d,): they say nothing of what a feature is."""
        return np.array([known is not None and len(known) == 1 for known in self.given], np.bool_)

    @cached_property
    def decimals(self) -> IntVector:
        """How many decimals values have, (d,); −1 where any number of them."""
        return np.array([_decimals(step) if step else -1 for step in self.step], dtype=np.int64)

    def inward(self, lower: Vector, upper: Vector) -> tuple[Vector, Vector]:
        """Bounds at values that the columns can hold: none beyond these, (d,), (d,)."""
        step = np.where(self.step > 0, self.step, 1.0)
        finite = np.where(self.step > 0, 1.0, np.nan)
        tiny = 1e-9  # of a step: a bound that is a multiple but for rounding
        low = np.ceil(lower / step * finite - tiny) * step
        high = np.floor(upper / step * finite + tiny) * step
        # Zero has no sign.
        return (
            np.where(np.isfinite(low), low, lower) + 0.0,
            np.where(np.isfinite(high), high, upper) + 0.0,
        )

    def within(self, lower: Vector, upper: Vector) -> Kinds:
        """The kinds with the given values that lie in the bounds; a column must have some."""
        low, high = self.inward(lower, upper)
        given = tuple(
            None if known is None else known[(known >= low[j]) & (known <= high[j])]
            for j, known in enumerate(self.given)
        )
        for j, known in enumerate(given):
            if low[j] > high[j] or (known is not None and not len(known)):
                raise ValueError(
                    f"Column {j} must have a value of its kind between {lower[j]:g} and "
                    f"{upper[j]:g}: its step is {self.step[j]:g}, its values {self.given[j]}."
                )
        return replace(self, given=given)

    def to_json(self) -> dict[str, Any]:
        """The kinds as JSON would have them."""
        return {
            "step": self.step.tolist(),
            "given": [None if known is None else known.tolist() for known in self.given],
            "direction": self.direction.tolist(),
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Kinds:
        """Kinds that `to_json` wrote."""
        step = np.array(content["step"], dtype=np.float64)
        direction = np.array(content["direction"], dtype=np.int64)
        given = tuple(None if known is None else np.array(known) for known in content["given"])
        if not len(step) == len(direction) == len(given):
            raise ValueError("kinds are those of as many columns in each of their parts")
        if not (np.isfinite(step) & (step >= 0)).all():
            raise ValueError(f"steps must not be negative or infinite, got {step.tolist()}")
        return cls(step, given, direction)


def _decimals(step: float) -> int:
    """How many decimals the multiples of a step have."""
    found = (k for k in range(16) if np.isclose(np.round(step, k), step, rtol=1e-12, atol=0.0))
    return next(found, 16)


def _step(values: Vector) -> float:
    """The largest of 1, 0.1, 0.01 … that all values are multiples of; 0 if none is.

    Where many different values are multiples of more, such as 5, 12 or 500, it is that.
    """
    for decimals in range(MOST_DECIMALS + 1):
        step = float(10.0**-decimals)
        if np.allclose(np.round(values, decimals), values, rtol=0.0, atol=ROUNDING * step):
            return float(np.round(_common(values / step) * step, decimals))
    return 0.0


def _common(counts: Vector) -> int:
    """The largest number that all counts are multiples of, where that is no accident."""
    counts = np.abs(np.round(counts))
    if (counts > 0).sum() < DIFFERENT or counts.max() >= EXACT:
        return 1
    return int(np.gcd.reduce(counts.astype(np.int64)))
