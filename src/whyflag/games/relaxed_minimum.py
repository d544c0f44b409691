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
        minima = minimum.point.reshape(n, p + 1, d)
        self._minima = minima.transpose(2, 0, 1).copy()  # d x n x (p + 1)
        self.n_rows, self.n_players = n, p
        self.n_evaluations = start_count(n)
        self.n_evaluations += minimum.n_evaluations.reshape(n, p + 1).sum(axis=1)
        self.reference = minima[:, 0].copy()
        self.converged = np.all(minimum.converged.reshape(n, p + 1), axis=1)

    def __call__(self, coalitions: BoolMatrix, rows: IntVector | None = None) -> Matrix:
        z = check_coalitions(coalitions, self.n_players)
        chosen = self._chosen(rows)
        d = self._domain.n_columns
        keep = (self._domain.expand(z) | self._domain.fixed).T  # d x m
        present, absent = keep.astype(np.float64)[:, None], (~keep).astype(np.float64)[:, None]
        # The empty set takes part in every average; a player that cannot move, in none.
        movable = (self._domain.membership & ~self._domain.fixed).any(axis=1)  # p
        part = np.vstack([np.ones(len(z)), (z & movable).T])  # (p + 1) x m
        part /= part.sum(axis=0)
        values = np.empty((len(chosen), len(z)))
        for tile, some in tiles(len(chosen), len(z), d):
            these = chosen[tile]
            r, c = len(these), some.stop - some.start
            minima = self._minima[:, these].reshape(d * r, -1)
            points = (minima @ part[:, some]).reshape(d, r, c)
            # Products are faster than a branch for each value, and as exact: 0·a + 1·x = x.
            points *= absent[:, :, some]
            points += self._X[these].T[:, :, None] * present[:, :, some]
            values[tile, some] = evaluate(self._score, points.reshape(d, -1).T).reshape(r, c)
            self.n_evaluations[these] += c
        return values
