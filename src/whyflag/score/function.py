"""Plain functions as scores, their answers checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np

from whyflag.arrays import Matrix, Vector
from whyflag.score.base import DifferentiableScore, Score, check_answer, check_finite

# Two answers for one row may differ by rounding (a matrix product of another shape, float32
# inside), never by more than this part of the largest score among the rows compared.
SAME_ANSWER = 1e-5


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
        self._gradient = gradient
        self._sign = sign

    def __call__(self, X: Matrix) -> Vector:
        return self._function(X)

    def value_and_grad(self, X: Matrix) -> tuple[Vector, Matrix]:
        gradient = np.asarray(self._gradient(X.copy()), dtype=np.float64)
        if gradient.shape != X.shape:
            raise ValueError(
                f"The gradient must map rows {X.shape} to shape {X.shape}, got {gradient.shape}."
            )
        return self._function(X), self._sign * gradient


@final
class Audited:
    """A foreign function whose answers are checked: their shape always, their honesty once.

    The first rows it sees are scored again, and a few of them alone. A score that is random, or
    that depends on the other rows of its batch, makes every attribution by perturbation
    meaningless, so it is refused.

    Args:
        function: The function.
        sign: −1 if its low values are the anomalous ones.
        copy: Whether it gets rows of its own, row by row in memory: a function that writes into
            its argument must not reach the caller's rows.
    """

    def __init__(
        self, function: Callable[[Matrix], Any], sign: float = 1.0, *, copy: bool = True
    ) -> None:
        self.function = function
        self.sign = sign
        self.copy = copy
        self.trusted = False

    def __call__(self, X: Matrix) -> Vector:
        try:
            values = self._answer(X)
        except Exception as error:
            error.add_note(
                f"This happened in the score, called with a float64 array of shape {X.shape}. "
                "For a function of PyTorch tensors see whyflag.adapters.torch.torch_score."
            )
            raise
        if not self.trusted:
            self._audit(X, values)
            # A row in the company of none proves little: the audit goes on until rows come.
            self.trusted = len(X) > 1
        return values

    def _answer(self, X: Matrix) -> Vector:
        values = np.asarray(self.function(X.copy() if self.copy else X), dtype=np.float64)
        check_answer(values, X, getattr(self.function, "__name__", type(self.function).__name__))
        return self.sign * values

    def _audit(self, X: Matrix, values: Vector) -> None:
        check_finite(values, X)
        head = X[:64]
        first, second = self._answer(head), self._answer(head)
        _compare(first, second, "is random: scored twice, one batch of rows got")
        rows = np.unique(np.linspace(0, len(X) - 1, 4).astype(int))
        alone = np.array([self._alone(X[row : row + 1]) for row in rows])
        copies = np.array([self._answer(np.repeat(X[row : row + 1], 8, axis=0))[0] for row in rows])
        remedy = "depends on the other rows of the batch:"
        _compare(values[rows], alone, f"{remedy} in company and alone, a row got")
        _compare(alone, copies, f"{remedy} alone and among copies of itself, a row got")

    def _alone(self, x: Matrix) -> float:
        try:
            return float(self._answer(x)[0])
        except Exception as error:
            raise ValueError(
                "A score must be a fixed function of each row by itself. This one fails on a row "
                f"alone: {type(error).__name__}: {error}"
            ) from error


def _compare(one: Vector, other: Vector, complaint: str) -> None:
    tolerance = SAME_ANSWER * max(1.0, float(np.abs(one).max()))
    differs = ~(np.abs(one - other) <= tolerance)
    if differs.any():
        row = int(np.argmax(differs))
        raise ValueError(
            f"A score must be a fixed function of each row by itself. This one {complaint} "
            f"{one[row]:.6g} and {other[row]:.6g}. Freeze its random state, or score each row "
            "against the training data only."
        )
