"""Scores that are a sum over trees, or a power of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from whyflag.arrays import FloatMatrix, IntVector, Matrix, Tensor, Vector
from whyflag.compiled import compiled
from whyflag.score import tree_loops
from whyflag.score.ability import Ability
from whyflag.score.base import Score
from whyflag.score.map import Map


@final
@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of several trees, one after another.

    A row goes left at a node if its value in the node's column is at most the threshold. Values
    are compared in single precision, as scikit-learn does.

    Attributes:
        roots: The first node of each tree, (t,).
        left, right: The two nodes below each node, (N,).
        column: The column that each node looks at, (N,); −1: it is a leaf.
        threshold: What it is compared with, (N,).
        value: What each leaf adds to the sum, (N,).
    """

    roots: IntVector
    left: IntVector
    right: IntVector
    column: IntVector
    threshold: NDArray[np.float32]
    value: Vector

    @classmethod
    def of(
        cls, trees: Sequence[Any], features: Sequence[IntVector], values: Sequence[Vector]
    ) -> Nodes:
        """Those of scikit-learn's trees, with the columns each was shown, and values of nodes."""
        begins = np.cumsum([0, *(tree.node_count for tree in trees)])[:-1]
        with_begins = list(zip(trees, begins, strict=True))
        leaf = np.concatenate([tree.children_left < 0 for tree in trees])
        columns = [
            shown[np.maximum(tree.feature, 0)] for tree, shown in zip(trees, features, strict=True)
        ]
        return cls(
            roots=begins,
            left=np.concatenate([tree.children_left + begin for tree, begin in with_begins]),
            right=np.concatenate([tree.children_right + begin for tree, begin in with_begins]),
            column=np.where(leaf, -1, np.concatenate(columns)),
            threshold=rounded_down(np.concatenate([tree.threshold for tree in trees])),
            value=np.concatenate(list(values)),
        )

    @cached_property
    def levels(self) -> list[IntVector]:
        """The nodes by their depth."""
        levels, below = [], self.roots
        while len(below):
            levels.append(below)
            inner = below[self.column[below] >= 0]
            below = np.concatenate([self.left[inner], self.right[inner]])
        return levels

    def sums(self, rows: FloatMatrix) -> Vector | None:
        """Σ_t v_t of each row, one tree after another, by compiled loops: (n, k) -> (n,).

        None: there is no numba, or a value that is not a number, which trees send their own ways.
        """
        fast = compiled(tree_loops.sums)
        if fast is None or len(rows) == 0:
            return None
        by_column = np.ascontiguousarray(rows.T)
        low, high = by_column.min(axis=1), by_column.max(axis=1)
        if np.isnan(low).any():
            return None
        found: Vector = fast(by_column, low, high, *self._ways)
        return found

    @cached_property
    def _ways(self) -> tuple[NDArray[Any], ...]:
        # Loops are compiled anew for arrays that can not be written to.
        ways = self.roots, self.left, self.right, self.column, self.threshold, self.value
        return tuple(np.array(each) for each in ways)


@final
@dataclass(frozen=True)
class Power:
    """f(s) = 2^(s / c) + a, from sums to scores, and back."""

    c: float
    a: float = 0.0

    def __call__(self, sums: Tensor) -> Tensor:
        return 2.0 ** (sums / self.c) + self.a

    def back(self, scores: Tensor) -> Tensor:
        """Sums of scores."""
        return np.log2(scores - self.a) * self.c


@final
@dataclass(frozen=True, eq=False)
class Trees(Ability):
    """e(x) = f(Σ_t v_t(z)), where v_t is the value of the leaf of tree t that z leads to.

    Attributes:
        nodes: The trees.
        link: f; None: the score is the sum itself.
        sources: The column of x that each column of z is made of, (k,).
        slopes: dz/dx of each column of z, (k,); NaN where it is not constant.
        steps: The maps from x to z, one after another.
    """

    meaning: ClassVar[str] = "a score that is a sum over trees, such as an isolation forest's"

    nodes: Nodes
    link: Power | None
    sources: IntVector
    slopes: Vector
    steps: tuple[Map, ...] = ()

    def __call__(self, X: Matrix) -> FloatMatrix:
        """Rows as the trees compare them: (n, d) -> (n, k)."""
        with np.errstate(over="ignore"):  # beyond 10³⁸ there are no splits either
            return np.ascontiguousarray(self.behind(X), dtype=np.float32)

    def behind(self, X: Matrix) -> Matrix:
        """Rows behind the maps: (n, d) -> (n, k)."""
        for step in self.steps:
            X = step(X)
        return X

    @property
    def by_column(self) -> bool:
        """Whether the trees compare the columns of x themselves, but for their units."""
        alone = len(np.unique(self.sources)) == len(self.sources)
        return alone and bool(np.isfinite(self.slopes).all())

    def after(self, step: Map) -> Trees | None:
        """What is left if each column that comes out is made of one that goes in."""
        if step.sources is None:
            return None
        slopes = np.full(len(step.sources), np.nan)
        if step.jacobian is not None:  # with one source each, one number in each column
            slopes = step.jacobian if step.jacobian.ndim == 1 else step.jacobian.sum(axis=0)
        return replace(
            self,
            sources=step.sources[self.sources],
            slopes=slopes[self.sources] * self.slopes,
            steps=(step, *self.steps),
        )


def sum_score(score: Score) -> Score:
    """The sum over the trees as a score of its own, with the same order of rows."""
    trees = score.need(Trees)
    if trees.link is None:
        return score
    threshold = score.threshold
    if threshold is not None:
        threshold = float(trees.link.back(np.array([threshold]))[0])
    return replace(
        score,
        function=_Sum(score, trees.link),
        abilities=(replace(trees, link=None),),
        threshold=threshold,
        unit=None,
        audit=None,  # the score has one, and is asked
    )


@final
@dataclass(frozen=True)
class _Sum:
    score: Score
    link: Power

    def __call__(self, X: Matrix) -> Vector:
        return self.link.back(self.score(X))


def rounded_down(values: Vector) -> NDArray[np.float32]:
    """The largest number of single precision that is no larger: (n,) -> (n,)."""
    single = values.astype(np.float32)
    return np.where(single > values, np.nextafter(single, np.float32(-np.inf)), single)
