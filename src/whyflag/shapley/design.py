"""Which pairs of coalitions a budget is spent on."""

from __future__ import annotations

from math import comb

import numpy as np

from whyflag.arrays import BoolMatrix, Vector
from whyflag.shapley.coalitions import of_size, sample_of_size


def design(p: int, budget: int, rng: np.random.Generator) -> tuple[BoolMatrix, Vector, Vector]:
    """Choose at most budget / 2 pairs, in the order of their sizes.

    Returns one coalition of each pair, bool (h, p); their weights, (h,); and the share of the
    pairs of their size that was left out, (h,).
    """
    halves: list[BoolMatrix] = [np.zeros((0, p), dtype=np.bool_)]  # one player has no pairs
    weights: list[Vector] = [np.zeros(0)]
    unseen: list[Vector] = [np.zeros(0)]

    def add(size: int, half: BoolMatrix, expected: float) -> None:
        # The kernel's weight of all pairs of this size, shared by those that stand for them.
        pairs = (p - 1) / (size * (p - size)) / (2 if 2 * size == p else 1)
        halves.append(half)
        weights.append(np.full(len(half), pairs / expected))
        unseen.append(np.full(len(half), 1 - len(half) / n_pairs(p, size)))

    left = budget // 2
    size = 1
    # With few pairs for each player, single players make sure that there is one solution.
    while size <= p // 2 and n_pairs(p, size) <= (
        left if size == 1 and left < 4 * p else _even_shares(p, size, left)[0]
    ):
        count = n_pairs(p, size)
        # Of the middle size, the first half are those that have player 0.
        add(size, of_size(p, size, count), count)
        left -= count
        size += 1
    if size <= p // 2 and left:
        expected = _even_shares(p, size, left)
        # Systematic sampling: whole numbers of draws that average to the expected ones.
        marks = np.floor(np.concatenate([[0.0], np.cumsum(expected)]) + rng.random())
        draws = np.diff(marks).astype(int).tolist()
        for s, expect, count in zip(range(size, p // 2 + 1), expected.tolist(), draws, strict=True):
            if count:
                add(s, sample_of_size(p, s, count, rng), expect)
    return np.vstack(halves), np.concatenate(weights), np.concatenate(unseen)


def _even_shares(p: int, size: int, left: int) -> Vector:
    """The pairs that each size from `size` to the middle gets of those that are left."""
    # The middle size of an even p has half as many pairs, and gets half as many draws.
    sizes = np.arange(size, p // 2 + 1)
    share = np.where(2 * sizes == p, 0.5, 1.0)
    return left * share / share.sum()


def n_pairs(p: int, size: int) -> int:
    """Number of pairs {S, D ∖ S} with |S| = size."""
    return comb(p, size) // (2 if 2 * size == p else 1)
