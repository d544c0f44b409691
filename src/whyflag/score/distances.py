"""Scores by the nearest of stored rows: distances to neighbours, local outlier factors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np

from whyflag.arrays import BoolMatrix, FloatMatrix, IntMatrix, IntVector, Matrix, Vector
from whyflag.batches import batches
from whyflag.compiled import compiled
from whyflag.score.ability import Ability
from whyflag.score.map import Map
from whyflag.score.nearest_loops import MOVES, POINTS, SUMS, nearest

TIE = 1e-9  # of a squared distance: rows that differ by less may be either's neighbour
Sums = Matrix | FloatMatrix
NO_INDEX = np.zeros(0, dtype=np.int64)
NO_MOVES = NO_INDEX, NO_INDEX, np.zeros(0)
NO_SUMS = np.zeros((0, 0), np.float32), NO_INDEX[:, None], np.zeros((0, 0), np.bool_)


class Judge(ABC):
    """What becomes of the distances to the k nearest rows."""

    which_matters: bool  # whether it makes a difference which of equally near rows they are

    @abstractmethod
    def __call__(self, distances: Matrix, which: IntMatrix) -> Vector:
        """Scores by distances in rising order, and which rows they lead to: (n, k), (n, k)."""


@final
@dataclass(frozen=True, eq=False)
class OutlierFactor(Judge):
    """How much denser the rows are around the k nearest than they are here.

    mean_t density_t / density(x),  1 / density(x) = mean_t max(|x − t|, reach_t) + 10⁻¹⁰

    Attributes:
        reach: The distance from each stored row to its own k-th neighbour, (m,).
        density: The local reachability density of each stored row, (m,).
    """

    reach: Vector
    density: Vector
    which_matters = True

    def __call__(self, distances: Matrix, which: IntMatrix) -> Vector:
        away = np.maximum(distances, self.reach[which]).mean(axis=1) + 1e-10  # as scikit-learn has
        return np.asarray((self.density[which] * away[:, None]).mean(axis=1))


@final
@dataclass(frozen=True, eq=False)
class Neighbours:
    """The score of a row by its k nearest among stored rows.

    Attributes:
        rows: The stored rows, (m, d).
        k: How many count.
        judge: What becomes of them.
        library: The library's own search: rows to distances and positions, (n, k) each. It is
            asked where two rows are equally near, and for all where nothing is compiled.
    """

    rows: Matrix
    k: int
    judge: Judge
    library: Callable[[Matrix], tuple[Matrix, IntMatrix]]

    def __call__(self, X: Matrix) -> Vector:
        """Scores: (n, d) -> (n,)."""
        fast = compiled(nearest)
        if fast is None:
            return self._by_library(X)
        return self._judged(*self._search(fast, POINTS, X), lambda some: X[some])

    def of_moves(self, X: Matrix, row: IntVector, column: IntVector, value: Vector) -> Vector:
        """Scores of rows of which one column has another value: (b, d), (q,) … -> (q,).

        They are the sooner had, the more moves of a row, and of a column of it, stand together.
        """

        def points(some: IntVector | slice) -> Matrix:
            moved = X[row[some]]
            moved[np.arange(len(moved)), column[some]] = value[some]
            return moved

        fast = compiled(nearest)
        if fast is None:
            parts = [self._by_library(points(some)) for some in batches(len(row), X.shape[1])]
            return np.concatenate([np.empty(0), *parts])
        return self._judged(*self._search(fast, MOVES, X, moves=(row, column, value)), points)

    def of_mixtures(
        self, x: Vector, r: Vector, keep: BoolMatrix, table: Sums, index: IntMatrix
    ) -> Vector:
        """Scores of rows with some columns of one row and the others of another: -> (c,).

        Args:
            x: The one row, (d,).
            r: The other, (d,).
            keep: The columns that are taken from x, bool (c, d).
            table: Parts of squared distances to all stored rows, of type `sums`, (h, m).
            index: The parts that the squared distances of each are the sum of, (c, g).
        """
        fast = compiled(nearest)
        if fast is None:
            found = _search_sums(table, index, self._n_searched)
        else:
            found = self._search(fast, SUMS, np.stack([x, r]), sums=(table, index, keep))
        return self._judged(*found, lambda some: np.where(keep[some], x, r))

    @property
    def sums(self) -> type[np.floating[Any]]:
        """What sums are added up in: loops know what rounding may change."""
        return np.float64 if compiled(nearest) is None else np.float32

    def _search(
        self,
        fast: Callable[..., tuple[Matrix, IntMatrix]],
        what: int,
        X: Matrix,
        moves: tuple[IntVector, IntVector, Vector] = NO_MOVES,
        sums: tuple[Sums, IntMatrix, BoolMatrix] = NO_SUMS,
    ) -> tuple[Matrix, IntMatrix]:
        # Loops are compiled anew for arrays that are laid out in another way.
        given = (np.ascontiguousarray(each) for each in (X, *self._stored, *moves, *sums))
        return fast(what, *given, self._n_searched)

    def _judged(
        self, squares: Matrix, which: IntMatrix, points: Callable[[IntVector], Matrix]
    ) -> Vector:
        """Scores by the nearest rows and the next one: (c, k + 1), (c, k + 1) -> (c,)."""
        scores = self.judge(np.sqrt(squares[:, : self.k]), which[:, : self.k])
        last, further = squares[:, self.k - 1], squares[:, -1]
        sure = np.isfinite(last)
        if self._n_searched > self.k and self.judge.which_matters:
            with np.errstate(invalid="ignore"):
                sure &= further - last > TIE * further
        unsure = np.flatnonzero(~sure)
        if len(unsure):
            scores[unsure] = self._by_library(points(unsure))
        return scores

    @cached_property
    def columns(self) -> Matrix:
        """The stored rows column by column, (d, m)."""
        return np.ascontiguousarray(self.rows.T)

    @cached_property
    def _stored(self) -> tuple[Matrix, FloatMatrix, Vector, Vector]:
        """The stored rows; in single precision around their middle; it, and how far they go."""
        rows = np.array(self.rows, order="C")
        with np.errstate(over="ignore"):
            center = rows.mean(axis=0)
            columns = np.ascontiguousarray((rows - center).T, dtype=np.float32)
        return rows, columns, center, np.abs(columns).max(axis=1).astype(np.float64)

    @property
    def _n_searched(self) -> int:
        """One more than counts, which shows ties, if there are as many."""
        return min(self.k + 1, len(self.rows))

    def _by_library(self, X: Matrix) -> Vector:
        return self.judge(*self.library(X))


@final
@dataclass(frozen=True, eq=False)
class Distances(Ability):
    """e(x) is a function of the distances from z to the nearest of stored rows.

    Attributes:
        neighbours: The score of z.
        sources: The column of x that each column of z is made of, (k,).
        steps: The maps from x to z, one after another.
    """

    meaning: ClassVar[str] = (
        "a score by the distances to stored rows, such as a local outlier factor"
    )

    neighbours: Neighbours
    sources: IntVector
    steps: tuple[Map, ...] = ()

    def after(self, step: Map) -> Distances | None:
        """What is left if each column that comes out is made of one that goes in."""
        if step.sources is None:
            return None
        return replace(self, sources=step.sources[self.sources], steps=(step, *self.steps))

    def behind(self, X: Matrix) -> Matrix:
        """Rows behind the maps: (n, d) -> (n, k)."""
        for step in self.steps:
            X = step(X)
        return X

    def of_moves(
        self, X: Matrix, row: IntVector, column: IntVector, value: Vector
    ) -> Vector | None:
        """Scores of rows of which one column has another value: (b, d), (q,) … -> (q,).

        The moves are in the order of their rows, and of their columns. None if a column of x makes
        no column of z, or several.
        """
        d = X.shape[1]
        if not np.array_equal(np.sort(self.sources), np.arange(d)):
            return None
        z, place = self.behind(X), np.argsort(self.sources)[column]
        if self.steps:
            # Columns go through the maps each by itself: one row takes moves of all of them.
            new = np.append(True, (np.diff(row) != 0) | (np.diff(column) != 0))[: len(row)]
            begin = np.flatnonzero(new)
            nth = np.arange(len(row)) - begin[np.cumsum(new) - 1]  # of the moves of a column
            moved = np.repeat(X[None], nth.max(initial=0) + 1, axis=0)
            moved[nth, row, column] = value
            value = self.behind(moved.reshape(-1, d)).reshape(*moved.shape)[nth, row, place]
        return self.neighbours.of_moves(z, row, place, value)


def _search_sums(table: Sums, index: IntMatrix, k: int) -> tuple[Matrix, IntMatrix]:
    """Squared distances to the k nearest rows, rising, and which they are: (c, k), (c, k)."""
    squares, which = np.empty((len(index), k)), np.empty((len(index), k), dtype=np.int64)
    for some in batches(len(index), table.shape[1]):
        far = table[index[some, 0]]
        for rows in index[some, 1:].T:
            far += table[rows]
        nearest = np.argpartition(far, k - 1, axis=1)[:, :k]
        near = np.take_along_axis(far, nearest, axis=1)
        rising = near.argsort(axis=1, kind="stable")
        squares[some] = np.take_along_axis(near, rising, axis=1)
        which[some] = np.take_along_axis(nearest, rising, axis=1)
    return squares, which
