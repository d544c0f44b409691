"""The curvature of a score that is made of parabolas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, final

import numpy as np

from whyflag.arrays import IntVector, Matrix, Tensor, Vector
from whyflag.score.ability import Ability
from whyflag.score.map import Map

# Maps that leave out a direction leave no curvature along it; the minimiser needs some.
FLOOR = 1e-9  # of the curvature along the axes

ValueGradRegime = Callable[[Matrix], tuple[Vector, Matrix, IntVector]]


@final
@dataclass(frozen=True, eq=False)
class Curvature(Ability):
    """A second derivative that is close to one of a few matrices everywhere.

    The energy of a Gaussian mixture is close to a parabola wherever one component dominates.
    Where covariances are nearly singular, the minimiser needs to know the parabola: without it
    a problem in 60 dimensions takes thousands of steps instead of ten. It goes with a `Gradient`.

    Attributes:
        value_grad_regime: Score, gradient, and which of the matrices rules:
            (n, d) -> (n,), (n, d), (n,).
        matrices: The second derivatives, positive definite, (K, d, d).
        centers: Where each parabola is lowest, if that is known, (K, d).
    """

    meaning: ClassVar[str] = "a score whose curvature is known"

    value_grad_regime: ValueGradRegime
    matrices: Tensor
    centers: Matrix | None = None

    def __call__(self, X: Matrix) -> tuple[Vector, Matrix, IntVector]:
        """Score rows, differentiate, and tell which of the matrices rules."""
        return self.value_grad_regime(X)

    def after(self, step: Map) -> Curvature | None:
        """What an affine map leaves: J C Jᵀ for its Jacobian J."""
        if step.jacobian is None:
            return None
        return Curvature(
            partial(_carried_back, self.value_grad_regime, step),
            _turned(self.matrices, step.jacobian),
            _brought_back(self.centers, step, step.jacobian),
        )


def _carried_back(
    value_grad_regime: ValueGradRegime, step: Map, X: Matrix
) -> tuple[Vector, Matrix, IntVector]:
    Z, pullback = step.derive(X)
    value, gradient, regime = value_grad_regime(Z)
    return value, pullback(gradient), regime


def _turned(matrices: Tensor, jacobian: Matrix | Vector) -> Tensor:
    """J C Jᵀ: (K, k, k) -> (K, d, d)."""
    if jacobian.ndim == 1:
        turned = matrices * np.outer(jacobian, jacobian)
    else:
        turned = jacobian @ matrices @ jacobian.T
    return turned * (1 + FLOOR * np.eye(turned.shape[1]))


def _brought_back(centers: Matrix | None, step: Map, jacobian: Matrix | Vector) -> Matrix | None:
    """The rows that the map takes to the centres, if each is one row: (K, k) -> (K, d)."""
    whole = jacobian.all() if jacobian.ndim == 1 else jacobian.shape[0] == jacobian.shape[1]
    if centers is None or not whole:
        return None
    away = centers - step(np.zeros((1, len(jacobian))))
    back = away / jacobian if jacobian.ndim == 1 else np.linalg.solve(jacobian.T, away.T).T
    return np.asarray(back, dtype=np.float64)
