"""The squared Mahalanobis distance from one centre."""

from __future__ import annotations

from typing import final

import numpy as np

from whyflag.arrays import BoolMatrix, IntVector, Matrix, Vector
from whyflag.score import Curvature, Gradient, Marginals, Score


@final
class MahalanobisDistance:
    """e(x) = (x − μ)ᵀ Σ⁻¹ (x − μ).

    Args:
        location: Centre μ, (d,).
        covariance: Σ, (d, d).
        precision: Σ⁻¹, (d, d), as the detector has it.
    """

    def __init__(self, location: Vector, covariance: Matrix, precision: Matrix) -> None:
        self._location = location
        self._covariance = covariance
        self._precision = precision

    def to_score(self) -> Score:
        """The distance as a score, with all that is known of it."""
        return Score(
            self,
            (
                Gradient(self.value_and_grad),
                Curvature(self.value_grad_regime, 2 * self._precision[None], self._location[None]),
                Marginals(self.marginal),
            ),
            n_features=len(self._location),
            unit=2.0,  # half of it is the energy of a Gaussian
            name="a Mahalanobis distance",
        )

    def __call__(self, X: Matrix) -> Vector:
        away = X - self._location
        return np.einsum("nd,nd->n", away @ self._precision, away)

    def value_and_grad(self, X: Matrix) -> tuple[Vector, Matrix]:
        """The distance and its gradient: (n, d) -> (n,), (n, d)."""
        away = X - self._location
        pull = away @ self._precision
        return np.einsum("nd,nd->n", pull, away), 2 * pull

    def value_grad_regime(self, X: Matrix) -> tuple[Vector, Matrix, IntVector]:
        """The same, and the one parabola that rules: (n,)."""
        return *self.value_and_grad(X), np.zeros(len(X), dtype=np.int64)

    def marginal(self, X: Matrix, keep: BoolMatrix) -> Matrix:
        """The distance of the columns in `keep` by their block of the covariance."""
        away = X - self._location
        distances = np.zeros((len(X), len(keep)))
        for j, columns in enumerate(keep):
            block = np.linalg.pinv(self._covariance[np.ix_(columns, columns)], hermitian=True)
            part = away[:, columns]
            distances[:, j] = np.einsum("nd,nd->n", part @ block, part)
        return distances
