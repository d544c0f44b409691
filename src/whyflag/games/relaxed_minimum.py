"""v̲: absent features go to an average of p + 1 local minima (equations 4 and 5)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import final

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix, check_coalitions
from whyflag.checks import check_kind, check_number
from whyflag.domain import Domain
from whyflag.games.base import CharacteristicFunction, Game, room, start_count, tiles
from whyflag.games.coalition_minimum import CoalitionMinimum
from whyflag.minimise import GAMMA, LIMITS, Limits, minimise
from whyflag.outcome import Outcome
from whyflag.score import Score, evaluate

BROKEN = 0.5  # of the whole gain, if that is worth explaining: v̲ may exceed e(x) by less
MOST_PLAYERS = 32  # for which a broken row gets v̂
DRAWN = 128  # coalitions that are looked at; of more players, single ones and all but one too


@final
@dataclass(frozen=True)
class RelaxedMinimum(CharacteristicFunction):
    """Absent features take an average of p + 1 minima of the score near x: v̲.

    v̲(S; x) = e(z), where z_S = x_S, and elsewhere z is the average of x̂*(∅) and x̂*({i}), i ∈ S.
    p + 1 minimisations serve every coalition. Each x̂* minimises what that of `LocalMinimum` does,
    in the nearest basin that is normal: an average of points from several basins lies in none.
    (The paper's equation 4 as printed adds x̂*(∅) once for each member of S; its text has it once.)

    An average can break a strong correlation between columns. A v̲(S) above e(x) can not
    be a minimum, because x itself has the lower score. A row in which some coalition has one that
    is far above gets v̂, the values of `LocalMinimum`, and `fallback` says so. With more than 32
    players v̂ takes many seconds a row: such a row keeps its v̲, and has not `converged`.

    Args:
        gamma: Weight of the distance from x, γ, in units of the score. The paper uses 0.01.
        limits: What a minimisation may spend.
    """

    gamma: float = GAMMA
    limits: Limits = field(default=LIMITS, repr=False)

    def __post_init__(self) -> None:
        check_number("gamma", self.gamma, at_least=0)
        check_kind("limits", self.limits, Limits, "Limits(...)")

    def _bind(self, score: Score, domain: Domain, X: Matrix) -> Game:
        relaxed = _RelaxedGame(score, domain, X, self)
        if not relaxed.fallback.any():
            return relaxed
        if domain.n_players > MOST_PLAYERS:
            relaxed.doubt()
            return relaxed
        broken = X[relaxed.fallback]
        exact = CoalitionMinimum(score, domain, broken, gamma=self.gamma, limits=self.limits)
        return _SoundGame(relaxed, exact)


@final
class _SoundGame(Game):
    """v̲ where it holds, v̂ in the rows where it is broken."""

    reference: Matrix
    ended: IntVector
    fallback: BoolVector

    def __init__(self, relaxed: _RelaxedGame, exact: CoalitionMinimum) -> None:
        self._relaxed, self._exact = relaxed, exact
        self.fallback = relaxed.fallback
        # The place of a broken row among those of the exact game.
        self._place = np.cumsum(self.fallback) - 1  # n
        self.n_rows, self.n_players = relaxed.n_rows, relaxed.n_players
        self.reference = relaxed.reference.copy()
        self.reference[self.fallback] = exact.reference
        self._take_stock()

    def __call__(self, coalitions: BoolMatrix, rows: IntVector | None = None) -> Matrix:
        chosen = self._chosen(rows)
        broken = self.fallback[chosen]
        values = np.empty((len(chosen), len(coalitions)))
        if not broken.all():
            values[~broken] = self._relaxed(coalitions, chosen[~broken])
        if broken.any():
            values[broken] = self._exact(coalitions, self._place[chosen[broken]])
        self._take_stock()
        return values

    def _take_stock(self) -> None:
        self.n_evaluations = self._relaxed.n_evaluations.copy()
        self.n_evaluations[self.fallback] += self._exact.n_evaluations  # v̲ was tried first
        self.ended = self._relaxed.ended.copy()
        self.ended[self.fallback] = self._exact.ended


@final
class _RelaxedGame(Game):
    reference: Matrix
    ended: IntVector
    fallback: BoolVector

    def __init__(self, score: Score, domain: Domain, X: Matrix, game: RelaxedMinimum) -> None:
        n, d = X.shape
        p = domain.n_players
        # The empty set and each singleton: one batch serves every coalition.
        alone = np.vstack([np.zeros((1, p), np.bool_), np.eye(p, dtype=np.bool_)])
        keep = np.tile(domain.expand(alone), (n, 1))  # n(p + 1) x d
        minimum = minimise(
            score,
            np.repeat(X, p + 1, axis=0),
            keep,
            domain,
            gamma=game.gamma,
            basin="nearest",
            limits=game.limits,
        )
        self._score = score
        self._domain = domain
        self._X = X
        self._unit = score.unit or 1.0
        minima = minimum.point.reshape(n, p + 1, d)
        self._minima = minima.transpose(2, 0, 1).copy()  # d x n x (p + 1)
        self.n_rows, self.n_players = n, p
        self.n_evaluations = start_count(n)
        self.n_evaluations += minimum.n_evaluations.reshape(n, p + 1).sum(axis=1)
        self.reference = minima[:, 0].copy()
        self.ended = minimum.ended.reshape(n, p + 1).max(axis=1)
        self._known: Matrix | None = None  # n x 2^p: of all coalitions, where those are few
        self.fallback = self._is_broken()

    def doubt(self) -> None:
        """Keep v̲ where it is broken, and say that no minimum was reached there."""
        self.ended[self.fallback] = Outcome.BROKEN_AVERAGE
        self.fallback = np.zeros_like(self.fallback)

    def _is_broken(self) -> BoolVector:
        """Rows in which the average for some players is worse than the row itself, (n,)."""
        probes = _probes(self.n_players)
        values = self(probes)  # n x m
        if len(probes) == 2**self.n_players:
            self._known = values[:, np.argsort(_numbers(probes))]
        empty, full = values[:, 0], values[:, 1]
        # Scores of normal rows vary by √(d/2) units; within twice that nothing is explained.
        varies = np.sqrt(2 * len(self._minima)) * self._unit
        allowed = full + BROKEN * np.maximum(full - empty, varies)
        return np.asarray((values > allowed[:, None]).any(axis=1))

    def __call__(self, coalitions: BoolMatrix, rows: IntVector | None = None) -> Matrix:
        z = check_coalitions(coalitions, self.n_players)
        chosen = self._chosen(rows)
        if self._known is not None:
            return self._known[chosen[:, None], _numbers(z)]
        d = self._domain.n_columns
        keep = (self._domain.expand(z) | self._domain.fixed).T  # d x m
        present, absent = keep.astype(np.float64)[:, None], (~keep).astype(np.float64)[:, None]
        # The empty set takes part in every average; a player that cannot move, in none.
        movable = (self._domain.membership & ~self._domain.fixed).any(axis=1)  # p
        part = np.vstack([np.ones(len(z)), (z & movable).T])  # (p + 1) x m
        part /= part.sum(axis=0)
        values = np.empty((len(chosen), len(z)))
        where = room(d)
        for tile, some in tiles(len(chosen), len(z), d):
            these = chosen[tile]
            r, c = len(these), some.stop - some.start
            minima = self._minima[:, these].reshape(d * r, -1)
            points = where[: d * r * c].reshape(d, r, c)
            np.matmul(minima, part[:, some], out=points.reshape(d * r, c))
            # Products are faster than a branch for each value, and as exact: 0·a + 1·x = x.
            points *= absent[:, :, some]
            points += self._X[these].T[:, :, None] * present[:, :, some]
            values[tile, some] = evaluate(self._score, points.reshape(d, -1).T).reshape(r, c)
            self.n_evaluations[these] += c
        return values


def _numbers(coalitions: BoolMatrix) -> IntVector:
    """Coalitions as numbers, a bit for each player: bool (m, p) -> (m,)."""
    return np.asarray(coalitions @ (1 << np.arange(coalitions.shape[1])))


@lru_cache(maxsize=4)
def _probes(p: int) -> BoolMatrix:
    """Coalitions that show whether v̲ holds: none, all, and all others if they are few.

    Else each player alone, all but each, and a draw.
    """
    if 2**p <= DRAWN:
        numbers = np.append(0, np.arange(2**p)[:0:-1])
        return (numbers[:, None] >> np.arange(p)) % 2 == 1
    each = np.eye(p, dtype=np.bool_)
    drawn = np.random.default_rng(0).random((DRAWN, p)) < 0.5
    ends = np.array([[False] * p, [True] * p])
    return np.vstack([ends, each, ~each, drawn])
