"""Synthetic anomalies: normal rows with a few values perturbed, so that the culprits are known."""

from __future__ import annotations

import numpy as np

from whyflag.arrays import BoolMatrix, Matrix


def perturb(
    rows: Matrix, n_culprits: int, *, binary: bool, rng: np.random.Generator
) -> tuple[Matrix, BoolMatrix]:
    """Perturb some values of each row as the paper does, and tell which (section 4.2).

    Real columns get noise that is uniform in [−2, −1] ∪ [1, 2]; rows are standardised, so that
    these are standard deviations. Binary columns are flipped.

    Args:
        rows: Normal rows, (n, d).
        n_culprits: Number of values to perturb in each row.
        binary: Whether the columns are binary.
        rng: What chooses the values and draws the noise.

    Returns:
        The rows, (n, d), and who is guilty, bool (n, d).
    """
    n, d = rows.shape
    if not 1 <= n_culprits <= d:
        raise ValueError(f"`n_culprits` must be between 1 and {d}, got {n_culprits}.")
    guilty = np.zeros((n, d), dtype=np.bool_)
    chosen = np.argsort(rng.random((n, d)), axis=1)[:, :n_culprits]
    np.put_along_axis(guilty, chosen, True, axis=1)
    if binary:
        return np.where(guilty, 1 - rows, rows), guilty
    noise = rng.uniform(1, 2, size=(n, d)) * rng.choice([-1.0, 1.0], size=(n, d))
    return np.where(guilty, rows + noise, rows), guilty
