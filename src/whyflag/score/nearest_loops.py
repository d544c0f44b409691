"""The loops of `distances.py` that numba compiles: the nearest of stored rows, for many points.

All rows are looked at: in more than a few columns trees of rows save little. Squared distances to
all of them are summed in single precision, in which a processor does twice as much at a time; what
rounding may have changed is known, so that the few rows that may be among the nearest are found,
and only their distances are taken in double precision.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

POINTS, MOVES, SUMS = 0, 1, 2
ROUNDING = 2.0**-24  # of a number of single precision
SMALLEST = 1e-36  # a square that is smaller has fewer digits
HALVINGS = 10  # of the range in which the bound is


def nearest(
    what, points, stored, columns, center, extent, base, column, value, table, index, keep, k
):
    """Squared distances to the k nearest rows, rising, and which they are: (n, k), (n, k).

    Of `points` (POINTS); of points that differ from `points[base]` in one `column`, which has
    another `value` (MOVES); or of points that have the columns of `points[0]` which `keep` names
    and else those of `points[1]`, whose distances are the sum of the rows `index` of a `table`
    (SUMS).

    The stored rows are cut into 64 parts; one row of each stands with those of the others at its
    place. Of these the nearest is known for every 8, and for all 64. The k-th nearest of the
    latter is a bound that few rows keep.
    """
    d, m = columns.shape
    top = (m + 63) // 64
    part = 8 * top
    n = len(points) if what == POINTS else len(base) if what == MOVES else len(index)
    far = np.full(8 * part, np.float32(np.inf))
    of_8, of_64 = np.empty(part, np.float32), np.empty(top, np.float32)
    before, after = np.zeros(m, np.float32), np.zeros((d + 1, m), np.float32)
    some_64, some_8 = np.empty(top + 1, np.int64), np.empty(part + 1, np.int64)
    some = np.empty(8 * part + 1, np.int64)
    y = np.empty(d)
    dist = np.empty(8 * part)
    squares, which = np.full((n, k), np.inf), np.zeros((n, k), dtype=np.int64)
    last, at = -1, 0
    for i in range(n):
        if what == POINTS:
            for j in range(d):
                y[j] = points[i, j]
            j = d % 2
            if j == 1:
                a, one = np.float32(y[0] - center[0]), columns[0]
                for t in range(m):
                    far[t] = (a - one[t]) * (a - one[t])
            else:
                for t in range(m):
                    far[t] = np.float32(0.0)
            while j < d:
                a, b = np.float32(y[j] - center[j]), np.float32(y[j + 1] - center[j + 1])
                one, other = columns[j], columns[j + 1]
                for t in range(m):
                    far[t] += (a - one[t]) * (a - one[t]) + (b - other[t]) * (b - other[t])
                j += 2
        elif what == MOVES:
            if base[i] != last or column[i] < at:  # the sums of all columns before and after each
                last, at = base[i], 0
                for t in range(m):
                    before[t] = np.float32(0.0)
                for j in range(d - 1, -1, -1):
                    a, one = np.float32(points[last, j] - center[j]), columns[j]
                    less, more = after[j + 1], after[j]
                    for t in range(m):
                        more[t] = less[t] + (a - one[t]) * (a - one[t])
            while at < column[i]:
                a, one = np.float32(points[last, at] - center[at]), columns[at]
                for t in range(m):
                    before[t] += (a - one[t]) * (a - one[t])
                at += 1
            for j in range(d):
                y[j] = points[last, j]
            y[at] = value[i]
            a, one, other = np.float32(y[at] - center[at]), columns[at], after[at + 1]
            for t in range(m):
                far[t] = before[t] + other[t] + (a - one[t]) * (a - one[t])
        else:
            for j in range(d):
                y[j] = points[0, j] if keep[i, j] else points[1, j]
            one = table[index[i, 0]]
            for t in range(m):
                far[t] = one[t]
            j = 1
            while j + 1 < index.shape[1]:
                one, other = table[index[i, j]], table[index[i, j + 1]]
                for t in range(m):
                    far[t] += one[t] + other[t]
                j += 2
            if j < index.shape[1]:
                one = table[index[i, j]]
                for t in range(m):
                    far[t] += one[t]

        for q in range(8):
            for t in range(part):
                of_8[t] = far[t] if q == 0 else min(of_8[t], far[q * part + t])
        for q in range(8):
            for t in range(top):
                of_64[t] = of_8[t] if q == 0 else min(of_64[t], of_8[q * top + t])

        bound = np.inf
        if top >= k:
            low, high = np.float32(0.0), np.float32(0.0)
            for t in range(top):
                high = max(high, of_64[t])
            for _ in range(HALVINGS):
                middle = low + (high - low) / np.float32(2.0)
                count = 0
                for t in range(top):
                    count += of_64[t] <= middle
                if count >= k:
                    high = middle
                else:
                    low = middle
            off = SMALLEST
            for j in range(d):
                size = abs(y[j] - center[j]) + extent[j]
                # Centring in double precision, then rounding to single.
                error = ROUNDING * size + ROUNDING**2 * (abs(y[j]) + abs(center[j]))
                off += 3.0 * size * error
            bound = (high + 3.0 * off) * (1.0 + 4.0 * (d + 8) * ROUNDING)
        # Without branches, which no processor could foretell.
        n_64 = n_8 = n_some = 0
        for t in range(top):
            some_64[n_64] = t
            n_64 += of_64[t] <= bound
        for x in range(n_64):
            for q in range(8):
                t = some_64[x] + q * top
                some_8[n_8] = t
                n_8 += of_8[t] <= bound
        for x in range(n_8):
            for q in range(8):
                t = some_8[x] + q * part
                some[n_some] = t
                n_some += far[t] <= bound
        near, place = squares[i], which[i]
        for x in range(n_some):
            if some[x] >= m:  # beyond all numbers, what fills up the parts is no further
                dist[x] = np.inf
                continue
            row = stored[some[x]]
            s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
            j = 0
            while j + 3 < d:
                e0, e1 = y[j] - row[j], y[j + 1] - row[j + 1]
                e2, e3 = y[j + 2] - row[j + 2], y[j + 3] - row[j + 3]
                s0 += e0 * e0
                s1 += e1 * e1
                s2 += e2 * e2
                s3 += e3 * e3
                j += 4
            while j < d:
                s0 += (y[j] - row[j]) * (y[j] - row[j])
                j += 1
            dist[x] = (s0 + s1) + (s2 + s3)
        for x in range(n_some):
            t, v = some[x], dist[x]
            if v < near[k - 1]:
                s = k - 1
                while s > 0 and near[s - 1] > v:
                    near[s], place[s] = near[s - 1], place[s - 1]
                    s -= 1
                near[s], place[s] = v, t
    return squares, which
