"""Minimisation over a sum of trees: exact minima along the columns, from the splits themselves.

The splits cut each column into cells, in which the sum is constant: of a cell only the value that
is nearest to x matters. A leaf is reached from within its box. The leaves whose box a point is
beyond in one column only are those that a move along this column reaches, so they give the sum in
all cells of all columns at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from whyflag.arrays import BoolMatrix, IntMatrix, IntVector, Matrix, Vector
from whyflag.batches import batches
from whyflag.compiled import compiled
from whyflag.minimise import line_loops
from whyflag.minimise.cells import BITS, COUNT, Cells, Marks, cells_of
from whyflag.minimise.moves import Moves
from whyflag.minimise.problem import Problems, rounding
from whyflag.nearness import distance
from whyflag.score import Trees

GAIN = 1e-6  # of the loss: less is not worth a pass through the leaves
HAIR = 4 * float(np.finfo(np.float64).eps)  # of a value: what rounding may take it by


def descend_along_columns(problems: Problems, trees: Trees, max_moves: int) -> Moves:
    """Move the column that gains most to the lowest point along it, as long as one gains."""
    lines = _Lines.of(problems, trees)
    at = lines.cells.at(trees(problems.points(problems.start)))
    lines.enter_bounds(at)
    outside = lines.outside(at)
    moving = np.arange(len(problems))
    for _ in range(max_moves):
        column, cell = lines.best(at, outside, moving)
        gains = column >= 0
        moving, column, cell = moving[gains], column[gains], cell[gains]
        if len(moving) == 0:
            break
        lines.go(outside, at, moving, column, cell)
    u = lines.moves(at)
    loss = problems.loss(u)
    converged = np.isfinite(loss)
    converged[moving] = False
    return Moves(u, loss, converged, np.ones(len(u), dtype=np.int64))


@final
@dataclass(frozen=True, eq=False)
class _Lines:
    """What moves along columns lead to, and what they cost, in the columns of the trees."""

    problems: Problems
    trees: Trees
    cells: Cells
    free: BoolMatrix  # b x k
    row: IntVector  # b: problems of one row share what has r rows
    own: IntMatrix  # r x k: the cell in which x is, or enters the bounds
    u: Matrix  # r x s: the shortest move to each cell
    cost: Matrix  # r x s: what it costs; infinite: the cell is out of bounds
    weight: Vector  # b: times this

    @classmethod
    def of(cls, problems: Problems, trees: Trees) -> _Lines:
        cells = cells_of(trees.nodes, len(trees.sources))
        first, row = problems.rows
        rows = problems.holding_nothing(first)
        own = cells.at(trees(rows.points(rows.entry)))
        u, can = _shortest(rows, trees, cells)
        entered = np.arange(len(rows))[:, None], cells.begin[:-1] + own
        u[entered], can[entered] = rows.entry[:, trees.sources], True
        cost, weight = distance(u), problems.penalty
        if not problems.gamma:  # to be out of bounds costs all the same
            cost, weight = np.zeros_like(u), np.ones(len(problems))
        if problems.leash.any():
            entry = rows.entry[:, trees.sources[cells.column]]
            leash = problems.leash[:, None] * ((u - entry) ** 2)[row]
            u, can, own = u[row], can[row], own[row]
            cost = problems.penalty[:, None] * cost[row] + leash
            weight, row = np.ones(len(problems)), np.arange(len(problems))
        free = problems.free[:, trees.sources] & (trees.slopes != 0)
        cost = np.ascontiguousarray(np.where(can, cost, np.inf))  # laid out in one way: see `best`
        return cls(problems, trees, cells, free, row, own, u, cost, weight)

    def enter_bounds(self, at: IntMatrix) -> None:
        """From cells that are out of bounds go to those in which x is, or enters the bounds."""
        out_of_bounds = ~np.isfinite(self.cost[self.row[:, None], self.cells.begin[:-1] + at])
        np.copyto(at, self.own[self.row], where=out_of_bounds & self.free)

    def moves(self, at: IntMatrix) -> Matrix:
        """The moves to cells: (b, k) -> (b, d)."""
        u = self.problems.entry.copy()
        there = self.u[self.row[:, None], self.cells.begin[:-1] + at]
        u[:, self.trees.sources] = np.where(self.free, there, u[:, self.trees.sources])
        return u

    def outside(self, at: IntMatrix) -> Marks:
        """As `Cells.outside`: (b, k) -> (b, L)."""
        cells, fast = self.cells, compiled(line_loops.outside)
        if fast is not None:
            sides = cells.side, cells.first, cells.last
            found: Marks = fast(at, *sides, cells.by_column_begin, *cells.by_column)
            return found
        parts = [cells.outside(at[some]) for some in batches(len(at), 2 * cells.side.size)]
        return np.concatenate(parts)

    def go(
        self,
        outside: Marks,
        at: IntMatrix,
        which: IntVector,
        column: IntVector,
        cell: IntVector,
    ) -> None:
        """Move a column of some problems to another cell, and count again what is outside."""
        move = compiled(line_loops.go) or _go
        by_column = self.cells.by_column_begin, *self.cells.by_column
        move(outside, at, which, column, cell, *by_column)

    def best(self, at: IntMatrix, outside: Marks, which: IntVector) -> tuple[IntVector, IntVector]:
        """The column and the cell of the lowest point along any column; −1: none is lower."""
        # Loops are compiled anew for arrays that are laid out in another way.
        cells, fast = self.cells, compiled(line_loops.best)
        if fast is not None:
            link = self.trees.link
            power = (0.0, 0.0) if link is None else (link.c, link.a)
            facts = np.array([len(self.trees.nodes.roots), self.problems.unit, *power, GAIN])
            lines = self.free, self.row, self.weight, self.cost, self.own
            boxes = cells.begin, cells.tree, cells.value, cells.side, cells.first, cells.last
            found: tuple[IntVector, IntVector] = fast(at, outside, which, *lines, *boxes, facts)
            return found
        parts = [
            self._best(at[which[some]], outside[which[some]], which[some])
            for some in batches(len(which), 8 * len(cells.column))
        ]
        columns, within = zip(*parts, strict=True)
        return np.concatenate(columns), np.concatenate(within)

    def _best(self, at: IntMatrix, outside: Marks, which: IntVector) -> tuple[IntVector, IntVector]:
        cells, free = self.cells, self.free[which]
        i, leaf = np.nonzero(outside == 0)
        here = np.zeros((len(at), len(self.trees.nodes.roots)))  # of the leaf of each tree
        here[i, cells.tree[leaf]] = cells.value[leaf]
        i, leaf = np.nonzero(outside & COUNT == 1)
        w = outside[i, leaf] >> BITS
        column = cells.side[leaf, w]
        i, leaf, w, column = (each[free[i, column]] for each in (i, leaf, w, column))
        more = cells.value[leaf] - here[i, cells.tree[leaf]]
        size = len(cells.column)
        slot = i * size + cells.begin[column]
        changes = np.bincount(slot + cells.first[leaf, w], more, minlength=len(at) * size)
        changes -= np.bincount(slot + cells.last[leaf, w] + 1, more, minlength=len(at) * size)
        sums = here.sum(axis=1)[:, None] + changes.reshape(len(at), size).cumsum(axis=1)  # b x s
        cost = self.weight[which, None] * self.cost[self.row[which]]  # b x s
        now = np.arange(len(at))[:, None], cells.begin[:-1] + at
        paid = np.where(free, cost[now], 0.0)  # b x k
        cost += (paid.sum(axis=1)[:, None] - paid)[:, cells.column]
        loss = self._level(sums) + np.where(free[:, cells.column], cost, np.inf)
        before = self._level(here.sum(axis=1)) + paid.sum(axis=1)
        gain = rounding(before, GAIN)
        least = loss.min(axis=1)
        # Of those that are equally low, the first column, and in it the first cell outward from x.
        equal = loss <= (least + gain)[:, None]
        column = cells.column[equal.argmax(axis=1)]
        equal &= cells.column == column[:, None]
        away = cells.begin[column] + self.own[self.row[which], column]
        away = away[:, None] - np.arange(size)  # b x s
        away = np.where(away >= 0, away, size - away)
        slot = np.where(equal, away, 2 * size).argmin(axis=1)
        return np.where(least < before - gain, column, -1), slot - cells.begin[column]

    def _level(self, sums: Matrix) -> Matrix:
        link = self.trees.link
        return (sums if link is None else link(sums)) / self.problems.unit


def _go(
    outside: Marks,
    at: IntMatrix,
    which: IntVector,
    column: IntVector,
    cell: IntVector,
    begin: IntVector,
    leaf: IntVector,
    first: IntVector,
    last: IntVector,
    mark: Marks,
) -> None:
    for i, j, there in zip(which, column, cell, strict=True):
        some = slice(begin[j], begin[j + 1])  # a leaf is there once
        beyond = [(where < first[some]) | (where > last[some]) for where in (at[i, j], there)]
        outside[i, leaf[some]] += mark[some] * (beyond[1].astype(np.int16) - beyond[0])
        at[i, j] = there


def _shortest(rows: Problems, trees: Trees, cells: Cells) -> tuple[Matrix, BoolMatrix]:
    """The shortest move to each cell, and whether there is one within bounds: (r, s), (r, s)."""
    source = trees.sources[cells.column]  # s
    scale, lower, upper = (
        each[..., source] for each in (rows.domain.scale, rows.lower, rows.upper)
    )
    z = trees.behind(rows.X)[:, cells.column]  # r x s
    slope = scale * trees.slopes[cells.column]
    with np.errstate(divide="ignore", invalid="ignore"):  # of columns without a slope
        ends = [(end - z) / slope for end in (cells.low, cells.high)]
    # Where x is so large that rounding would lead beside a cell, keep off its ends.
    hair = HAIR * np.abs(rows.X[:, source]) / scale
    low = np.maximum(np.minimum(*ends) + hair, lower)
    high = np.minimum(np.maximum(*ends) - hair, upper)
    can = (low <= high) & (cells.low <= cells.high)
    u = np.clip(rows.entry[:, source], low, high)
    # A binary column has two values.
    at_lower, at_upper = can & (low <= lower), can & (high >= upper)
    binary = rows.domain.binary[source]
    u = np.where(binary, np.where(at_lower, lower, upper), u)
    return u, np.where(binary, at_lower | at_upper, can)
