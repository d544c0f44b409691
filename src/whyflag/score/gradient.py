"""The gradient of a score: what gradient methods and the fast minimiser need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, final

from whyflag.arrays import Matrix, Vector
from whyflag.score.ability import Ability
from whyflag.score.map import Map

ValueAndGrad = Callable[[Matrix], tuple[Vector, Matrix]]


@final
@dataclass(frozen=True, eq=False)
class Gradient(Ability):
    """∂e/∂x, with the score itself: (n, d) -> (n,), (n, d).

    Attributes:
        value_and_grad: Both of rows.
        kinked: Whether it jumps from place to place: then descent by it ends at kinks, and minima
            are searched for without it.
    """

    meaning: ClassVar[str] = "a score with a gradient (as_score(function, gradient=...) makes one)"

    value_and_grad: ValueAndGrad
    kinked: bool = False

    def __call__(self, X: Matrix) -> tuple[Vector, Matrix]:
        """Score rows and differentiate."""
        return self.value_and_grad(X)

    def after(self, step: Map) -> Gradient | None:
        """What a smooth map leaves: the chain rule."""
        if not step.smooth:
            return None
        through = partial(_carried_back, self.value_and_grad, step)
        return Gradient(through, kinked=self.kinked or step.kinked)


def _carried_back(value_and_grad: ValueAndGrad, step: Map, X: Matrix) -> tuple[Vector, Matrix]:
    Z, pullback = step.derive(X)
    value, gradient = value_and_grad(Z)
    return value, pullback(gradient)
