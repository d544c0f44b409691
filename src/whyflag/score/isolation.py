"""Isolation forests as arrays: scores without the library that grew them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from whyflag.arrays import Matrix, Vector
from whyflag.batches import CALL, batches
from whyflag.score.base import Score
from whyflag.score.trees import Nodes, Power, Trees


@final
@dataclass(frozen=True, eq=False)
class IsolationArrays:
    """e(x) = 2^(−h(x) / c), h the average depth at which the trees isolate x.

    Attributes:
        nodes: The trees; the value of a leaf is minus its depth over the number of trees.
        usual_depth: c.
        n_levels: Levels of the deepest tree.
        n_features: Columns of a row.
    """

    nodes: Nodes
    usual_depth: float
    n_levels: int
    n_features: int

    def __post_init__(self) -> None:
        nodes, inner = self.nodes, self.nodes.column >= 0
        here = np.arange(len(inner))
        # Children stand behind their parents, so that every way ends.
        for child in (nodes.left[inner], nodes.right[inner]):
            if (child <= here[inner]).any() or (child >= len(inner)).any():
                raise ValueError("the nodes of its trees do not lead from one to the next")
        if (nodes.column >= self.n_features).any() or not (nodes.roots >= 0).all():
            raise ValueError("its trees ask for columns that there are not")

    def to_score(self) -> Score:
        """The score, with all that is known of it."""
        d = self.n_features
        known = Trees(self.nodes, Power(self.usual_depth), np.arange(d), np.ones(d))
        return Score(self, (known,), n_features=d)

    def __call__(self, X: Matrix) -> Vector:
        with np.errstate(over="ignore"):  # beyond 10³⁸ there are no splits either
            rows = np.asarray(X, dtype=np.float32)  # what trees compare
        sums = self.nodes.sums(rows)
        if sums is None:
            sums = np.empty(len(rows))
            for some in batches(len(rows), len(self.nodes.roots), CALL):
                sums[some] = self._sums(np.ascontiguousarray(rows[some]))
        return np.asarray(2.0 ** (sums / self.usual_depth))

    def _sums(self, rows: np.ndarray) -> Vector:
        """Minus the average depth of each row, down all trees at once."""
        nodes = self.nodes
        each = np.arange(len(rows))[:, None]
        at = np.repeat(nodes.roots[None], len(rows), axis=0)  # n x t
        for _ in range(self.n_levels):
            column = nodes.column[at]
            left = rows[each, np.maximum(column, 0)] <= nodes.threshold[at]
            below = np.where(left, nodes.left[at], nodes.right[at])
            at = np.where(column >= 0, below, at)
        # One tree after another, so that a row alone has the same digits as among others.
        total: Vector = np.cumsum(nodes.value[at], axis=1)[:, -1]
        return total
