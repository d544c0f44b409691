"""How far apart two values count: the distance of the minimiser, and of nearest rows."""

from __future__ import annotations

import numpy as np

from whyflag.arrays import Matrix, Tensor

FAR = 3.0  # scales: beyond a few of them, further away hardly counts
DIGITS = 9  # that decide between values
LARGEST = 1e70  # whose squares still have squares


def distance(u: Tensor) -> Tensor:
    """u² / (1 + (u / 3)²) of moves in units of the scale: u² for small ones, 9 for the largest.

    A square would let one gross value rule the sum over the columns: a sentinel of −9999 is so
    far from every normal value that nothing else would count. Past three scales this distance
    flattens out, so that a value is far away, and that is all.
    """
    square = np.clip(u, -LARGEST, LARGEST) ** 2
    return square / (1 + square / FAR**2)


def slope(u: Matrix) -> Matrix:
    """Derivative of the distance."""
    u = np.clip(u, -LARGEST, LARGEST)
    return 2 * u / (1 + (u / FAR) ** 2) ** 2


def bend(u: Matrix) -> Matrix:
    """Second derivative of the distance."""
    u = np.clip(u, -LARGEST, LARGEST)
    q = (u / FAR) ** 2
    return 2 * (1 - 3 * q) / (1 + q) ** 3


def coarse(values: Tensor) -> Tensor:
    """Values with their last digits cut off, so that rounding does not decide between equals."""
    return np.round(values, DIGITS)
