"""What "absent" means: characteristic functions v(S; x), bound to many rows at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import final

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix, Vector, check_rows
from whyflag.batches import CALL, WORK, batch_size
from whyflag.domain import Domain
from whyflag.score import Score

FEWEST = 2**12  # points in a call: some detectors take 10 ms for a call of any size


class Game(ABC):
    """The games of many rows, which share their players.

    Attributes:
        n_rows: Number of rows, n.
        n_players: Number of players, p.
        n_evaluations: Score evaluations spent on each row so far, (n,).
        reference: The values of each row with no player present, x*(∅), (n, d), where the game
            has one such row.
        ended: How the minimisations behind each row ended, (n,), where there are any: the worst
            `Outcome` of each row.
        fallback: Rows whose values are those of another, slower definition, because this one does
            not hold there, (n,), where that can be.
    """

    n_rows: int
    n_players: int
    n_evaluations: IntVector
    reference: Matrix | None = None
    ended: IntVector | None = None
    fallback: BoolVector | None = None

    @abstractmethod
    def __call__(self, coalitions: BoolMatrix, rows: IntVector | None = None) -> Matrix:
        """Value of each coalition in each row's game: bool (m, p) -> (n, m).

        With `rows`, the positions of some rows, theirs only.
        """

    def known(self) -> tuple[Matrix, Game | None] | None:
        """This game as a sum: the Shapley values of one that is known, (n, p), and the rest.

        The rest is None where nothing is left. None: nothing is known.
        """
        return None

    def _chosen(self, rows: IntVector | None) -> IntVector:
        return np.arange(self.n_rows) if rows is None else rows


class CharacteristicFunction(ABC):
    """A definition of v(S; x), the score of x with only the players S present; its settings."""

    @final
    def bind(self, score: Score, domain: Domain, X: Matrix) -> Game:
        """Do the work that each row needs once, for all rows: (n, d) -> n games."""
        return self._bind(score, domain, check_rows(X, domain.n_columns, columns=domain.columns))

    @abstractmethod
    def _bind(self, score: Score, domain: Domain, X: Matrix) -> Game:
        """The same for rows that are checked."""


def tiles(n: int, m: int, d: int, points: int = 1) -> Iterator[tuple[slice, slice]]:
    """Cut n rows x m coalitions into tiles; each pair takes some points of d numbers."""
    area = max(1, batch_size(d, CALL, FEWEST) // points)
    width = max(1, min(m, area))
    height = max(1, area // width)
    for top in range(0, n, height):
        for left in range(0, m, width):
            yield slice(top, min(top + height, n)), slice(left, min(left + width, m))


def room(d: int, points: int = 1) -> Vector:
    """An array for the points of one tile after another, as `tiles` cuts them.

    It is larger than they need. glibc keeps freed memory for the next array up to twice the
    largest array so far, and what a score makes of its points is several times their size: with
    less, each tile would wait for new pages, longer than for its scores.
    """
    return np.empty(max(WORK, max(batch_size(d, CALL, FEWEST), points) * d))


def start_count(n: int) -> IntVector:
    """No evaluations yet, for each of n rows."""
    return np.zeros(n, dtype=np.int64)
