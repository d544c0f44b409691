"""IG, integrated gradients: the score's rise along the way from the mean of normal rows to x."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, final

import numpy as np

from whyflag.arrays import BoolVector, IntVector, Matrix, Vector
from whyflag.batches import CALL, batches
from whyflag.checks import check_number, check_whole
from whyflag.contributions import Contributions
from whyflag.domain import Domain
from whyflag.methods.base import BoundMethod, Method
from whyflag.outcome import Outcome, ended_if
from whyflag.prepared import Prepared
from whyflag.score import Ability, Gradient, Score, evaluate
from whyflag.score.answers import check_finite


@final
@dataclass(frozen=True)
class IG(Method):
    """Integrated gradients: what each feature adds to the score on the line from the mean to x.

    φ_i = (x_i − r_i) ∫₀¹ ∂e/∂x_i (r + t (x − r)) dt, r the mean of the background. Needs a score
    with a gradient.

    The values sum to e(x) − e(r) as exactly as the integral is computed; `Attribution.unexplained`
    is what is missing. The rise of the score over any piece of the way is known, so a piece whose
    integral misses it is halved, until all that is missing is small.

    Args:
        n_steps: Gauss-Legendre points on a piece; the first piece is the whole way.
        tolerance: What may be missing, as a share of Σ |φ_i|.
        max_steps: Most points for a row. A row that would need more has not `converged`.
    """

    name: ClassVar[str] = "IG"
    needs: ClassVar[tuple[type[Ability], ...]] = (Gradient,)
    needs_background: ClassVar[bool] = True

    n_steps: int = 50
    tolerance: float = 1e-4
    max_steps: int = 5000

    def __post_init__(self) -> None:
        check_number("tolerance", self.tolerance, at_least=0)
        check_whole("n_steps", self.n_steps, at_least=1)
        check_whole("max_steps", self.max_steps, at_least=1)
        if self.n_steps > self.max_steps:
            raise ValueError(
                f"`n_steps` must be at most `max_steps`, got {self.n_steps} and {self.max_steps}."
            )

    def _bind(self, prepared: Prepared) -> BoundMethod:
        mean = prepared.background.mean(axis=0)
        return _BoundIG(prepared.score, prepared.domain, mean, self)


@final
@dataclass(frozen=True)
class _BoundIG(BoundMethod):
    score: Score
    domain: Domain
    mean: Vector  # d
    method: IG

    def attribute(self, X: Matrix) -> Contributions:
        domain = self.domain
        reference = np.where(domain.fixed, X, self.mean)  # n x d
        way = _Way(self.score, self.score.need(Gradient), reference, X - reference)
        scores, base = evaluate(self.score, X), evaluate(self.score, reference)
        columns, converged, n_points = self._integrate(way, base, scores)
        return Contributions(
            values=columns @ domain.membership.T,
            base_values=base,
            scores=scores,
            evaluations=n_points + 2,
            reference=reference,
            ended=ended_if(converged, Outcome.OUT_OF_BUDGET),
        )

    def _integrate(
        self, way: _Way, base: Vector, scores: Vector
    ) -> tuple[Matrix, BoolVector, IntVector]:
        """Integrals (n, d), whether what they miss is small (n,), and points taken (n,)."""
        n, n_steps = len(base), self.method.n_steps
        done = np.zeros_like(way.step)  # n x d: of the pieces that will do
        missing = np.zeros(n)
        n_points = np.zeros(n, dtype=np.int64)
        row = np.arange(n)  # of each piece that is still open
        begin, end = np.zeros(n), np.ones(n)
        low, high = base, scores  # the score where a piece begins and ends
        while len(row):
            part = way.integrate(row, begin, end, n_steps)  # pieces x d
            n_points += n_steps * np.bincount(row, minlength=n)
            error = np.abs(high - low - part.sum(axis=1))
            whole = done.copy()
            np.add.at(whole, row, part)
            # Open pieces of a row share what it may still miss.
            allowed = self.method.tolerance * np.abs(whole).sum(axis=1) - missing
            good = error <= allowed[row] / np.bincount(row, minlength=n)[row]
            # A row that can't afford its open pieces twice keeps them as they are.
            cost = 2 * n_steps * np.bincount(row[~good], minlength=n)
            good |= (n_points + cost > self.method.max_steps)[row]
            np.add.at(done, row[good], part[good])
            np.add.at(missing, row[good], error[good])
            row, begin, end, low, high = (a[~good] for a in (row, begin, end, low, high))
            middle = (begin + end) / 2
            at_middle = way.scores(row, middle)
            n_points += np.bincount(row, minlength=n)
            row = np.tile(row, 2)
            begin, end = np.concatenate([begin, middle]), np.concatenate([middle, end])
            low, high = np.concatenate([low, at_middle]), np.concatenate([at_middle, high])
        return done, missing <= self.method.tolerance * np.abs(done).sum(axis=1), n_points


@final
@dataclass(frozen=True)
class _Way:
    """The straight ways from the references to the rows."""

    score: Score
    gradient: Gradient
    start: Matrix  # n x d
    step: Matrix  # n x d

    def integrate(self, row: IntVector, begin: Vector, end: Vector, n_steps: int) -> Matrix:
        """Integrals of the gradient over pieces of the ways, times the step: (m,) -> (m, d)."""
        nodes, weights = _gauss_legendre(n_steps)
        d = self.step.shape[1]
        integrals = np.empty((len(row), d))
        for piece in batches(len(row), n_steps * d, CALL):
            half = (end[piece] - begin[piece])[:, None] / 2  # m x 1
            t = begin[piece, None] + half * (1 + nodes)  # m x steps
            start, step = self.start[row[piece]], self.step[row[piece]]  # m x d
            # Column by column, so that loops run along the steps, not along a few columns.
            points = step.T[:, :, None] * t  # d x m x steps
            points += start.T[:, :, None]
            flat = points.reshape(d, -1).T
            value, gradient = self.gradient(flat)
            check_finite(value, flat)
            self._check_gradient(gradient, flat)
            mean = gradient.T.reshape(points.shape) @ weights  # d x m
            integrals[piece] = half * mean.T * step
        return integrals

    def _check_gradient(self, gradient: Matrix, points: Matrix) -> None:
        if not np.isfinite(gradient).all():
            finite = np.isfinite(gradient).all(axis=1)
            point = points[int(np.argmin(finite))]
            raise ValueError(
                "IG needs a gradient that is finite on the way from the mean to a row, got "
                f"{gradient[int(np.argmin(finite))]} at {point}."
            )

    def scores(self, row: IntVector, t: Vector) -> Vector:
        """Scores at points of the ways: (m,) -> (m,)."""
        if not len(row):
            return np.zeros(0)
        return evaluate(self.score, self.start[row] + t[:, None] * self.step[row])


@lru_cache(maxsize=8)
def _gauss_legendre(n: int) -> tuple[Vector, Vector]:
    """Nodes in (−1, 1) and weights."""
    return np.polynomial.legendre.leggauss(n)
