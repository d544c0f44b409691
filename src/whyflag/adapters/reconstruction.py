"""What a reconstruction misses of a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from whyflag.arrays import IntVector, Matrix, Vector
from whyflag.score import Curvature, Gradient, Score
from whyflag.score.additive import of_parts
from whyflag.score.function import from_function

# A reconstruction that keeps a direction has no curvature along it; the minimiser needs some.
FLOOR = 1e-9  # of the curvature along the axes


@final
class LinearReconstruction:
    """e(x) = ‖x − r(x)‖² for an affine r, such as that of principal components.

    Args:
        reconstruct: r, (n, d) -> (n, d).
        matrix: A with r(x) = x A + c, (d, d).
    """

    def __init__(self, reconstruct: Callable[[Matrix], Matrix], matrix: Matrix) -> None:
        self.reconstruct, self.matrix = reconstruct, matrix
        self._misses = np.eye(len(matrix)) - matrix  # the residual is x times this, less c

    def to_score(self) -> Score:
        """The error as a score, with all that is known of it."""
        square = self._misses @ self._misses.T
        curvature = 2 * (square * (1 + FLOOR * np.eye(len(square))))
        return Score(
            self,
            (
                Gradient(self.value_and_grad),
                Curvature(self.value_grad_regime, curvature[None]),
                *of_parts(self.parts),
            ),
            n_features=len(self._misses),
            name="a linear reconstruction",
        )

    def __call__(self, X: Matrix) -> Vector:
        residual = X - self.reconstruct(X)
        return np.einsum("nd,nd->n", residual, residual)

    def value_and_grad(self, X: Matrix) -> tuple[Vector, Matrix]:
        """The error and its gradient: (n, d) -> (n,), (n, d)."""
        residual = X - self.reconstruct(X)
        return np.einsum("nd,nd->n", residual, residual), 2 * residual @ self._misses.T

    def value_grad_regime(self, X: Matrix) -> tuple[Vector, Matrix, IntVector]:
        """The same, and the one parabola that rules: (n,)."""
        return *self.value_and_grad(X), np.zeros(len(X), dtype=np.int64)

    def parts(self, X: Matrix) -> Matrix:
        """The error of each column: (n, d) -> (n, d)."""
        return (X - self.reconstruct(X)) ** 2


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
@dataclass(frozen=True)
class Reconstruction:
    """e(x) = ‖x − r(x)‖² for any r, (n, d) -> (n, d)."""

    reconstruct: Callable[[Matrix], Any]
    n_features: int

    def to_score(self) -> Score:
        """The error as a score, with its parts."""
        score = from_function(self, n_features=self.n_features, name="a reconstruction")
        return score.having(*of_parts(self.parts))

    def __call__(self, X: Matrix) -> Vector:
        return self.parts(X).sum(axis=1)

    def parts(self, X: Matrix) -> Matrix:
        """The error of each column: (n, d) -> (n, d)."""
        return (X - np.asarray(self.reconstruct(X), dtype=np.float64)) ** 2
