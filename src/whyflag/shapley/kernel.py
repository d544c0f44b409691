"""Shapley values by weighted regression on a part of the coalitions (kernel SHAP)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import comb
from typing import final

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from whyflag.arrays import BoolMatrix, Matrix, Vector
from whyflag.shapley.base import Playable, ShapleySolver, ShapleyValues, close_gap
from whyflag.shapley.coalitions import of_size, sample_of_size


@final
@dataclass(frozen=True)
class Kernel(ShapleySolver):
    """min_φ Σ_S w(S) (v(S) − v(∅) − Σ_{i∈S} φ_i)², subject to Σ φ_i = v(D) − v(∅).

    w(S) = (p − 1) / (C(p, |S|) |S| (p − |S|)) is the Shapley kernel. Coalitions come in
    complementary pairs, all of a size from both ends while the budget lasts; what is left of it is
    drawn from the other sizes, each size equally often, which is proportional to the leverage of
    its coalitions (LeverageSHAP, arXiv 2410.01917). One set of coalitions and one factorisation
    serve all rows. The constraint is eliminated, so the values add up exactly; with a budget of
    2^p − 2 or more they are exact.

    Args:
        budget: Number of coalitions besides ∅ and D; 2p + 2048 if none is given.
        seed: Seed of the draws.
    """

    budget: int | None = None
    seed: int = 0

    def solve(self, game: Playable) -> ShapleyValues:
        """Divide the gain of each row's game among its players."""
        p = game.n_players
        budget = 2 * p + 2048 if self.budget is None else self.budget
        ends = game(np.array([[False] * p, [True] * p]))  # n x 2
        empty, full = ends[:, 0], ends[:, 1]
        gain = full - empty
        if p == 1:
            return ShapleyValues(gain[:, None], empty, full, 2)
        if budget < min(2 * p, 2**p - 2):
            raise ValueError(
                f"`budget` must be at least {min(2 * p, 2**p - 2)} for {p} players, so that the "
                f"regression has one solution, got {budget}."
            )
        coalitions, regression = _regression(p, budget, self.seed)
        share = coalitions.mean(axis=1)  # m
        worth = game(coalitions) - empty[:, None] - gain[:, None] * share  # n x m
        values = worth @ regression.T + gain[:, None] / p
        return ShapleyValues(close_gap(values, gain), empty, full, len(coalitions) + 2)


@lru_cache(maxsize=4)
def _regression(p: int, budget: int, seed: int) -> tuple[BoolMatrix, Matrix]:
    """The coalitions, bool (m, p), and the matrix that turns their worth into values, (p, m).

    With φ = gain/p + b, Σ b_i = 0, the constraint is gone: b is the regression on what each
    coalition has beyond its size.
    """
    coalitions, weights = design(p, budget, np.random.default_rng(seed))
    excess = coalitions - coalitions.mean(axis=1)[:, None]  # m x p
    weighted = excess * weights[:, None]  # m x p
    # The normal matrix ignores shifts of b; one more rank holds them at zero.
    normal = excess.T @ weighted + np.full((p, p), weights.sum() / p**2)
    coalitions.flags.writeable = False  # it is kept: no game may write into it
    return coalitions, cho_solve(cho_factor(normal), weighted.T)


def design(p: int, budget: int, rng: np.random.Generator) -> tuple[BoolMatrix, Vector]:
    """Choose at most `budget` coalitions, in pairs, and their weights: bool (m, p), (m,)."""
    halves: list[BoolMatrix] = []
    weights: list[Vector] = []

    def add(size: int, half: BoolMatrix, expected: float) -> None:
        # The kernel's weight of all pairs of this size, shared by those that stand for them.
        pairs = (p - 1) / (size * (p - size)) / (2 if 2 * size == p else 1)
        halves.append(half)
        weights.append(np.full(len(half), pairs / expected))

    left = budget // 2
    size = 1
    while size <= p // 2 and n_pairs(p, size) <= left:
        count = n_pairs(p, size)
        # Of the middle size, the first half are those that have player 0.
        add(size, of_size(p, size, count), count)
        left -= count
        size += 1
    sizes = np.arange(size, p // 2 + 1)
    if len(sizes) and left:
        # The middle size of an even p has half as many pairs, and gets half as many draws.
        share = np.where(2 * sizes == p, 0.5, 1.0)
        expected = left * share / share.sum()
        # Systematic sampling: whole numbers of draws that average to the expected ones.
        marks = np.floor(np.concatenate([[0.0], np.cumsum(expected)]) + rng.random())
        draws = np.diff(marks).astype(int)
        for size, expect, count in zip(
            sizes.tolist(), expected.tolist(), draws.tolist(), strict=True
        ):
            if count:
                add(size, sample_of_size(p, size, count, rng), expect)
    half, weight = np.vstack(halves), np.concatenate(weights)
    return np.vstack([half, ~half]), np.concatenate([weight, weight])


def n_pairs(p: int, size: int) -> int:
    """Number of pairs {S, D ∖ S} with |S| = size."""
    return comb(p, size) // (2 if 2 * size == p else 1)
