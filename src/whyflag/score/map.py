"""Maps that rows go through before they are scored: what an ability asks of one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from whyflag.arrays import IntVector, Matrix, Vector

Function = Callable[[Matrix], Matrix]


class Map(ABC):
    """x ↦ z, and what else is known of it.

    Attributes:
        n_features: The number of columns of x; None: not known.
        known: Whether it maps each row by itself, always to the same z.
        smooth: Whether the derivative is known.
        kinked: Whether it jumps from place to place, as between quantiles.
        jacobian: J of an affine map z = x J + c, (d, k), or its diagonal, (d,); None for others.
        sources: The one column of x that each column of z is made of, (k,); None if it takes
            several.
    """

    n_features: int | None = None
    known: bool = True
    smooth: bool = False
    kinked: bool = False
    jacobian: Matrix | Vector | None = None
    sources: IntVector | None = None

    @abstractmethod
    def __call__(self, X: Matrix) -> Matrix:
        """(n, d) -> (n, k)."""

    def derive(self, X: Matrix) -> tuple[Matrix, Function]:
        """The image of rows, and what turns a gradient there, (n, k), into one by x, (n, d)."""
        raise NotImplementedError(f"{type(self).__name__} has no derivative.")

    def scales(self, scale: Vector) -> Vector:
        """What one `scale` of its source is in each column of z: (d,) -> (k,)."""
        raise NotImplementedError(f"{type(self).__name__} has columns made of several.")
