"""Games in which every coalition is a minimisation of its own."""

from __future__ import annotations

from typing import final

import numpy as np

from whyflag.arrays import BoolMatrix, IntVector, Matrix, check_coalitions
from whyflag.domain import Domain
from whyflag.games.base import Game, start_count, tiles
from whyflag.minimise import Limits, Shape, minimise
from whyflag.outcome import Outcome
from whyflag.score import Score, evaluate


@final
class CoalitionMinimum(Game):
    """v(S; x) = e(y), y the minimum of the score near x with the columns of S kept."""

    reference: Matrix
    ended: IntVector

    def __init__(
        self,
        score: Score,
        domain: Domain,
        X: Matrix,
        *,
        gamma: float = 0.0,
        radius: float | None = None,
        shape: Shape = "box",
        limits: Limits,
    ) -> None:
        self._score = score
        self._domain = domain
        self._X = X
        self._gamma, self._radius, self._shape, self._limits = gamma, radius, shape, limits
        self.n_rows, self.n_players = len(X), domain.n_players
        self.n_evaluations = start_count(self.n_rows)
        self.ended = np.full(self.n_rows, Outcome.ARRIVED)
        none = np.zeros((self.n_rows, domain.n_columns), dtype=np.bool_)
        self.reference = self._minimise(np.arange(self.n_rows), none, repeats=1)

    def __call__(self, coalitions: BoolMatrix, rows: IntVector | None = None) -> Matrix:
        z = check_coalitions(coalitions, self.n_players)
        chosen = self._chosen(rows)
        keep = self._domain.expand(z)  # m x d
        values = np.empty((len(chosen), len(z)))
        for tile, some in tiles(len(chosen), len(z), self._domain.n_columns):
            these = chosen[tile]
            height, width = len(these), some.stop - some.start
            points = self._minimise(these, np.tile(keep[some], (height, 1)), repeats=width)
            values[tile, some] = evaluate(self._score, points).reshape(height, width)
            self.n_evaluations[these] += width
        return values

    def _minimise(self, rows: IntVector, keep: BoolMatrix, repeats: int) -> Matrix:
        X = np.repeat(self._X[rows], repeats, axis=0)
        minimum = minimise(
            self._score,
            X,
            keep,
            self._domain,
            gamma=self._gamma,
            radius=self._radius,
            shape=self._shape,
            limits=self._limits,
        )
        self.n_evaluations[rows] += minimum.n_evaluations.reshape(-1, repeats).sum(axis=1)
        ended = minimum.ended.reshape(-1, repeats).max(axis=1)
        self.ended[rows] = np.maximum(self.ended[rows], ended)
        return minimum.point
