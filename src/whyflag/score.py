"""Anomaly scores e(x): what whyflag needs of a detector, and nothing else of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, final

import numpy as np

from whyflag.arrays import BoolMatrix, IntVector, Matrix, Tensor, Vector

# Two answers for one row may differ by rounding (a matrix product of another shape, float32
# inside), never by more than this part of the largest score among the rows compared.
SAME_ANSWER = 1e-5


class Score(ABC):
    """An anomaly score e: high = anomalous, everywhere inside whyflag.

    A score is deterministic and works row by row: the answer for a row depends on nothing else.
    Away from the data it may be infinite or NaN where the detector has no answer; whoever needs
    a number asks through `evaluate`.
    """

    n_features: int | None = None  # None: any number

    @abstractmethod
    def __call__(self, X: Matrix) -> Vector:
        """Score rows: (n, d) -> (n,)."""


class DifferentiableScore(Score):
    """A score with a gradient: what gradient methods and the fast minimiser need."""

    @abstractmethod
    def value_and_grad(self, X: Matrix) -> tuple[Vector, Matrix]:
        """Score rows and differentiate: (n, d) -> (n,), (n, d)."""


class CurvedScore(DifferentiableScore):
    """A score whose second derivative is known to be close to one of a few matrices.

    The energy of a Gaussian mixture is close to a parabola wherever one component dominates.
    Where covariances are nearly singular, the minimiser needs to know the parabola: without it
    a problem in 60 dimensions takes thousands of steps instead of ten.
    """

    curvatures: Tensor  # K x d x d, positive definite

    @abstractmethod
    def value_grad_curvature(self, X: Matrix) -> tuple[Vector, Matrix, IntVector]:
        """Score, gradient, and which of the `curvatures` rules: (n, d) -> (n,), (n, d), (n,)."""

    def value_and_grad(self, X: Matrix) -> tuple[Vector, Matrix]:
        value, gradient, _ = self.value_grad_curvature(X)
        return value, gradient


class MarginalScore(Score):
    """A score that is also defined on a part of the features."""

    @abstractmethod
    def marginal(self, X: Matrix, keep: BoolMatrix) -> Matrix:
        """Score rows with only the columns of `keep`: (n, d), bool (m, d) -> (n, m)."""


def as_score(
    detector: Any,
    gradient: Callable[[Matrix], Any] | None = None,
    *,
    n_features: int | None = None,
) -> Score:
    """Turn a detector into a `Score`.

    Args:
        detector: A `Score`; a whyflag detector (anything with a `to_score()` method); or a plain
            function from rows (n, d) to scores (n,), high = anomalous.
        gradient: For a plain function: its gradient, (n, d) -> (n, d). Makes the score
            differentiable, and the minimisation behind ASH much faster.
        n_features: For a plain function: the number of columns it takes.

    >>> score = as_score(lambda X: (X**2).sum(axis=1), gradient=lambda X: 2 * X, n_features=2)
    >>> score(np.array([[3.0, 4.0]]))
    array([25.])
    """
    if isinstance(detector, Score) or hasattr(detector, "to_score"):
        if gradient is not None:
            raise TypeError(
                f"`gradient` goes with a plain function, got it with a {type(detector).__name__}."
            )
        score: Score = detector if isinstance(detector, Score) else detector.to_score()
        if n_features not in (None, score.n_features) and score.n_features is not None:
            raise ValueError(
                f"{type(detector).__name__} scores rows of {score.n_features} features, "
                f"got n_features={n_features}."
            )
        return score
    if not callable(detector) or isinstance(detector, type):
        raise TypeError(
            "`detector` must be a fitted whyflag detector, a Score, or a function from rows "
            f"(n, d) to scores (n,), got {_describe(detector)}. For another library's detector "
            "pass its scoring function, turned to high = anomalous: for scikit-learn "
            "`lambda X: -detector.score_samples(X)`, for PyOD `detector.decision_function`."
        )
    if gradient is None:
        return FunctionScore(detector, n_features)
    return DifferentiableFunctionScore(detector, gradient, n_features)


def evaluate(score: Score, X: Matrix) -> Vector:
    """Score rows where every answer must be a finite number."""
    values = score(X)
    _check_answer(values, X, type(score).__name__)
    _check_finite(values, X)
    return values


@final
class FunctionScore(Score):
    """A plain function as a score."""

    def __init__(self, function: Callable[[Matrix], Any], n_features: int | None = None) -> None:
        self.n_features = n_features
        self._function = _Audited(function)

    def __call__(self, X: Matrix) -> Vector:
        return self._function(X)


@final
class DifferentiableFunctionScore(DifferentiableScore):
    """A plain function and its gradient as a score."""

    def __init__(
        self,
        function: Callable[[Matrix], Any],
        gradient: Callable[[Matrix], Any],
        n_features: int | None = None,
    ) -> None:
        self.n_features = n_features
        self._function = _Audited(function)
        self._gradient = gradient

    def __call__(self, X: Matrix) -> Vector:
        return self._function(X)

    def value_and_grad(self, X: Matrix) -> tuple[Vector, Matrix]:
        gradient = np.asarray(self._gradient(X), dtype=np.float64)
        if gradient.shape != X.shape:
            raise ValueError(
                f"The gradient must map rows {X.shape} to shape {X.shape}, got {gradient.shape}."
            )
        return self._function(X), gradient


@final
class _Audited:
    """A foreign function whose answers are checked: their shape always, their honesty once.

    The first rows it sees are scored again, and a few of them alone. A score that is random, or
    that depends on the other rows of its batch, makes every attribution by perturbation
    meaningless, so it is refused.
    """

    def __init__(self, function: Callable[[Matrix], Any]) -> None:
        self.function = function
        self.trusted = False

    def __call__(self, X: Matrix) -> Vector:
        values = self._answer(X)
        if not self.trusted:
            self._audit(X, values)
            # A row in the company of none proves little: the audit goes on until rows come.
            self.trusted = len(X) > 1
        return values

    def _answer(self, X: Matrix) -> Vector:
        # A function that writes into its argument must not reach the caller's rows.
        values = np.asarray(self.function(X.copy()), dtype=np.float64)
        _check_answer(values, X, getattr(self.function, "__name__", type(self.function).__name__))
        return values

    def _audit(self, X: Matrix, values: Vector) -> None:
        _check_finite(values, X)
        head = X[:64]
        first, second = self._answer(head), self._answer(head)
        _compare(first, second, "is random: scored twice, one batch of rows got")
        rows = np.unique(np.linspace(0, len(X) - 1, 4).astype(int))
        alone = np.array([self._answer(X[row : row + 1])[0] for row in rows])
        copies = np.array([self._answer(np.repeat(X[row : row + 1], 8, axis=0))[0] for row in rows])
        remedy = "depends on the other rows of the batch:"
        _compare(values[rows], alone, f"{remedy} in company and alone, a row got")
        _compare(alone, copies, f"{remedy} alone and among copies of itself, a row got")


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


def _check_answer(values: Any, X: Matrix, name: str) -> None:
    if values.shape != (len(X),):
        raise ValueError(
            f"The score must map rows {X.shape} to shape ({len(X)},), got {values.shape} "
            f"from {name}."
        )


def _check_finite(values: Vector, X: Matrix) -> None:
    finite = np.isfinite(values)
    if not finite.all():
        row = int(np.argmin(finite))
        raise ValueError(
            f"The score must be finite, got {values[row]} at row {row}, whose values are "
            f"{np.array2string(X[row], threshold=8, edgeitems=4)}. If no row can have such "
            "values, say so with the bounds of the `Domain`."
        )


def _describe(detector: Any) -> str:
    if isinstance(detector, type):
        return f"the class {detector.__name__} (an instance is needed)"
    return f"an object of type {type(detector).__name__}"
