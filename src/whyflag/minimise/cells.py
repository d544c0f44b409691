"""Cells, into which the splits of trees cut each column: in one, a sum over them is constant."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np
from numpy.typing import NDArray

from whyflag.arrays import FloatMatrix, IntMatrix, IntVector, Vector
from whyflag.score.trees import Nodes

Marks = NDArray[np.int16]

BITS = 7  # of a sum of marks tell how many there are; of one mark the others are its side
COUNT = 2**BITS - 1


def marks(sides: IntVector) -> Marks:
    """One for each side, and which it is: sums tell how many there are, and of one, which."""
    return (1 + (sides << BITS)).astype(np.int16)


@final
@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of k columns, and the boxes of L leaves, whose sides are ranges of cells.

    The cells of a column lie one after another in slots, with an empty slot behind the last.

    Attributes:
        begin: The first slot of each column, and the end, (k + 1,).
        column: The column of each slot, (s,).
        low, high: The smallest and the largest value in each cell, in single precision, (s,).
        tree: The tree of each leaf, (L,).
        value: Its value, (L,).
        side: The columns that bound its box, (L, w); −1: none.
        first, last: The cells of such a column that are in the box, (L, w).
        by_column: The sides in the order of their columns: their leaves, first and last cells, and
            their marks.
        by_column_begin: Where those of each column begin, and the end, (k + 1,).
    """

    begin: IntVector
    column: IntVector
    low: Vector
    high: Vector
    tree: IntVector
    value: Vector
    side: IntMatrix
    first: IntMatrix
    last: IntMatrix
    by_column: tuple[IntVector, IntVector, IntVector, Marks]
    by_column_begin: IntVector

    def at(self, Z: FloatMatrix) -> IntMatrix:
        """The cell of each value: (n, k) -> (n, k)."""
        at = np.empty(Z.shape, dtype=np.int64)
        for j, begin in enumerate(self.begin[:-1]):
            highs = self.high[begin : self.begin[j + 1] - 2]  # but for the last cell's, and the gap
            at[:, j] = np.searchsorted(highs, Z[:, j])
        return at

    def outside(self, at: IntMatrix) -> Marks:
        """The marks of the sides of each leaf's box that a point is beyond: (b, k) -> (b, L)."""
        where = np.where(self.side < 0, 0, self.side)
        beyond = (at[:, where] < self.first) | (at[:, where] > self.last)  # b x L x w
        return np.where(beyond, marks(np.arange(beyond.shape[2])), 0).sum(axis=2, dtype=np.int16)


@lru_cache(maxsize=4)
def cells_of(nodes: Nodes, k: int) -> Cells:
    """The cells of k columns that the trees' splits make."""
    inner = nodes.column >= 0
    cuts = [np.unique(nodes.threshold[nodes.column == j]) for j in range(k)]
    place = np.zeros(len(nodes.column), dtype=np.int64)
    for j, cut in enumerate(cuts):
        here = nodes.column == j
        place[here] = np.searchsorted(cut, nodes.threshold[here])
    begin = np.cumsum([0, *(len(cut) + 2 for cut in cuts)])
    up, down = np.float32(np.inf), np.float32(-np.inf)
    low = [np.concatenate([[down], np.nextafter(cut, up), [up]]) for cut in cuts]
    high = [np.concatenate([cut, [up, down]]) for cut in cuts]

    n_levels = len(nodes.levels)
    shape = len(nodes.column), n_levels
    side, first, last = np.full(shape, -1), np.zeros(shape, np.int64), np.full(shape, 2**31)
    tree = np.zeros(len(nodes.column), dtype=np.int64)
    tree[nodes.roots] = np.arange(len(nodes.roots))
    for level, here in enumerate(nodes.levels):
        here = here[inner[here]]
        met = side[here] == nodes.column[here, None]  # a column stands where it was met first
        where = np.where(met.any(axis=1), met.argmax(axis=1), level)
        for below, is_left in ((nodes.left[here], True), (nodes.right[here], False)):
            for table in (side, first, last):
                table[below] = table[here]
            tree[below] = tree[here]
            side[below, where] = nodes.column[here]
            if is_left:
                last[below, where] = np.minimum(last[below, where], place[here])
            else:
                first[below, where] = np.maximum(first[below, where], place[here] + 1)
    last = np.minimum(last, np.where(side < 0, 2**31, np.diff(begin)[side] - 2))
    leaf = np.flatnonzero(~inner)
    side, first, last = side[leaf], first[leaf], last[leaf]
    of_leaf, at_side = np.nonzero(side >= 0)
    order = np.argsort(side[of_leaf, at_side], kind="stable")
    of_leaf, at_side = of_leaf[order], at_side[order]
    return Cells(
        begin=begin,
        column=np.repeat(np.arange(k), np.diff(begin)),
        low=np.concatenate(low).astype(np.float64),
        high=np.concatenate(high).astype(np.float64),
        tree=tree[leaf],
        value=nodes.value[leaf],
        side=side,
        first=first,
        last=last,
        by_column=(
            of_leaf,
            first[of_leaf, at_side],
            last[of_leaf, at_side],
            marks(at_side),
        ),
        by_column_begin=np.searchsorted(side[of_leaf, at_side], np.arange(k + 1)),
    )
