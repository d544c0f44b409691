"""Scores by the nearest of stored rows: distances to neighbours, local outlier factors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, final

import numpy as np

from whyflag.arrays import IntMatrix, IntVector, Matrix, Vector
from whyflag.batches import batches
from whyflag.compiled import compiled
from whyflag.score.ability import Ability
from whyflag.score.map import Map

TIE = 1e-9  # of a squared distance: rows that differ by less may be either's neighbour
NO_ROWS, NO_INDEX = np.zeros((0, 0)), np.zeros((0, 0), dtype=np.int64)


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
        fast = compiled(_search_loops)
        if fast is None:
            return self._by_library(X)
        X = np.ascontiguousarray(X)
        squares, which = fast(X, self.columns, NO_INDEX, self._n_searched)
        return self._judged(squares, which, lambda some: X[some])

    def of_sums(
        self, table: Matrix, index: IntMatrix, points: Callable[[IntVector], Matrix]
    ) -> Vector:
        """Scores of points whose squared distances are sums of rows of a table.

        Args:
            table: Parts of squared distances to all stored rows, (h, m).
            index: The parts that each point is the sum of, (c, g).
            points: Some of the points, (c,) -> (c, d): where rows are equally near.
        """
        fast = compiled(_search_loops)
        if fast is None:
            found = _search_sums(table, index, self._n_searched)
        else:
            found = fast(NO_ROWS, table, index, self._n_searched)
        return self._judged(*found, points)

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


def _search_sums(table: Matrix, index: IntMatrix, k: int) -> tuple[Matrix, IntMatrix]:
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


def _search_loops(X: Matrix, table: Matrix, index: IntMatrix, k: int) -> tuple[Matrix, IntMatrix]:
    """The same by loops; of rows X, (n, d), whose table are the columns, where no index is given.

    All rows are looked at: in more than a few columns trees of rows save little. The rows are cut
    into 64 parts, one row of each stands with those of the others at its place: of these the
    nearest is known for every 8, and for all 64. The k-th nearest of the latter is a bound that
    few rows keep, and only they are compared with those that were found.
    """
    m = table.shape[1]
    by_index = index.shape[1] > 0
    n, d = index.shape if by_index else X.shape
    top = (m + 63) // 64
    part = 8 * top
    far = np.full(8 * part, np.inf)
    of_8, of_64, least = np.empty(part), np.empty(top), np.empty(k)
    squares, which = np.full((n, k), np.inf), np.zeros((n, k), dtype=np.int64)
    for i in range(n):
        far[:m] = 0.0
        j = d % 2
        if by_index:
            if j == 1:
                far[:m] = table[index[i, 0]]
            while j < d:
                one, other = table[index[i, j]], table[index[i, j + 1]]
                for t in range(m):
                    far[t] += one[t] + other[t]
                j += 2
        else:
            if j == 1:
                a, one = X[i, 0], table[0]
                for t in range(m):
                    far[t] = (a - one[t]) * (a - one[t])
            while j < d:
                a, b, one, other = X[i, j], X[i, j + 1], table[j], table[j + 1]
                for t in range(m):
                    far[t] += (a - one[t]) * (a - one[t]) + (b - other[t]) * (b - other[t])
                j += 2
        of_8[:] = far[:part]
        for q in range(1, 8):
            for t in range(part):
                v = far[q * part + t]
                of_8[t] = v if v < of_8[t] else of_8[t]
        of_64[:] = of_8[:top]
        for q in range(1, 8):
            for t in range(top):
                v = of_8[q * top + t]
                of_64[t] = v if v < of_64[t] else of_64[t]
        bound = np.inf
        if top >= k:
            least[:] = np.inf
            for t in range(top):
                v = of_64[t]
                if v < least[k - 1]:
                    s = k - 1
                    while s > 0 and least[s - 1] > v:
                        least[s] = least[s - 1]
                        s -= 1
                    least[s] = v
            bound = least[k - 1]
        near, place = squares[i], which[i]
        for t in range(part):
            if of_8[t] <= bound:
                for q in range(8):
                    v = far[q * part + t]
                    if v <= bound and v < near[k - 1]:
                        s = k - 1
                        while s > 0 and near[s - 1] > v:
                            near[s], place[s] = near[s - 1], place[s - 1]
                            s -= 1
                        near[s], place[s] = v, q * part + t
    return squares, which
