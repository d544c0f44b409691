"""The loops of `lines.py` that numba compiles, one problem after another."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from whyflag.minimise.cells import BITS, COUNT


def outside(at, side, first, last, begin, leaf, lowest, highest, mark):
    """As `Cells.outside`, each problem by how it differs from the one before."""
    found = np.zeros((len(at), len(side)), np.int16)
    for leaf_ in range(len(side)):
        for w in range(side.shape[1]):
            j = side[leaf_, w]
            if j >= 0 and (at[0, j] < first[leaf_, w] or at[0, j] > last[leaf_, w]):
                found[0, leaf_] += 1 + (w << BITS)
    for i in range(1, len(at)):
        for leaf_ in range(len(side)):
            found[i, leaf_] = found[i - 1, leaf_]
        for j in range(at.shape[1]):
            before, after = at[i - 1, j], at[i, j]
            if before != after:
                for e in range(begin[j], begin[j + 1]):
                    was = before < lowest[e] or before > highest[e]
                    now = after < lowest[e] or after > highest[e]
                    if was != now:
                        found[i, leaf[e]] += mark[e] if now else -mark[e]
    return found


def go(out, at, which, column, cell, begin, leaf, lowest, highest, mark):
    """As `_go`."""
    for n in range(len(which)):
        i, j = which[n], column[n]
        for e in range(begin[j], begin[j + 1]):
            was = at[i, j] < lowest[e] or at[i, j] > highest[e]
            now = cell[n] < lowest[e] or cell[n] > highest[e]
            if was != now:
                out[i, leaf[e]] += mark[e] if now else -mark[e]
        at[i, j] = cell[n]


def best(at, out, which, free, row, weight, cost, own, begin, tree, value, side, first, last, link):
    """As `_best`; columns are left out that can not be lower, whatever their cells."""
    n_trees, unit, c, a, part = int(link[0]), link[1], link[2], link[3], link[4]
    best_column, best_cell = np.full(len(which), -1), np.zeros(len(which), np.int64)
    here = np.empty(n_trees)  # the value of the leaf of each tree
    sums = np.empty(begin[-1])
    near = np.empty(len(tree) + 1, np.int64)  # leaves whose boxes one column is outside of
    least = np.empty((at.shape[1], 2))  # below and above the cell, the sum may fall so far
    may, now = np.empty(at.shape[1], np.bool_), np.empty(at.shape[1], np.int64)
    for n in range(len(which)):
        i = which[n]
        r = row[i]
        total = 0.0
        n_near = 0
        for leaf in range(len(tree)):
            near[n_near] = leaf
            n_near += (out[i, leaf] & COUNT) == 1
            if out[i, leaf] == 0:
                here[tree[leaf]] = value[leaf]
                total += value[leaf]
        for x in range(len(sums)):
            sums[x] = 0.0
        for j in range(len(may)):
            may[j], now[j] = free[i, j], at[i, j]
            least[j, 0] = least[j, 1] = 0.0
        for m in range(n_near):
            leaf = near[m]
            w = out[i, leaf] >> BITS
            j = side[leaf, w]
            if may[j]:
                more = value[leaf] - here[tree[leaf]]
                if more < 0:
                    least[j, int(now[j] < first[leaf, w])] += more
                sums[begin[j] + first[leaf, w]] += more
                sums[begin[j] + last[leaf, w] + 1] -= more
        moved = 0.0
        for j in range(at.shape[1]):
            if may[j]:
                moved += weight[i] * cost[r, begin[j] + now[j]]
        level = (total if c == 0 else 2.0 ** (total / c) + a) / unit
        slope = 1.0 / unit if c == 0 else (level - a / unit) * np.log(2.0) / c
        bar = level + moved
        gain = part * max(abs(bar), 1.0)
        for j in range(at.shape[1]):
            rest = moved - weight[i] * cost[r, begin[j] + now[j]]
            if not may[j] or level + slope * min(least[j, 0], least[j, 1]) + rest >= bar - gain:
                continue
            x, end, sum_ = begin[j], begin[j + 1], 0.0
            while x + 4 <= end:  # four at a time, so that a sum waits for one addition of them
                two, four = sums[x] + sums[x + 1], sums[x + 2] + sums[x + 3]
                sums[x] += sum_
                sums[x + 1] = sum_ + two
                sums[x + 2] += sum_ + two
                sum_ += two + four
                sums[x + 3] = sum_
                x += 4
            while x < end:
                sum_ += sums[x]
                sums[x] = sum_
                x += 1
            for step in (-1, 1):  # outward from x only a lower sum can be lower
                record, x = np.inf, begin[j] + own[r, j]
                while begin[j] <= x < begin[j + 1]:
                    if sums[x] < record and cost[r, x] < np.inf:
                        record = sums[x]
                        price = rest + weight[i] * cost[r, x]
                        # f is convex: it lies above its tangent, which is faster.
                        if level + slope * record + price < bar - gain:
                            e = total + record
                            loss = (e if c == 0 else 2.0 ** (e / c) + a) / unit + price
                            if loss < bar - gain:
                                bar = loss
                                best_column[n], best_cell[n] = j, x - begin[j]
                    x += step
    return best_column, best_cell
