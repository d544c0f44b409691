"""The squared Mahalanobis distance from one centre."""

from __future__ import annotations

from typing import final

import numpy as np

from whyflag.arrays import BoolMatrix, IntVector, Matrix, Vector
from whyflag.score import CurvedScore, MarginalScore


@final
class MahalanobisDistance(CurvedScore, MarginalScore):
    """e(x) = (x − μ)ᵀ Σ⁻¹ (x − μ).

    Args:
        location: Centre μ, (d,).
        covariance: Σ, (d, d).
        precision: Σ⁻¹, (d, d), as the detector has it.
    """

    def __init__(self, location: Vector, covariance: Matrix, precision: Matrix) -> None:
        self.n_features = len(location)
        self.unit = 2.0  # half of it is the energy of a Gaussian
        self.curvatures = 2 * precision[None]  # 1 x d x d
        self.centers = location[None]  # 1 x d
        self._location = location
        self._covariance = covariance
        self._precision = precision

    def __call__(self, X: Matrix) -> Vector:
        away = X - self._location
        return np.einsum("nd,nd->n", away @ self._precision, away)

    def value_grad_curvature(self, X: Matrix) -> tuple[Vector, Matrix, IntVector]:
        away = X - self._location
        pull = away @ self._precision
        value = np.einsum("nd,nd->n", pull, away)
        return value, 2 * pull, np.zeros(len(X), dtype=np.int64)

    def marginal(self, X: Matrix, keep: BoolMatrix) -> Matrix:
        """The distance of the columns in `keep` by their block of the covariance."""
        away = X - self._location
        distances = np.zeros((len(X), len(keep)))
        for j, columns in enumerate(keep):
            block = np.linalg.pinv(self._covariance[np.ix_(columns, columns)], hermitian=True)
            part = away[:, columns]
            distances[:, j] = np.einsum("nd,nd->n", part @ block, part)
        return distances
