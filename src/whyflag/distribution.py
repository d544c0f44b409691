"""How normal values are distributed: a few numbers for each column, instead of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from whyflag.arrays import Matrix, Vector

# Every hundredth, and closer by at both ends, where an anomaly stands.
TAIL = np.array([0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005])
LEVELS = np.concatenate([[0.0], TAIL, np.linspace(0.01, 0.99, 99), 1 - TAIL[::-1], [1.0]])
FREQUENT = 0.02  # of the rows: of a value that fewer have it is not kept how many do
FEW = 50  # values of a column of which all are kept


@final
@dataclass(frozen=True)
class Place:
    """Where a value stands among those of normal rows: the parts that have less, as much, more."""

    below: float
    same: float

    @property
    def above(self) -> float:
        """The part of normal rows that have more."""
        return max(0.0, 1.0 - self.below - self.same)


@final
@dataclass(frozen=True)
class Distribution:
    """Quantiles, means and frequent values of normal rows.

    Attributes:
        quantiles: From the smallest value of each column to the largest, (113, d): values that
            occur.
        mean: The mean of each column, (d,): of a 0/1 column, how often it is 1.
        frequent: Of each column the values that many rows have, in rising order, and what part of
            the rows has each, (2, k).
    """

    quantiles: Matrix
    mean: Vector
    frequent: tuple[Matrix, ...]

    @classmethod
    def of(cls, rows: Matrix) -> Distribution:
        """Read off normal rows, (n, d); of a column with gaps, the values that are there."""
        if np.isnan(rows).any():
            known = [column[~np.isnan(column)] for column in rows.T]
            each = [cls.of((column if len(column) else np.zeros(1))[:, None]) for column in known]
            quantiles = np.hstack([one.quantiles for one in each])
            mean = np.concatenate([one.mean for one in each])
            return cls(quantiles, mean, tuple(one.frequent[0] for one in each))
        # Values in between would be no one's, and ties would be lost.
        quantiles = np.quantile(rows, LEVELS, axis=0, method="inverted_cdf")
        return cls(quantiles, rows.mean(axis=0), tuple(_frequent(column) for column in rows.T))

    def place(self, column: int, value: float) -> Place:
        """Where a value stands among those of a column.

        >>> cylinders = np.repeat([4.0, 6.0, 8.0], [48, 21, 31])[:, None]
        >>> place = Distribution.of(cylinders).place(0, 4.0)
        >>> place.below, place.same, round(place.above, 2)
        (0.0, 0.48, 0.52)
        """
        q, (values, shares) = self.quantiles[:, column], self.frequent[column]
        same = float(shares[values == value].sum())
        if value <= q[0]:
            return Place(0.0, same)
        if value > q[-1]:
            return Place(1.0, 0.0)
        if self._are_all[column]:
            return Place(float(shares[values < value].sum()), same)
        # Up to the first quantile that is as large; between two of them, in proportion.
        k = int(np.searchsorted(q, value, side="left"))
        way = (value - q[k - 1]) / (q[k] - q[k - 1])
        below = LEVELS[k - 1] + way * (LEVELS[k] - LEVELS[k - 1]) - same * (way == 1.0)
        return Place(float(min(max(below, LEVELS[k - 1]), 1.0 - same)), same)

    def parts(self, column: int, edges: Vector) -> Vector:
        """What part of the rows lies between edges, the last one included: (k + 1,) -> (k,)."""
        places = [self.place(column, float(edge)) for edge in edges]
        below = np.array([place.below for place in places])
        below[-1] += places[-1].same
        return np.maximum(np.diff(below), 0.0)

    def to_json(self) -> dict[str, Any]:
        """The distribution as JSON would have it."""
        return {
            "quantiles": self.quantiles.tolist(),
            "mean": self.mean.tolist(),
            "frequent": [each.tolist() for each in self.frequent],
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Distribution:
        """A distribution that `to_json` wrote."""
        quantiles, mean = (
            np.array(content[name], dtype=np.float64) for name in ("quantiles", "mean")
        )
        frequent = [np.array(each, dtype=np.float64).reshape(2, -1) for each in content["frequent"]]
        if quantiles.shape != (len(LEVELS), *mean.shape) or len(frequent) != len(mean):
            raise ValueError(
                f"quantiles have shape {quantiles.shape}, means {mean.shape}, frequent values "
                f"are of {len(frequent)} columns"
            )
        return cls(quantiles, mean, tuple(frequent))

    @cached_property
    def _are_all(self) -> list[bool]:
        """Whether the frequent values of a column are all that it has."""
        return [bool(np.isclose(shares.sum(), 1.0)) for _, shares in self.frequent]


def _frequent(column: Vector) -> Matrix:
    values, counts = np.unique(column, return_counts=True)
    shares = counts / len(column)
    kept = shares >= (FREQUENT if len(values) > FEW else 0.0)
    return np.array([values[kept], shares[kept]])
