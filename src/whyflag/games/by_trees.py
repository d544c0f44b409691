"""Shapley values of a sum over trees, exact for any number of columns.

Absent features take the values of a reference r. In one tree, walk down from the root: where x and
r part, the feature joins A if the walk goes on with x, or B if it goes on with r; a feature that
has joined stays there. The leaf at the end of a walk, of value v, is where every coalition leads
that has all of A and none of B, so that with a = |A| and b = |B|

    φ_i += v (a − 1)! b! / (a + b)!   for i ∈ A,      φ_i −= v a! (b − 1)! / (a + b)!   for i ∈ B,

instead of a sum over 2^p coalitions (interventional TreeSHAP, Lundberg et al. 2020).
"""

from __future__ import annotations

from math import comb

import numpy as np

from whyflag.arrays import FloatMatrix, IntMatrix, IntVector, Matrix, Vector
from whyflag.batches import batches
from whyflag.compiled import compiled
from whyflag.score.trees import Nodes

WALKS = 64  # numbers for each walk that has begun, with those that branch off


def shapley_by_trees(
    nodes: Nodes, X: FloatMatrix, R: FloatMatrix, weights: Matrix, player: IntVector, p: int
) -> Matrix:
    """Σ_r w_r φ(x, r): the Shapley values of each row's weighted references, (n, p).

    Args:
        nodes: The trees.
        X: Rows as the trees compare them, (n, k).
        R: The references of each row, (n, m, k).
        weights: w, (n, m).
        player: The player that each column belongs to, (k,).
        p: Number of players.
    """
    gain = _gains(len(nodes.levels))
    fast = compiled(_loops)
    if fast is not None:
        at = np.where(nodes.column < 0, -1, player[nodes.column])  # N: whose column it is
        tables = nodes.left, nodes.right, nodes.column, nodes.threshold, nodes.value
        # A copy, because loops are compiled anew for what can not be written to.
        found: Matrix = fast(X, R, np.array(weights, order="C"), nodes.roots, *tables, at, p, gain)
        return found
    values = np.empty((len(X), p))
    for some in batches(len(X), R.shape[1] * len(nodes.roots) * WALKS):
        values[some] = _walks(nodes, X[some], R[some], weights[some], player, p, gain)
    return values


def _gains(deepest: int) -> Matrix:
    """(a − 1)! b! / (a + b)! for all a and b that a walk can have."""
    size = deepest + 1
    gain = np.zeros((size, size))
    for a in range(1, size):
        gain[a] = [1 / (a * comb(a + b, a)) for b in range(size)]
    return gain


