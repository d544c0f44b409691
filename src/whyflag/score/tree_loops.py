"""The loops of `trees.py` that numba compiles."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

BLOCK = 128  # points whose values stay in the first cache


def sums(points, low, high, roots, left, right, column, threshold, value):
    """Σ_t v_t(z) of points that lie column by column, all between low and high: (k, n) -> (n,).

    Splits that do not part low from high are left out first. Trees are added one after another,
    so that a point alone has the same digits as among others.
    """
    n_nodes, n_trees, n = len(column), len(roots), points.shape[1]
    # What is left of the trees: the right node stands behind the left, a leaf leads to itself.
    split, child = np.zeros(n_nodes, np.uint32), np.zeros(n_nodes, np.uint32)
    bar, worth = np.full(n_nodes, np.inf, np.float32), np.zeros(n_nodes)
    begin, levels = np.zeros(n_trees, np.uint32), np.zeros(n_trees, np.int64)
    node, place, depth = np.zeros((3, n_nodes), np.int64)  # those still to come
    made = 0
    for t in range(n_trees):
        begin[t] = made
        node[0], place[0], depth[0], n_left = roots[t], made, 0, 1
        made += 1
        while n_left:
            n_left -= 1
            q, at = node[n_left], place[n_left]
            while column[q] >= 0:
                if high[column[q]] <= threshold[q]:
                    q = left[q]
                elif low[column[q]] > threshold[q]:
                    q = right[q]
                else:
                    break
            if column[q] < 0:
                child[at], worth[at] = at, value[q]
                levels[t] = max(levels[t], depth[n_left])
                continue
            split[at], bar[at], child[at] = column[q], threshold[q], made
            below = depth[n_left] + 1
            node[n_left], place[n_left], depth[n_left] = left[q], made, below
            node[n_left + 1], place[n_left + 1], depth[n_left + 1] = right[q], made + 1, below
            n_left += 2
            made += 2

    total = np.zeros(n)
    for first in range(0, n, BLOCK):
        last = min(first + BLOCK, n)
        for t in range(n_trees):
            root, n_levels = begin[t], levels[t]
            for i in range(first, last):
                at = root
                for _ in range(n_levels):
                    at = child[at] + np.uint32(points[split[at], i] > bar[at])
                total[i] += worth[at]
    return total
