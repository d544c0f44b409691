"""Is a repaired row like normal rows, by a measure that its own detector has no part in?"""

from __future__ import annotations

from typing import final

import numpy as np

from whyflag.arrays import BoolVector, Matrix, evenly
from whyflag.domain import Domain
from whyflag.nearness import distance
from whyflag.repair.expected import Expected
from whyflag.score import Score

NEIGHBOURS = 8
LOOKED_AT = 300  # normal rows that say how far normal rows are from their neighbours
LEVEL = 0.99  # of these: what is further away is odd


@final
class SecondLook:
    """Looks how far a row is from its eight nearest normal rows, and how far normal rows are."""

    def __init__(self, expected: Expected, domain: Domain) -> None:
        self._rows, self._scale = expected.rows / domain.scale, domain.scale
        some = evenly(len(self._rows), LOOKED_AT)
        # Each row is its own nearest.
        usual = [self._far(self._rows[i], skip=1) for i in some]
        self._most = float(np.quantile(usual, LEVEL)) * (1 + 1e-9)

    def is_odd(self, X: Matrix) -> BoolVector:
        """Whether rows are further from normal rows than 99 % of these are: (n, d) -> (n,)."""
        return self.score(X) > self._most

    @property
    def score(self) -> Score:
        """How far rows are from normal ones, with an alarm for those that are odd."""
        return Score(
            lambda X: np.array([self._far(x / self._scale) for x in X]),
            n_features=len(self._scale),
            threshold=self._most,
        )

    def _far(self, x: Matrix, skip: int = 0) -> float:
        far = distance(self._rows - x).sum(axis=1)
        k = min(NEIGHBOURS + skip, len(far))
        return float(np.partition(far, k - 1)[skip:k].mean()) if k > skip else 0.0
