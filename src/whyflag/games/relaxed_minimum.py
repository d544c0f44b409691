"""v̲: absent features go to an average of p + 1 local minima (equations 4 and 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from whyflag.arrays import BoolMatrix, IntVector, Matrix, check_coalitions
from whyflag.domain import Domain
from whyflag.games.base import CharacteristicFunction, Game, start_count, tiles
from whyflag.minimise import minimise
from whyflag.score import Score, evaluate


@final
@dataclass(frozen=True)
class RelaxedMinimum(CharacteristicFunction):
    """v̲(S; x) = e(z), where z_S = x_S, and elsewhere z is the average of x̂*(∅) and x̂*({i}), i ∈ S.

    x̂* is that of `LocalMinimum`, so p + 1 minimisations serve every coalition. (The paper's
    equation 4 as printed adds x̂*(∅) once for each member of S; its text has it once.)

    Args:
        score: The anomaly score e.
        domain: Scales, bounds and players.
        gamma: Weight of the distance, γ. The paper uses 0.01.
    """

    score: Score
    domain: Domain
    gamma: float = 0.01

    def _bind(self, X: Matrix) -> Game:
        return _RelaxedGame(self.score, self.domain, X, self.gamma)


@final
class _RelaxedGame(Game):
    def __init__(self, score: Score, domain: Domain, X: Matrix, gamma: float) -> None:
        n, d = X.shape
        p = domain.n_players
        # The empty set and each singleton: one batch serves every coalition.
        alone = np.vstack([np.zeros((1, p), np.bool_), np.eye(p, dtype=np.bool_)])
        keep = np.tile(domain.expand(alone), (n, 1))  # n(p + 1) x d
        minimum = minimise(score, np.repeat(X, p + 1, axis=0), keep, domain, gamma=gamma)
        self._score = score
        self._domain = domain
        self._X = X
        self._minima = minimum.point.reshape(n, p + 1, d)
        self.n_rows, self.n_players = n, p
        self.n_evaluations = start_count(n)
        self.n_evaluations += minimum.n_evaluations.reshape(n, p + 1).sum(axis=1)
        self.reference = self._minima[:, 0]
        self.converged = np.all(minimum.converged.reshape(n, p + 1), axis=1)

    def __call__(self, coalitions: BoolMatrix, rows: IntVector | None = None) -> Matrix:
        z = check_coalitions(coalitions, self.n_players)
        chosen = self._chosen(rows)
        keep = self._domain.expand(z) | self._domain.fixed  # m x d
        # The empty set takes part in every average; a player that cannot move, in none.
        movable = (self._domain.membership & ~self._domain.fixed).any(axis=1)  # p
        part = np.column_stack([np.ones(len(z)), z & movable])  # m x (p + 1)
        part /= part.sum(axis=1, keepdims=True)
        values = np.empty((len(chosen), len(z)))
        for tile, some in tiles(len(chosen), len(z), self._domain.n_columns):
            these = chosen[tile]
            average = part[some] @ self._minima[these]  # r x c x d
            points = np.where(keep[some], self._X[these, None, :], average)
            shape = points.shape[:2]
            flat = points.reshape(-1, self._domain.n_columns)
            values[tile, some] = evaluate(self._score, flat).reshape(shape)
            self.n_evaluations[these] += shape[1]
        return values