def _walks(
    nodes: Nodes,
    X: FloatMatrix,
    R: FloatMatrix,
    weights: Matrix,
    player: IntVector,
    p: int,
    gain: Matrix,
) -> Matrix:
    """All walks of all trees, rows and references at once, level by level."""
    n, m, _ = R.shape
    met, whose = _players_on_the_way(nodes, player)
    node = np.tile(nodes.roots, n * m)  # w
    pair = np.repeat(np.arange(n * m), len(nodes.roots))
    joined_a, joined_b = np.zeros((2, len(node)), dtype=np.int64)  # bits: levels of the way
    references = R.reshape(n * m, -1)
    values = np.zeros(n * p)
    for _ in nodes.levels:
        leaf = nodes.column[node] < 0
        if leaf.any():
            ends = node[leaf], pair[leaf], joined_a[leaf], joined_b[leaf]
            values += _shared(nodes, whose, weights, gain, p, *ends)
            node, pair, joined_a, joined_b = (
                each[~leaf] for each in (node, pair, joined_a, joined_b)
            )
        column, threshold = nodes.column[node], nodes.threshold[node]
        by_x = np.where(X[pair // m, column] <= threshold, nodes.left[node], nodes.right[node])
        by_r = np.where(references[pair, column] <= threshold, nodes.left[node], nodes.right[node])
        bit = np.int64(1) << met[node]
        in_b = (joined_b & bit) != 0
        parts = (by_x != by_r) & ((joined_a & bit) == 0) & ~in_b
        node = np.concatenate([np.where(in_b, by_r, by_x), by_r[parts]])
        pair = np.concatenate([pair, pair[parts]])
        joined_a, joined_b = (
            np.concatenate([joined_a | np.where(parts, bit, 0), joined_a[parts]]),
            np.concatenate([joined_b, joined_b[parts] | bit[parts]]),
        )
    return values.reshape(n, p)


def _shared(
    nodes: Nodes,
    whose: IntMatrix,
    weights: Matrix,
    gain: Matrix,
    p: int,
    leaf: IntVector,
    pair: IntVector,
    joined_a: IntVector,
    joined_b: IntVector,
) -> Vector:
    """What walks that have ended add to the values, flattened: (n p,)."""
    n, m = weights.shape
    a, b = np.bitwise_count(joined_a), np.bitwise_count(joined_b)
    worth = nodes.value[leaf] * weights.ravel()[pair]
    values = np.zeros(n * p)
    for joined, each in ((joined_a, worth * gain[a, b]), (joined_b, -worth * gain[b, a])):
        for level in range(whose.shape[1]):
            some = np.flatnonzero((joined >> level) & 1)
            place = pair[some] // m * p + whose[leaf[some], level]
            values += np.bincount(place, each[some], minlength=n * p)
    return values


def _players_on_the_way(nodes: Nodes, player: IntVector) -> tuple[IntVector, IntMatrix]:
    """The level at which a node's player was met first, (N,); and the players of all levels above.

    The second is (N, levels); a player that was met before stands at its first level only.
    """
    n_levels = len(nodes.levels)
    met = np.zeros(len(nodes.column), dtype=np.int64)
    whose = np.full((len(nodes.column), n_levels), -1)
    for level, here in enumerate(nodes.levels):
        inner = here[nodes.column[here] >= 0]
        own = player[nodes.column[inner]]
        above = whose[inner] == own[:, None]
        met[inner] = np.where(above.any(axis=1), above.argmax(axis=1), level)
        for side in (nodes.left, nodes.right):
            below = side[inner]
            whose[below] = whose[inner]
            whose[below, met[inner]] = own
    return met, whose


def _loops(X, R, weights, roots, left, right, column, threshold, value, player, p, gain):  # type: ignore[no-untyped-def]
    """The same as `_walks`, one walk after another."""
    n, m, _ = R.shape
    values, side = np.zeros((n, p)), np.zeros(p, np.int8)  # side: 1 in A, 2 in B
    size = len(gain)
    later, length_then, joined = np.empty((3, size), np.int64)
    for i in range(n):
        for r in range(m):
            for root in roots:
                node, length, waiting, a, b = root, 0, 0, 0, 0
                while True:
                    c = column[node]
                    if c >= 0:
                        by_x = left[node] if X[i, c] <= threshold[node] else right[node]
                        by_r = left[node] if R[i, r, c] <= threshold[node] else right[node]
                        own = player[node]
                        if by_x == by_r or side[own] == 1:
                            node = by_x
                        elif side[own] == 2:
                            node = by_r
                        else:  # with x first, with r later
                            later[waiting], length_then[waiting] = by_r, length
                            waiting += 1
                            joined[length] = own
                            length += 1
                            side[own] = 1
                            a += 1
                            node = by_x
                        continue
                    worth = value[node] * weights[i, r]
                    for j in range(length):
                        own = joined[j]
                        share = gain[a, b] if side[own] == 1 else -gain[b, a]
                        values[i, own] += worth * share
                    if waiting == 0:
                        break
                    waiting -= 1
                    while length > length_then[waiting] + 1:  # forget what joined after that fork
                        length -= 1
                        if side[joined[length]] == 1:
                            a -= 1
                        else:
                            b -= 1
                        side[joined[length]] = 0
                    side[joined[length - 1]] = 2
                    a -= 1
                    b += 1
                    node = later[waiting]
                for j in range(length):
                    side[joined[j]] = 0
    return values
