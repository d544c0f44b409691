"""How normal values are distributed: a few numbers for each column, instead of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from whyflag.arrays import Matrix, Vector

LEVELS = np.linspace(0, 1, 41)


@final
@dataclass(frozen=True)
class Distribution:
    """Quantiles and means of normal rows.

    Attributes:
        quantiles: From the smallest value of each column to the largest, (41, d).
        mean: The mean of each column, (d,): of a 0/1 column, how often it is 1.
    """

    quantiles: Matrix
    mean: Vector

    @classmethod
    def of(cls, rows: Matrix) -> Distribution:
        """Read off normal rows, (n, d)."""
        return cls(np.quantile(rows, LEVELS, axis=0), rows.mean(axis=0))

    def to_json(self) -> dict[str, Any]:
        """The distribution as JSON would have it."""
        return {"quantiles": self.quantiles.tolist(), "mean": self.mean.tolist()}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Distribution:
        """A distribution that `to_json` wrote."""
        quantiles, mean = (
            np.array(content[name], dtype=np.float64) for name in ("quantiles", "mean")
        )
        if quantiles.shape != (len(LEVELS), *mean.shape):
            raise ValueError(f"quantiles have shape {quantiles.shape}, means {mean.shape}")
        return cls(quantiles, mean)
