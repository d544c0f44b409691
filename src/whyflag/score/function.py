"""Plain functions as scores, their answers checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np

from whyflag.arrays import Matrix, Vector
from whyflag.score.audit import Audited
from whyflag.score.base import DifferentiableScore, Score
from whyflag.score.slopes import AuditedGradient


@final
class FunctionScore(Score):
    """A plain function as a score; with `sign` −1 its low values are the anomalous ones."""

    def __init__(
        self,
        function: Callable[[Matrix], Any],
        n_features: int | None = None,
        *,
        sign: float = 1.0,
    ) -> None:
        self.n_features = n_features
        self._function = Audited(function, sign)

    def __call__(self, X: Matrix) -> Vector:
        return self._function(X)

    @property
    def precision(self) -> float:
        return self._function.precision


@final
class DifferentiableFunctionScore(DifferentiableScore):
    """A plain function and its gradient as a score; `sign` as above."""

    def __init__(
        self,
        function: Callable[[Matrix], Any],
        gradient: Callable[[Matrix], Any],
        n_features: int | None = None,
        *,
        sign: float = 1.0,
    ) -> None:
        self.n_features = n_features
        self._function = Audited(function, sign)
        self._given = gradient
        self._sign = sign
        self._slopes = AuditedGradient(
            self._function,
            self._gradient,
            "Leave `gradient` out if in doubt: the score is explained without one, more slowly.",
        )

    def __call__(self, X: Matrix) -> Vector:
        values = self._function(X)
        self._slopes.look(X)
        return values

    def value_and_grad(self, X: Matrix) -> tuple[Vector, Matrix]:
        gradient = self._gradient(X)
        return self(X), gradient

    @property
    def precision(self) -> float:
        return self._function.precision

    def _gradient(self, X: Matrix) -> Matrix:
        gradient = np.asarray(self._given(X.copy()), dtype=np.float64)
        if gradient.shape != X.shape:
            raise ValueError(
                f"The gradient must map rows {X.shape} to shape {X.shape}, got {gradient.shape}."
            )
        return self._sign * gradient
