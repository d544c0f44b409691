"""What a reconstruction misses of a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from whyflag.arrays import IntVector, Matrix, Vector
from whyflag.score import AdditiveScore, CurvedScore
from whyflag.score.function import FunctionScore

# A reconstruction that keeps a direction has no curvature along it; the minimiser needs some.
FLOOR = 1e-9  # of the curvature along the axes


@final
class LinearReconstruction(CurvedScore, AdditiveScore):
    """e(x) = ‖x − r(x)‖² for an affine r, such as that of principal components.

    Args:
        reconstruct: r, (n, d) -> (n, d).
        matrix: A with r(x) = x A + c, (d, d).
    """

    def __init__(self, reconstruct: Callable[[Matrix], Matrix], matrix: Matrix) -> None:
        self.n_features = len(matrix)
        self._reconstruct = reconstruct
        self._misses = np.eye(len(matrix)) - matrix  # the residual is x times this, less c
        square = self._misses @ self._misses.T
        self.curvatures = 2 * (square * (1 + FLOOR * np.eye(len(matrix))))[None]  # 1 x d x d

    def __call__(self, X: Matrix) -> Vector:
        residual = X - self._reconstruct(X)
        return np.einsum("nd,nd->n", residual, residual)

    def value_grad_curvature(self, X: Matrix) -> tuple[Vector, Matrix, IntVector]:
        residual = X - self._reconstruct(X)
        value = np.einsum("nd,nd->n", residual, residual)
        return value, 2 * residual @ self._misses.T, np.zeros(len(X), dtype=np.int64)

    def parts(self, X: Matrix) -> Matrix:
        return (X - self._reconstruct(X)) ** 2


@final
@dataclass(frozen=True)
class AffineError:
    """‖x − r(x)‖² of an r that is affine, from its value at the first row on."""

    reconstruct: Callable[[Matrix], Matrix]
    matrix: Matrix  # d x d

    def __call__(self, X: Matrix) -> Vector:
        residual = X - self.reconstruct(X[:1]) - (X - X[:1]) @ self.matrix
        return np.einsum("nd,nd->n", residual, residual)


@final
class Reconstruction(AdditiveScore):
    """e(x) = ‖x − r(x)‖² for any r, (n, d) -> (n, d)."""

    def __init__(self, reconstruct: Callable[[Matrix], Any], n_features: int) -> None:
        self.n_features = n_features
        self._reconstruct = reconstruct
        self._checked = FunctionScore(lambda X: self.parts(X).sum(axis=1), n_features)

    def __call__(self, X: Matrix) -> Vector:
        return self._checked(X)

    def parts(self, X: Matrix) -> Matrix:
        return (X - np.asarray(self._reconstruct(X), dtype=np.float64)) ** 2
