"""How the columns of normal rows go together, near each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from whyflag.arrays import Matrix, Vector

LEAST = 1e-12  # of the mean variance: what is smaller is rounding


@final
@dataclass(frozen=True, eq=False)
class Bonds:
    """The precision P of the differences between normal rows and their neighbours.

    (P δ)_i / √P_ii is the difference δ_i less what those of the other columns let expect, in
    standard deviations of what is left: how odd column i is, given the others.

    P is the inverse of S = (1 − ρ) V Λ Vᵀ + ρ μ I, the covariance shrunk as Ledoit and Wolf (2004)
    say. The eigenvectors in V span the rows; beside them S is ρ μ I.

    Attributes:
        vectors: V, (d, m).
        inside: 1 / ((1 − ρ) λ + ρ μ) for each of them, (m,).
        outside: 1 / (ρ μ); 0 if there is no outside.
    """

    vectors: Matrix
    inside: Vector
    outside: float

    @classmethod
    def of(cls, differences: Matrix) -> Bonds:
        """Learn them from differences of rows in units of each column's scale, (n, d)."""
        from sklearn.covariance import ledoit_wolf_shrinkage  # takes as long as whyflag itself

        n, d = differences.shape
        mean = float((differences**2).mean())  # μ, the mean variance
        if not mean > 0:
            return cls(np.zeros((d, 0)), np.zeros(0), 1.0)
        shrinkage = float(ledoit_wolf_shrinkage(differences, assume_centered=True))
        _, singular, vectors = np.linalg.svd(differences / np.sqrt(n), full_matrices=False)
        least = max(shrinkage, LEAST) * mean
        return cls(
            np.ascontiguousarray(vectors.T),
            1 / ((1 - shrinkage) * singular**2 + least),
            1 / least if d > n else 0.0,
        )

    def residuals(self, differences: Matrix) -> Matrix:
        """(P δ)_i / √P_ii of each row: (n, d) -> (n, d)."""
        inside = differences @ self.vectors  # n x m
        applied = (inside * self.inside) @ self.vectors.T
        applied += self.outside * (differences - inside @ self.vectors.T)
        squares = self.vectors**2
        beside = np.maximum(1 - squares.sum(axis=1), 0.0)
        return applied / np.sqrt(squares @ self.inside + self.outside * beside)
