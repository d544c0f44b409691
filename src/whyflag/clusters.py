"""A few typical rows of many."""

from __future__ import annotations

import numpy as np

from whyflag.arrays import IntVector, Matrix, Vector, evenly
from whyflag.nearness import distance

TYPICAL = 8  # rows that stand for all normal rows
LOOKED_AT = 1000  # normal rows that these are made from
JITTER = 1e-6  # scales: far more than rounding, far less than anything that counts
DIGITS = 6  # of a scale: rows that differ by rounding have the same ones


def from_within(rows: Matrix) -> IntVector:
    """Positions of rows from the innermost to the outermost one, (n,).

    In whatever order rows come, this is one and the same, but for rows that are alike: what is
    drawn from them, or begins with the first, does not depend on how a file was sorted.
    """
    u = (rows - np.median(rows, axis=0)) / typical_change(rows)  # n x d
    # Rows that are as far out, as of categories, are told apart by a direction.
    side = np.cos(np.arange(1, rows.shape[1] + 1))
    return np.lexsort((np.round(u @ side, DIGITS), np.round(distance(u).sum(axis=1), DIGITS)))


def cluster_centers(
    rows: Matrix, scale: Vector, k: int, seed: int = 0, n_init: int = 10
) -> tuple[Matrix, Vector]:
    """Centres of k-means in units of the scales, and their sizes: (k, d), (k,).

    Each value of a centre is rounded to the nearest one of its column, as shap does, so that a
    binary column stays binary. Fewer distinct rows than k are all taken.
    """
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    if len(distinct) <= k:
        return distinct, counts.astype(np.float64)
    from sklearn.cluster import KMeans

    # Rows of whole numbers stand exactly between two centres, where rounding would choose. A
    # millionth of a scale, drawn with the seed, chooses the same on every machine.
    jitter = JITTER * np.random.default_rng(seed).normal(size=rows.shape)
    # And k-means itself may begin elsewhere if one digit differs: without the last ones none does.
    means = KMeans(k, n_init=n_init, random_state=seed).fit(np.round(rows / scale, DIGITS) + jitter)
    centers = np.empty((k, rows.shape[1]))
    for j, column in enumerate(rows.T):
        values = np.unique(column)
        wanted = means.cluster_centers_[:, j] * scale[j]
        centers[:, j] = values[np.abs(values[:, None] - wanted).argmin(axis=0)]
    return centers, np.bincount(means.labels_, minlength=k).astype(np.float64)


def typical_rows(rows: Matrix, scale: Vector) -> Matrix:
    """Centres of up to eight clusters of the rows, which stand for all: (n, d) -> (k, d)."""
    some = from_within(rows)[evenly(len(rows), LOOKED_AT)]
    centers, sizes = cluster_centers(rows[some], scale, TYPICAL, n_init=3)
    # A cluster of one is an outlier, and would reveal a row of the data as it is.
    return centers[sizes > 1] if (sizes > 1).any() else centers


def typical_change(rows: Matrix) -> Vector:
    """Standard deviation of each column; of a constant one, its magnitude, or 1 if it is zero."""
    deviation = rows.std(axis=0)
    magnitude = np.abs(rows).max(axis=0)
    # A deviation within rounding of the column's magnitude is noise of the summation.
    constant = deviation <= 1e-12 * magnitude
    return np.where(constant, np.where(magnitude > 0, magnitude, 1.0), deviation)
