"""Plain functions as scores, their answers checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from whyflag.arrays import Matrix, Vector
from whyflag.score.answers import PRECISION, check_answer
from whyflag.score.audit import Audit, Fixed
from whyflag.score.base import Score
from whyflag.score.gradient import Gradient
from whyflag.score.labels import Labels, refuse_texts
from whyflag.score.slopes import Slopes

REMEDY = "Leave `gradient` out if in doubt: the score is explained without one, more slowly."


def from_function(
    function: Callable[[Matrix], Any],
    gradient: Callable[[Matrix], Any] | None = None,
    *,
    n_features: int | None = None,
    sign: float = 1.0,
    threshold: float | None = None,
    name: str | None = None,
) -> Score:
    """A plain function as a score, with its gradient if there is one.

    Args:
        function: Rows (n, d) to scores (n,).
        gradient: Rows (n, d) to gradients (n, d).
        n_features: The number of columns.
        sign: −1 if its low values are the anomalous ones.
        threshold: A score beyond this is an alarm, in the function's units.
        name: What messages call it; the function's name if none is given.
    """
    if name is None:
        name = str(getattr(function, "__name__", type(function).__name__))
    asked = Asked(function, sign, name)
    return Score(
        asked,
        () if gradient is None else (Gradient(AskedGradient(asked, gradient)),),
        n_features=n_features,
        threshold=None if threshold is None else sign * threshold,
        name=name,
        audit=Audit(Fixed(), Labels(), Slopes(REMEDY)),
    )


@final
class Asked:
    """A foreign function, whose answers are one number for each row.

    It gets rows of its own, row by row in memory: a function that writes into its argument must
    not reach the caller's rows.

    Attributes:
        precision: The relative rounding of its answers, by their type.
    """

    def __init__(self, function: Callable[[Matrix], Any], sign: float, name: str) -> None:
        self.precision = PRECISION
        self._function, self.sign, self._name = function, sign, name

    def __call__(self, X: Matrix) -> Vector:
        # What has no `copy`, a table of Arrow, say, is not written into.
        given = np.asarray(self._function(X.copy() if hasattr(X, "copy") else X))
        refuse_texts(given, self._name)
        if given.dtype.kind == "f":
            self.precision = max(self.precision, float(np.finfo(given.dtype).eps))
        values = np.asarray(given, dtype=np.float64)
        check_answer(values, X, self._name)
        return self.sign * values


@final
@dataclass(frozen=True)
class AskedGradient:
    """The function and a gradient that came with it."""

    function: Asked
    gradient: Callable[[Matrix], Any]

    def __call__(self, X: Matrix) -> tuple[Vector, Matrix]:
        gradient = np.asarray(self.gradient(X.copy()), dtype=np.float64)
        if gradient.shape != X.shape:
            raise ValueError(
                f"The gradient must map rows {X.shape} to shape {X.shape}, got {gradient.shape}."
            )
        return self.function(X), self.function.sign * gradient
