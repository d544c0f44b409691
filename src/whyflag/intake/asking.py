"""Detectors that are asked of rows which they may refuse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from whyflag.adapters.raw import Asked
from whyflag.arrays import Matrix, Vector
from whyflag.table.holders import take
from whyflag.table.originals import CellsOfRows

if TYPE_CHECKING:
    from whyflag.table.frames import Frames


@final
@dataclass(frozen=True)
class AsTheyCame:
    """What a detector says of rows of numbers in which some cells are as they came."""

    asked: Asked
    frames: Frames

    def __call__(self, Z: Matrix, cells: CellsOfRows) -> Vector:
        try:
            X = self.frames.frame_with(Z, cells)
        except Exception:  # columns of some types hold no such cell beside others
            return np.full(len(Z), np.inf)
        found = asked_of_all(self.asked, X, len(Z))
        return np.where(np.isfinite(found), found, np.inf)


def asked_of_all(asked: Callable[[Any], Vector], X: Any, n: int) -> Vector:
    """What a detector says of rows; NaN where it refuses one."""
    whole = answer(asked, X, n)
    if n == 1 or np.isfinite(whole).all():
        return whole
    return np.concatenate([answer(asked, take(X, np.array([i])), 1) for i in range(n)])


def answer(asked: Callable[[Any], Vector], X: Any, n: int) -> Vector:
    """What a detector says of n rows at once; NaN of all if it refuses one."""
    try:
        with np.errstate(all="ignore"):
            found = asked(X)
    except Exception:  # a detector may refuse rows in any way
        return np.full(n, np.nan)
    return found if found.shape == (n,) else np.full(n, np.nan)
