"""Anomaly scores e(x): what whyflag needs of a detector, and nothing else of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix, Tensor, Vector
from whyflag.score.growing import AdditiveMarginal, AskedMarginal, GrowingMarginal

if TYPE_CHECKING:
    from whyflag.score.audit import Original

PRECISION = float(np.finfo(np.float64).eps)


class Score(ABC):
    """An anomaly score e: high = anomalous, everywhere inside whyflag.

    A score is deterministic and works row by row: the answer for a row depends on nothing else.
    Away from the data it may be infinite or NaN where the detector has no answer; whoever needs
    a number asks through `evaluate`.

    Attributes:
        n_features: The number of columns; None: any number.
        feature_names: The names of the columns; None: they are known by position.
        threshold: A higher score is an alarm; None: the detector names none.
        unit: What corresponds to one nat of an energy, −log density: the weight of distances is
            counted in it. 1 for an energy; None: not known (see `unit_from`).
        original: The library's own number, where the score computes it by a formula of its own;
            the first rows are compared with it.
    """

    n_features: int | None = None
    feature_names: tuple[str, ...] | None = None
    threshold: float | None = None
    unit: float | None = None
    original: Original | None = None

    def __init_subclass__(cls) -> None:
        # Here, so that no adapter can forget it, and none has to think of it.
        if "__call__" in vars(cls):
            setattr(cls, "__call__", _compared(vars(cls)["__call__"]))  # noqa: B010

    @abstractmethod
    def __call__(self, X: Matrix) -> Vector:
        """Score rows: (n, d) -> (n,)."""

    @property
    def precision(self) -> float:
        """The relative rounding of its answers."""
        return PRECISION


def _compared(call: Callable[[Any, Matrix], Vector]) -> Callable[[Any, Matrix], Vector]:
    """Score rows, and compare with the library's own number where there is one."""

    @wraps(call)
    def compared(self: Any, X: Matrix) -> Vector:
        values = call(self, X)
        if self.original is not None:
            # Kernels fade to nothing far from the data; the threshold tells what is something.
            self.original.compare(X, values, partial(call, self), abs(self.threshold or 0.0))
        return values

    return compared


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
    centers: Matrix | None = None  # K x d: where each parabola is lowest, if that is known

    @abstractmethod
    def value_grad_curvature(self, X: Matrix) -> tuple[Vector, Matrix, IntVector]:
        """Score, gradient, and which of the `curvatures` rules: (n, d) -> (n,), (n, d), (n,)."""

    def value_and_grad(self, X: Matrix) -> tuple[Vector, Matrix]:
        value, gradient, _ = self.value_grad_curvature(X)
        return value, gradient


class MarginalScore(Score):
    """A score that is also defined on a part of the features.

    Attributes:
        density: Whether it is −log of a density in the units of the columns: then a column in
            metres has a marginal score that is lower by log 1000 than the same in millimetres.
    """

    density: bool = False

    @abstractmethod
    def marginal(self, X: Matrix, keep: BoolMatrix) -> Matrix:
        """Score rows with only the columns of `keep`: (n, d), bool (m, d) -> (n, m)."""

    def growing(self, X: Matrix, begin: BoolVector) -> GrowingMarginal:
        """The marginal scores of rows, each on a set of columns that grows from `begin`, (d,)."""
        return AskedMarginal(self.marginal, X, begin)

    def log_units(self, scale: Vector) -> Vector:
        """What the marginal of each column owes to its unit, if `scale` is to be one: (d,)."""
        return np.log(scale) if self.density else np.zeros(len(scale))


class AdditiveScore(MarginalScore):
    """A score that is a sum of parts, one for each feature."""

    @abstractmethod
    def parts(self, X: Matrix) -> Matrix:
        """The part of each feature: (n, d) -> (n, d)."""

    def marginal(self, X: Matrix, keep: BoolMatrix) -> Matrix:
        return self.parts(X) @ keep.T.astype(np.float64)

    def growing(self, X: Matrix, begin: BoolVector) -> GrowingMarginal:
        return AdditiveMarginal(self.parts(X), begin)


def evaluate(score: Score, X: Matrix, chunk: int | None = None) -> Vector:
    """Score rows, at most `chunk` at a time, where every answer must be a finite number."""
    size = chunk or len(X)
    parts = [score(X[begin : begin + size]) for begin in range(0, len(X), size)]
    values = parts[0] if len(parts) == 1 else np.concatenate(parts)
    check_answer(values, X, type(score).__name__)
    check_finite(values, X)
    return values


def unit_from(scores: Vector, n_features: int) -> float:
    """The unit of a score by its values at normal rows.

    The energy of a Gaussian with d features has a standard deviation of √(d/2) nats over the rows
    that it generates.
    """
    lower, upper = np.percentile(scores, [25, 75])
    # Quartiles, because a few anomalous rows among the normal ones would inflate a deviation.
    spread = (upper - lower) / 1.349 or float(scores.std())
    return float(spread / np.sqrt(n_features / 2)) or 1.0


def check_answer(values: Any, X: Matrix, name: str) -> None:
    """Refuse what is not one number for each row."""
    if values.shape != (len(X),):
        raise ValueError(
            f"The score must map rows {X.shape} to shape ({len(X)},), got {values.shape} "
            f"from {name}."
        )


def check_finite(values: Vector, X: Matrix) -> None:
    """Refuse scores that are no numbers."""
    finite = np.isfinite(values)
    if not finite.all():
        row = int(np.argmin(finite))
        raise ValueError(
            f"The score must be finite, got {values[row]} at row {row}, whose values are "
            f"{np.array2string(X[row], threshold=8, edgeitems=4)}. If no row can have such "
            "values, say so with the bounds of the `Domain`."
        )
