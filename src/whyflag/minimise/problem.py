"""Many small masked minimisations, stated as one batch."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix, Tensor, Vector
from whyflag.domain import Domain
from whyflag.score import CurvedScore, DifferentiableScore, Score

Shape = Literal["box", "ball"]


@final
@dataclass(frozen=True)
class Minimum:
    """Where each minimisation of a batch ended, and whether it had arrived."""

    point: Matrix  # b x d
    loss: Vector  # b
    converged: BoolVector  # b
    n_evaluations: IntVector  # b


@final
class Problems:
    """b independent problems: min e(y) + γ/|Sᶜ| Σ_{i∉S} dist(y_i, x_i), y_S = x_S, y feasible.

    Solvers see the moves u = (y − x) / scale, so that every coordinate counts alike, and
    dist(y_i, x_i) = u_i². A move is feasible when y lies within the bounds of the domain and,
    if there is a radius, u within a box or a ball. A row outside the bounds is brought inside
    first; neighbourhoods are then about the place where it enters.

    Attributes:
        free: Coordinates that may move, (b, d).
        lower: Smallest move, (b, d).
        upper: Largest move, (b, d).
        start: The first feasible move: none at all for a row within the bounds, (b, d).
    """

    def __init__(
        self,
        score: Score,
        X: Matrix,
        keep: BoolMatrix,
        domain: Domain,
        *,
        gamma: float = 0.0,
        radius: float | None = None,
        shape: Shape = "box",
    ) -> None:
        self.score = score
        self.X = X
        self.domain = domain
        self.free = ~(keep | domain.fixed)
        n_free = self.free.sum(axis=1)
        self.penalty: Vector = gamma / np.maximum(n_free, 1)  # b
        lower = np.where(self.free, (domain.lower - X) / domain.scale, 0.0)
        upper = np.where(self.free, (domain.upper - X) / domain.scale, 0.0)
        self.start: Matrix = np.clip(0.0, lower, upper)
        self._radius = radius if shape == "ball" else None
        if radius is not None:
            lower = np.maximum(lower, np.where(self.free, self.start - radius, 0.0))
            upper = np.minimum(upper, np.where(self.free, self.start + radius, 0.0))
        self.lower: Matrix = lower
        self.upper: Matrix = upper
        self._bounded = bool(
            np.isfinite(lower[self.free]).any() or np.isfinite(upper[self.free]).any()
        )

    def with_score(self, score: Score) -> Problems:
        """The same problems with another score."""
        other = copy(self)
        other.score = score
        return other

    def __len__(self) -> int:
        return len(self.X)

    def points(self, u: Matrix, which: IntVector) -> Matrix:
        """The rows y that moves `u` of the problems `which` lead to; y_S is x_S to the bit."""
        X = self.X[which]
        Y = X + self.domain.scale * u
        if self._bounded:
            # Rounding must not carry a feasible move over the bound.
            Y = np.clip(Y, self.domain.lower, self.domain.upper)
        return np.where(self.free[which] & (u != 0), Y, X)

    def loss(self, u: Matrix, which: IntVector) -> Vector:
        """Loss of the moves `u` of the problems `which`; infinite where the score has no answer."""
        loss = self.score(self.points(u, which)) + self._distance(u, which)
        return np.where(np.isfinite(loss), loss, np.inf)

    def loss_and_grad(self, u: Matrix, which: IntVector) -> tuple[Vector, Matrix, IntVector]:
        """Loss, its gradient by the moves, and which of the `curvatures` rules.

        Infinite and zero where the score has no answer.
        """
        points = self.points(u, which)
        regime = np.zeros(len(u), dtype=np.int64)
        if isinstance(self.score, CurvedScore):
            value, gradient, regime = self.score.value_grad_curvature(points)
        else:
            assert isinstance(self.score, DifferentiableScore)
            value, gradient = self.score.value_and_grad(points)
        loss = value + self._distance(u, which)
        with np.errstate(over="ignore", invalid="ignore"):
            gradient = gradient * self.domain.scale + (2 * self.penalty[which])[:, None] * u
        known = np.isfinite(loss) & np.isfinite(gradient).all(axis=1)
        gradient = np.where(self.free[which] & known[:, None], gradient, 0.0)
        return np.where(known, loss, np.inf), gradient, regime

    def _distance(self, u: Matrix, which: IntVector) -> Vector:
        return self.penalty[which] * np.einsum("bd,bd->b", u, u)

    def curvatures(self) -> Tensor | None:
        """Second derivatives by the moves that the score may have, (K, d, d), if it knows them."""
        if not isinstance(self.score, CurvedScore):
            return None
        scale = self.domain.scale
        return self.score.curvatures * np.outer(scale, scale)

    def project(self, u: Matrix, which: IntVector) -> Matrix:
        """The nearest feasible move."""
        if not self._bounded:
            return u
        lower, upper = self.lower[which], self.upper[which]
        inside = np.clip(u, lower, upper)
        if self._radius is None:
            return inside
        # The nearest point of box ∩ ball is clip(v / (1 + μ)) with the smallest μ ≥ 0 that is
        # short enough; as the box holds the centre, the length falls with μ: bisect 1 / (1 + μ).
        centre = self.start[which]
        move = u - centre
        low, high = lower - centre, upper - centre
        outside = np.linalg.norm(inside - centre, axis=1) > self._radius
        if not outside.any():
            return inside
        shrink, grow = np.zeros(len(u)), np.ones(len(u))
        for _ in range(60):
            middle = 0.5 * (shrink + grow)
            length = np.linalg.norm(np.clip(middle[:, None] * move, low, high), axis=1)
            shrink = np.where(length <= self._radius, middle, shrink)
            grow = np.where(length <= self._radius, grow, middle)
        within = np.clip(shrink[:, None] * move, low, high)
        return np.where(outside[:, None], centre + within, inside)

    def boundary(self, u: Matrix, gradient: Matrix, which: IntVector) -> Boundary:
        """What holds each problem back at `u`: the bounds and the sphere that descent pushes at."""
        if not self._bounded:
            return Boundary(None, None)
        blocked = (u <= self.lower[which]) & (gradient > 0)
        blocked |= (u >= self.upper[which]) & (gradient < 0)
        loose = self.free[which] & ~blocked
        if self._radius is None:
            return Boundary(loose, None)
        outward = u - self.start[which]
        on_sphere = np.linalg.norm(outward, axis=1) >= self._radius * (1 - 1e-9)
        normal = np.where(loose, outward, 0.0)
        held = on_sphere & ((gradient * normal).sum(axis=1) < 0)
        length = np.linalg.norm(normal, axis=1)
        held &= length > 0
        return Boundary(
            loose, np.where(held, 1 / np.where(held, length, 1.0), 0.0)[:, None] * normal
        )


@final
@dataclass(frozen=True)
class Boundary:
    """The directions that are left to each problem."""

    loose: BoolMatrix | None  # b x d: coordinates that no bound holds; None: all
    normal: Matrix | None  # b x d: unit normal of the sphere that holds a problem, or zero

    def along(self, vector: Matrix) -> Matrix:
        """The part of `vector` along which the problems can move."""
        if self.loose is None:
            return vector
        part = np.where(self.loose, vector, 0.0)
        if self.normal is None:
            return part
        return part - (part * self.normal).sum(axis=1)[:, None] * self.normal


@final
@dataclass(frozen=True)
class Moves:
    """Where the moves of a batch ended; filled in as problems end."""

    u: Matrix  # b x d
    loss: Vector  # b
    converged: BoolVector  # b
    n_evaluations: IntVector  # b

    @classmethod
    def at_start(cls, problems: Problems) -> Moves:
        b = len(problems)
        return cls(
            problems.start.copy(), np.full(b, np.inf), np.zeros(b, bool), np.zeros(b, np.int64)
        )

    def record(self, which: IntVector, u: Matrix, loss: Vector, converged: BoolVector) -> None:
        self.u[which], self.loss[which], self.converged[which] = u, loss, converged
