"""How 2^p terms are summed: solvers that turn a game into Shapley values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, final

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix, Vector


class Playable(Protocol):
    """What a solver needs to know of a game: a value for each coalition, for many rows at once.

    One that is a sum may name its `parts`, games like this one; and one of which the Shapley values
    are `known` in part may say so.
    """

    n_rows: int
    n_players: int

    def __call__(self, coalitions: BoolMatrix, rows: IntVector | None = None) -> Matrix:
        """Value of each coalition for each row, or for `rows`: bool (m, p) -> (n, m)."""


@final
@dataclass(frozen=True)
class ShapleyValues:
    """Shapley values of many games; each row of `values` sums to full − empty."""

    values: Matrix  # n x p
    empty: Vector  # n: v(∅)
    full: Vector  # n: v(D)
    standard_errors: Matrix  # n x p: zero where every coalition was counted, inf: not known
    n_coalitions: IntVector  # n: asked of the game, or of each of its parts
    converged: BoolVector  # n: False where the precision asked for was not reached


class ShapleySolver(ABC):
    """A way to compute or estimate Shapley values."""

    @abstractmethod
    def solve(self, game: Playable) -> ShapleyValues:
        """Divide the gain of each row's game among its players."""


def divide(game: Playable, solver: ShapleySolver) -> ShapleyValues:
    """The Shapley values that the game knows itself, and those of the rest by the solver."""
    known = getattr(game, "known", lambda: None)()
    if known is None:
        return solver.solve(game)
    values, rest = known
    if rest is not None:
        left = solver.solve(rest)
        full = left.full + values.sum(axis=1)
        return replace(left, values=close_gap(values + left.values, full - left.empty), full=full)
    ends = np.array([[False], [True]]).repeat(game.n_players, axis=1)
    empty, full = game(ends).T
    return ShapleyValues(
        values=close_gap(values, full - empty),
        empty=empty,
        full=full,
        standard_errors=np.zeros_like(values),
        n_coalitions=np.full(game.n_rows, 2),
        converged=np.ones(game.n_rows, dtype=np.bool_),
    )


def parts_of(game: Playable) -> Sequence[Playable]:
    """Games that sum to this one: its `parts` where it has any, else the game itself."""
    parts: Sequence[Playable] = getattr(game, "parts", (game,))
    return parts


def close_gap(values: Matrix, gain: Vector) -> Matrix:
    """Spread what rounding left between the values' sum and the gain, so that it is none."""
    return values + ((gain - values.sum(axis=1)) / values.shape[1])[:, None]
