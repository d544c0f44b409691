"""Many small masked minimisations, stated as one batch."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Literal, TypeVar, final

import numpy as np

from whyflag.arrays import BoolMatrix, IntVector, Matrix, Tensor, Vector, pick
from whyflag.batches import batches
from whyflag.domain import Domain
from whyflag.minimise.finite_difference import Character
from whyflag.nearness import bend, distance, slope
from whyflag.score import Curvature, Gradient, Score, score_moves

Shape = Literal["box", "ball"]
T = TypeVar("T")

HAIR = 1e-13  # of a move, or of one scale
FARTHEST = 1e100  # scales, so that a hair is a number


@final
class Problems:
    """b independent problems: min e(y) + γ/|Sᶜ| Σ_{i∉S} dist(y_i, x_i), y_S = x_S, y in bounds.

    Solvers see the moves u = (y − x) / scale, so that every coordinate counts alike, and dist is
    the `distance` of u; and scores in their unit, so that a score that is a thousandth of another
    has its minima in the same places. A row outside the bounds is brought inside first.

    Arrays are laid out column by column: problems are many, and columns may be few, so that loops
    along the problems are the longer ones.

    Attributes:
        free: Coordinates that may move, (b, d).
        lower: Smallest move, (b, d).
        upper: Largest move, (b, d).
        entry: The first feasible move: none at all for a row within the bounds, (b, d).
        start: Where solvers begin; the entry unless something better is known, (b, d).
        gamma: γ.
        penalty: γ/|Sᶜ|, (b,).
        leash: Price of |u − entry|², which keeps moves within a ball, (b,).
        spectra: Eigenvalues (K, d) and eigenvectors (K, d, d) of the score's curvatures by the
            moves; None where the score knows none.
    """

    def __init__(
        self,
        score: Score,
        X: Matrix,
        keep: BoolMatrix,
        domain: Domain,
        *,
        gamma: float = 0.0,
        half_width: float = np.inf,
    ) -> None:
        self.score = score
        gradient = score.find(Gradient)
        self.gradient = None if gradient is None or gradient.kinked else gradient
        # What is known of the curvature goes with the gradient.
        self.curvature = None if self.gradient is None else score.find(Curvature)
        self.unit = 1.0 if score.unit is None else score.unit
        self.X = X = np.asfortranarray(X)
        self.domain = domain
        self.free: BoolMatrix = ~(np.asfortranarray(keep) | domain.fixed)
        lower = np.where(self.free, (domain.lower - X) / domain.scale, 0.0)
        upper = np.where(self.free, (domain.upper - X) / domain.scale, 0.0)
        self.entry: Matrix = np.clip(0.0, lower, upper)
        self.start: Matrix = self.entry
        self.lower: Matrix = np.maximum(lower, np.where(self.free, self.entry - half_width, 0.0))
        self.upper: Matrix = np.minimum(upper, np.where(self.free, self.entry + half_width, 0.0))
        self.gamma = gamma
        self._half_width = half_width
        self.penalty: Vector = gamma / np.maximum(self.free.sum(axis=1), 1)
        self.leash: Vector = np.zeros(len(X))
        self.spectra = _spectra(self.curvature, domain.scale, self.unit)
        self._answers: dict[str, Any] = {}
        self._bounded = bool(np.isfinite([self.lower, self.upper])[:, self.free].any())

    def __len__(self) -> int:
        return len(self.X)

    def with_gradient(self, gradient: Gradient) -> Problems:
        """The same problems with a gradient of another make, and no curvature."""
        other = copy(self)
        other.gradient, other.curvature, other.spectra = gradient, None, None
        return other

    def on_leash(self, leash: Vector, start: Matrix) -> Problems:
        """The same problems with another price of |u − entry|², begun from elsewhere."""
        other = copy(self)
        other.leash, other.start = leash, start
        return other

    def begun_from(self, starts: Tensor) -> Problems:
        """The same problems once for each of several starts, (s, b, d): one after another."""
        other = self.select(np.tile(np.arange(len(self)), len(starts)))
        other.start = np.asfortranarray(starts.reshape(-1, starts.shape[2]))
        return other

    def holding_nothing(self, which: IntVector) -> Problems:
        """Those of some rows in which every column may move that is not fixed, without a leash."""
        X = self.X[which]
        nothing = np.zeros(X.shape, dtype=np.bool_)
        other = Problems(
            self.score, X, nothing, self.domain, gamma=self.gamma, half_width=self._half_width
        )
        other._answers = self._answers
        return other

    def select(self, which: IntVector | slice) -> Problems:
        """Some of the problems."""
        other = copy(self)
        for name in ("X", "free", "lower", "upper", "entry", "start", "penalty", "leash"):
            setattr(other, name, pick(getattr(self, name), which))
        return other

    def points(self, u: Matrix) -> Matrix:
        """The rows y that moves lead to; y_S is x_S to the bit."""
        Y = self.X + self.domain.scale * u
        if self._bounded:
            # Rounding must not carry a feasible move over the bound.
            Y = np.clip(Y, self.domain.lower, self.domain.upper)
        return np.where(self.free & (u != 0), Y, self.X)

    def loss(self, u: Matrix) -> Vector:
        """Loss of moves; infinite where the score has no answer."""
        return self.loss_by(self.score(self.points(u)), u)

    def loss_by(self, value: Vector, u: Matrix) -> Vector:
        """Loss of moves by the scores of their points."""
        with np.errstate(over="ignore", invalid="ignore"):
            loss = value / self.unit + self._distance(u)
        return np.where(np.isfinite(loss), loss, np.inf)

    def losses(self, several: Tensor) -> Matrix:
        """Loss of several moves of each problem, in one call: (s, b, d) -> (s, b)."""
        s, b, d = several.shape
        losses = np.empty((s, b))
        for some in batches(s, b * d):
            these = self.begun_from(several[some])
            losses[some] = these.loss(these.start).reshape(-1, b)
        return losses

    def losses_of_columns(self, u: Matrix, values: Tensor, worth: BoolMatrix) -> Tensor:
        """Loss of moves in which one column has another value: (s, b, d) -> (s, b, d).

        Infinite where it is not worth asking, bool (s, b, d).
        """
        row, column, which = np.nonzero(worth.transpose(1, 2, 0))
        chosen = which, row, column
        at = np.where(worth, values, u)
        points = np.stack([self.points(each) for each in at])[chosen]  # q
        with np.errstate(over="ignore", invalid="ignore"):
            costs, now = self._costs(at), self._costs(u)
            cost = now.sum(axis=1)[row] - now[row, column] + costs[chosen]
            value = score_moves(self.score, self.points(u), row, column, points)
            loss = value / self.unit + cost
        losses = np.full(values.shape, np.inf)
        losses[chosen] = np.where(np.isfinite(loss), loss, np.inf)
        return losses

    def loss_and_grad(self, u: Matrix) -> tuple[Vector, Matrix, IntVector]:
        """Loss, its gradient by the moves, and which of the curvatures rules.

        Infinite and zero where the score has no answer.
        """
        points = self.points(u)
        regime = np.zeros(len(u), dtype=np.int64)
        if self.curvature is not None:
            value, gradient, regime = self.curvature(points)
        else:
            assert self.gradient is not None
            value, gradient = self.gradient(points)
        with np.errstate(over="ignore", invalid="ignore"):
            loss = value / self.unit + self._distance(u)
            gradient = np.asfortranarray(gradient) * (self.domain.scale / self.unit)
            gradient += self.pull(u)
        known = np.isfinite(loss) & (np.isfinite(gradient) | ~self.free).all(axis=1)
        gradient = np.where(self.free & known[:, None], gradient, 0.0)
        return np.where(known, loss, np.inf), gradient, regime

    def pull(self, u: Matrix) -> Matrix:
        """Slopes of what moves cost by themselves, (b, d)."""
        pull = self.penalty[:, None] * slope(u)
        if self.leash.any():
            pull += (2 * self.leash)[:, None] * (u - self.entry)
        return pull

    def stiffness(self, u: Matrix) -> Matrix:
        """Second derivatives of what moves cost by themselves, (b, d)."""
        return self.penalty[:, None] * bend(u) + (2 * self.leash)[:, None]

    @property
    def rows(self) -> tuple[IntVector, IntVector]:
        """The first problem of each row, (r,), and the row of each problem, (b,)."""
        new = np.append(True, (self.X[1:] != self.X[:-1]).any(axis=1))
        return np.flatnonzero(new), np.cumsum(new) - 1

    @property
    def typical_loss(self) -> float:
        """The highest loss among typical rows, but for outliers among them."""
        return self._asked_once("typical loss", self._highest_typical_loss)

    @property
    def character(self) -> Character:
        """What the score is like near typical rows."""
        return self._asked_once("character", lambda: Character.of(self.score, self.domain))

    def project(self, u: Matrix) -> Matrix:
        """The nearest feasible move; one that is a hair inside a bound is at it.

        A step up to a bound ends beside it by rounding, and every step from there would be as
        short as that.
        """
        if not self._bounded:
            return u
        hair = HAIR * np.clip(np.abs(u), 1.0, FARTHEST)
        u = np.where(u <= self.lower + hair, self.lower, u)
        return np.where(u >= self.upper - hair, self.upper, u)

    def loose(self, u: Matrix, gradient: Matrix) -> BoolMatrix | None:
        """Coordinates that descent does not push against a bound; None: all."""
        if not self._bounded:
            return None
        low = (u <= self.lower) & (gradient > 0)
        high = (u >= self.upper) & (gradient < 0)
        return ~(low | high)

    def outward(self, u: Matrix, direction: Matrix) -> BoolMatrix:
        """Coordinates that stand at a bound and would be moved over it."""
        low = (u <= self.lower) & (direction < 0)
        return low | ((u >= self.upper) & (direction > 0))

    def reach(self, u: Matrix, direction: Matrix) -> Vector:
        """The longest step that meets no bound."""
        if not self._bounded:
            return np.full(len(u), np.inf)
        room = np.where(direction > 0, self.upper, self.lower) - u
        # What does not move has no end; nor has what moves towards no bound.
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = np.where(direction == 0, np.inf, room / direction)
        return steps.min(axis=1)

    def _highest_typical_loss(self) -> float:
        rows = self.domain.typical
        if len(rows) == 0:
            return -np.inf
        seen: Character | None = self._answers.get("character")
        losses = (self.score(rows) if seen is None else seen.values) / self.unit
        # Of heavy tails some typical rows are outliers. Scores of normal rows vary by √(d/2) units.
        return float(min(losses.max(), losses.min() + np.sqrt(2 * rows.shape[1])))

    def _asked_once(self, question: str, ask: Callable[[], T]) -> T:
        """What is true of all problems is asked once, and shared by parts of them."""
        if question not in self._answers:
            self._answers[question] = ask()
        answer: T = self._answers[question]
        return answer

    def _distance(self, u: Matrix) -> Vector:
        with np.errstate(over="ignore", invalid="ignore"):  # of moves without end
            total = self.penalty * distance(u).sum(axis=1)
        if self.leash.any():
            away = u - self.entry
            total += self.leash * dot(away, away)
        return total

    def _costs(self, u: Tensor) -> Tensor:
        """What the move of each column costs: (…, b, d)."""
        costs = self.penalty[:, None] * distance(u)
        if self.leash.any():
            costs = costs + self.leash[:, None] * (u - self.entry) ** 2
        return costs


def dot(one: Matrix, other: Matrix) -> Vector:
    """The scalar product of each problem's two vectors: (b, d), (b, d) -> (b,)."""
    return np.einsum("bd,bd->b", one, other)


def rounding(loss: Vector, part: float) -> Vector:
    """What losses may differ by and count as equal: a part of them, or of one; finite always."""
    size = np.where(np.isfinite(loss), np.abs(loss), 0.0)
    return np.asarray(part * np.maximum(size, 1.0))


def _spectra(
    curvature: Curvature | None, scale: Vector, unit: float
) -> tuple[Matrix, Tensor] | None:
    if curvature is None:
        return None
    values, vectors = np.linalg.eigh(curvature.matrices * np.outer(scale, scale) / unit)
    return np.maximum(values, 1e-14 * values.max(axis=1, keepdims=True)), vectors
