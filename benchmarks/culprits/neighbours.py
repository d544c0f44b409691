"""Ways to divide the score over the same eight nearest rows: one at a time, Shapley, between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from benchmarks.culprits.detectors import Case
from whyflag.arrays import BoolMatrix, Matrix
from whyflag.games import Background, Nearest
from whyflag.games.base import Game

BUDGET = 512  # coalitions of a semivalue, about


@final
@dataclass(frozen=True)
class Found:
    """Values of a method, and what they took."""

    values: Matrix  # n x p
    evaluations: float | None  # of the score, a row; None: of something else


def game_of(case: Case, X: Matrix, k: int = 8) -> Game:
    """The average over the k rows that are nearest to each row."""
    prepared = case.prepared
    nearest = Nearest(prepared.background, prepared.domain, k)
    return Background(nearest).bind(prepared.score, prepared.domain, X)


def one_at_a_time(case: Case, X: Matrix, k: int = 8) -> Found:
    """O: e(x) − mean_r e(x with x_j ← r_j)."""
    game = game_of(case, X, k)
    p = game.n_players
    worth = game(np.vstack([np.ones(p, dtype=np.bool_), ~np.eye(p, dtype=np.bool_)]))  # n x (1 + p)
    return Found(worth[:, :1] - worth[:, 1:], float(game.n_evaluations.mean()))


def semivalue(case: Case, X: Matrix, least: float = 0.5, k: int = 8) -> Found:
    """What a player adds on average to coalitions of at least `least` of the others.

    Sizes count alike: `least` = 0 is the Shapley value, 1 is one at a time. Players leave one by
    one, in random orders, until `least` of them are left; each order serves every player once.
    """
    game = game_of(case, X, k)
    p = game.n_players
    steps = max(1, round((1 - least) * p))
    rng = np.random.default_rng(0)
    values, times = np.zeros((len(X), p)), np.zeros(p)
    for _ in range(max(2, BUDGET // (steps * -(-p // steps)))):
        order = rng.permutation(p)
        for begin in range(0, p, steps):
            leaving = order[(begin + np.arange(steps)) % p]
            worth = game(leave(leaving, p))  # n x (1 + steps)
            values[:, leaving] += worth[:, :-1] - worth[:, 1:]
            times[leaving] += 1
    return Found(values / times, float(game.n_evaluations.mean()))


def leave(leaving: np.ndarray, p: int) -> BoolMatrix:
    """All players, and then one fewer each time: (1 + steps) x p."""
    present = np.ones((1 + len(leaving), p), dtype=np.bool_)
    for step, player in enumerate(leaving.tolist(), start=1):
        present[step:, player] = False
    return present
