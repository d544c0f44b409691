"""Shapley values by full enumeration."""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial
from typing import final

import numpy as np

from whyflag.batches import batches
from whyflag.checks import check_whole
from whyflag.shapley.base import Playable, ShapleySolver, ShapleyValues, close_gap
from whyflag.shapley.coalitions import numbered


@final
@dataclass(frozen=True)
class Exact(ShapleySolver):
    """φ_i = Σ_S |S|! (p − |S| − 1)! / p! · (v(S ∪ i) − v(S)), over all 2^p coalitions (equation 1).

    >>> class Product:                        # worth 1 when both players are in
    ...     n_rows, n_players = 1, 2
    ...     def __call__(self, coalitions, rows=None):
    ...         return coalitions.all(axis=1)[None, :].astype(float)
    >>> Exact().solve(Product()).values
    array([[0.5, 0.5]])
    """

    max_players: int = 20

    def __post_init__(self) -> None:
        check_whole("max_players", self.max_players, at_least=1)

    def solve(self, game: Playable) -> ShapleyValues:
        """Divide the gain of each row's game among its players."""
        p = game.n_players
        if p > self.max_players:
            raise ValueError(
                f"Exact enumeration of {p} players takes 2^{p} coalitions, more than "
                f"2^{self.max_players}. Use Kernel(), or raise `max_players`."
            )
        joins = np.array([factorial(s) * factorial(p - s - 1) / factorial(p) for s in range(p)])
        values = np.zeros((game.n_rows, p))
        total = 2**p
        empty = full = np.zeros(game.n_rows)
        for some in batches(total, 4 * (p + game.n_rows)):
            coalitions = numbered(some.start, some.stop, p)  # m x p
            worth = game(coalitions)  # n x m
            size = coalitions.sum(axis=1)[:, None]
            # v(S) enters with a plus for each member of S and with a minus for each other player.
            weight = np.where(coalitions, joins[size - 1], -joins[np.minimum(size, p - 1)])  # m x p
            values += worth @ weight
            if some.start == 0:
                empty = worth[:, 0]
            if some.stop == total:
                full = worth[:, -1]
        return ShapleyValues(
            values=close_gap(values, full - empty),
            empty=empty,
            full=full,
            standard_errors=np.zeros_like(values),
            n_coalitions=np.full(game.n_rows, total),
            converged=np.ones(game.n_rows, dtype=np.bool_),
        )
