"""Sets of coalitions: all of them, all of one size, or a random sample of one size."""

from __future__ import annotations

from itertools import combinations, islice

import numpy as np

from whyflag.arrays import BoolMatrix, IntVector


def numbered(begin: int, end: int, p: int) -> BoolMatrix:
    """Coalitions begin … end − 1 of all 2^p; player i is a member where bit i is set."""
    numbers = np.arange(begin, end, dtype=np.int64)
    return (numbers[:, None] >> np.arange(p)) & 1 == 1


def of_size(p: int, size: int, most: int | None = None) -> BoolMatrix:
    """Every coalition of `size` players, or the first `most` in lexicographic order."""
    members = np.array(list(islice(combinations(range(p), size), most)), dtype=np.int64)
    return from_members(members.reshape(-1, size), p)


def sample_of_size(p: int, size: int, count: int, rng: np.random.Generator) -> BoolMatrix:
    """`count` different coalitions of `size` players, each equally likely.

    There must be more than `count` of them. With size = p / 2, no two are complements.
    """
    chosen = np.empty((0, p), dtype=np.bool_)
    while len(chosen) < count:
        keys = rng.random((count - len(chosen), p))
        drawn = from_members(np.argpartition(keys, size - 1, axis=1)[:, :size], p)
        if 2 * size == p:
            # Of a pair of complements, the one that has player 0 stands for both.
            drawn ^= ~drawn[:, :1]
        chosen = _distinct(np.vstack([chosen, drawn]))
    return chosen


def from_members(members: IntVector, p: int) -> BoolMatrix:
    """Coalitions from the positions of their members: int (m, size) -> bool (m, p)."""
    coalitions = np.zeros((len(members), p), dtype=np.bool_)
    np.put_along_axis(coalitions, members, True, axis=1)
    return coalitions


def _distinct(coalitions: BoolMatrix) -> BoolMatrix:
    _, first = np.unique(np.packbits(coalitions, axis=1), axis=0, return_index=True)
    return coalitions[np.sort(first)]
