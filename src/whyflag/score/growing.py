"""Marginal scores on sets of columns that grow: what a greedy search over features needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import final

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, Matrix


class GrowingMarginal(ABC):
    """The marginal scores of rows, each on a set of columns of its own, which grows."""

    @abstractmethod
    def added(self, groups: BoolMatrix) -> Matrix:
        """Marginal score of each row with each group of columns added: bool (p, d) -> (n, p).

        For a group that a row's set has already, the answer means nothing.
        """

    @abstractmethod
    def add(self, columns: BoolMatrix) -> None:
        """Add columns to each row's set: bool (n, d)."""


@final
class AskedMarginal(GrowingMarginal):
    """By asking for each set anew: right for any score, and slow.

    Args:
        marginal: Scores rows on sets of columns, as `Marginals.marginal`.
        X: The rows, (n, d).
        begin: The set that every row begins with, bool (d,).
    """

    def __init__(
        self, marginal: Callable[[Matrix, BoolMatrix], Matrix], X: Matrix, begin: BoolVector
    ) -> None:
        self._marginal, self._X = marginal, X
        self._keep = np.tile(begin, (len(X), 1))  # n x d

    def added(self, groups: BoolMatrix) -> Matrix:
        scores = np.zeros((len(self._X), len(groups)))
        sets, which = np.unique(self._keep, axis=0, return_inverse=True)
        for i, columns in enumerate(sets):
            rows = np.flatnonzero(which.ravel() == i)
            new = np.flatnonzero(~(groups & columns).any(axis=1))
            scores[np.ix_(rows, new)] = self._marginal(self._X[rows], groups[new] | columns)
        return scores

    def add(self, columns: BoolMatrix) -> None:
        self._keep |= columns


@final
class AdditiveMarginal(GrowingMarginal):
    """What a column adds does not depend on the others.

    Args:
        parts: What each column adds to each row, (n, d).
        begin: The set that every row begins with, bool (d,).
    """

    def __init__(self, parts: Matrix, begin: BoolVector) -> None:
        self._parts = parts
        self._total = parts @ begin.astype(np.float64)  # n

    def added(self, groups: BoolMatrix) -> Matrix:
        return self._total[:, None] + self._parts @ groups.T.astype(np.float64)

    def add(self, columns: BoolMatrix) -> None:
        self._total = self._total + (self._parts * columns).sum(axis=1)
