"""Minimisation by few calls of a score that has no gradient, and few columns.

A call may take a second, whatever its size. So each call asks for as much as the next step can use:
the score, its slopes and its second differences where a step should lead, and the score on the way
there. The step is the least of the parabola

    e(u + s) ≈ e(u) + g·s + ½ sᵀH s,   within the bounds and a box around u.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix, Tensor, Vector
from whyflag.batches import batches
from whyflag.minimise.finite_difference import FiniteDifference
from whyflag.minimise.moves import Moves
from whyflag.minimise.problem import Problems, dot

FEW = 6  # columns for which second differences are worth their points
MOST_CALLS = 30
APART = 1e-3  # of a scale: points of second differences
WAY = 0.5 ** np.array([7, 5, 3, 2, 1, 0])  # parts of a step at which the score is asked for
SHORT = 2  # of these parts: a parabola that does not hold beyond has met a kink
FORETOLD = 0.5  # of a gain: a parabola that foretells it better than that holds
REACH = 16.0  # scales: half of the first box
RIM = 0.01  # of the largest curvature: what bends down by more is the rim of a valley
WIDER = 4.0  # times as far as it went well a step may go next
ROUNDING = 4 * float(np.finfo(np.float64).eps)
FINE = 1e4  # resolutions of the loss: a step that promises less is judged by the slope it leads to
LEAST = 1e-8  # of the largest curvature of a problem: less is none
ENDLESS = 1e100  # scales: whoever has gone so far would go on until numbers end


def descend_by_parabolas(
    problems: Problems, sloped: FiniteDifference, most: int, flat: float
) -> Moves:
    """Minimise every problem from its start, never going up by more than rounding.

    Who meets a kink or stands on the rim of a valley is lost: he ends there, and has not converged.
    At a kink no parabola tells anything, and from a rim it may lead into another valley.
    """
    ended = Moves.none(problems)
    state = _State.at_start(problems, sloped)
    for n_calls in range(1, most + 1):
        step, foretold = _step(state)
        steepest = _steepest(state)
        level = state.settled | (steepest <= flat) | (foretold <= state.resolution)
        endless = np.abs(state.u).max(axis=1) > ENDLESS
        level &= ~endless & np.isfinite(state.loss)
        done = level | endless | state.lost | ~np.isfinite(state.loss)
        if n_calls == most:
            done[:] = True
        if done.any():
            which = state.which[done]
            # What is left of the way is too short for the loss to show it.
            rest = level & ~state.settled & (steepest > flat)
            u = state.problems.project(state.u + np.where(rest[:, None], step, 0.0))
            ended.u[which], ended.loss[which] = u[done], state.loss[done]
            ended.converged[which] = level[done]
            ended.n_evaluations[which] = state.n_evaluations[done]
            if done.all():
                break
            left = np.flatnonzero(~done)
            state, step = state.select(left), step[left]
        _advance(state, sloped, step)
    return ended


@final
@dataclass
class _State:
    """The problems still under way: where they stand, and the parabola there."""

    problems: Problems
    which: IntVector  # b: their places in the whole batch
    u: Matrix  # b x d
    loss: Vector  # b
    gradient: Matrix  # b x d
    curvature: Tensor  # b x d x d
    reach: Vector  # b: half of the box's width
    settled: BoolVector  # b: at the bottom, where rounding hides the slope
    lost: BoolVector  # b: on a rim between valleys, or at a kink
    n_evaluations: IntVector  # b

    @classmethod
    def at_start(cls, problems: Problems, sloped: FiniteDifference) -> _State:
        b, d = problems.X.shape
        u = problems.start.copy()
        state = cls(
            problems=problems,
            which=np.arange(b),
            u=u,
            loss=np.full(b, np.inf),
            gradient=np.zeros((b, d)),
            curvature=np.zeros((b, d, d)),
            reach=np.full(b, REACH),
            settled=np.zeros(b, dtype=np.bool_),
            lost=np.zeros(b, dtype=np.bool_),
            n_evaluations=np.zeros(b, dtype=np.int64),
        )
        state.loss, state.gradient, state.curvature, _ = _ask(problems, sloped, u, u[:0])
        state.n_evaluations += _n_points(sloped)
        return state

    @property
    def resolution(self) -> Vector:
        """What losses differ by and are equal, (b,)."""
        return np.asarray(ROUNDING * np.maximum(np.abs(self.loss), 1.0))

    def select(self, left: IntVector) -> _State:
        """Those of some problems."""
        other = replace(self, problems=self.problems.select(left))
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(other, name, value[left])
        return other


def _advance(state: _State, sloped: FiniteDifference, step: Matrix) -> None:
    """Go as far along each step as the loss falls as foretold."""
    problems, u = state.problems, state.u
    way = np.array([problems.project(u + part * step) for part in WAY[:-1]])  # w x b x d
    end = problems.project(u + step)
    loss, gradient, curvature, on_the_way = _ask(problems, sloped, end, way)
    state.n_evaluations += _n_points(sloped) + len(way)
    losses = np.vstack([on_the_way, loss])  # w x b
    moved = np.concatenate([way, end[None]]) - u
    turned = (moved.transpose(1, 0, 2) @ state.curvature).transpose(1, 0, 2)  # w x b x d
    foretold = -(moved * (state.gradient + 0.5 * turned)).sum(axis=2)  # w x b
    resolution = state.resolution
    gain = state.loss - losses
    # At the bottom the loss has no more digits to fall by; the slope has.
    fine = foretold[-1] <= FINE * resolution
    flatter = np.abs(gradient).max(axis=1) < np.abs(state.gradient).max(axis=1)
    with np.errstate(invalid="ignore"):
        as_said = np.abs(gain - foretold) <= FORETOLD * foretold + resolution
        # In one valley the loss falls all the way.
        lower = np.diff(losses, axis=0, prepend=np.inf) <= resolution
    as_foretold = np.logical_and.accumulate(as_said & lower, axis=0)  # w x b
    far = as_foretold.sum(axis=0) - 1  # b: −1: nowhere
    whole = np.where(fine, flatter & np.isfinite(loss), far == len(WAY) - 1)
    length = np.abs(step).max(axis=1)
    state.reach = np.where(
        whole, np.maximum(state.reach, WIDER * length), length * WAY[np.maximum(far, 0)]
    )
    state.settled = fine & ~whole
    state.lost = ~fine & (far < SHORT)
    state.u = np.where(whole[:, None], end, u)
    state.loss = np.where(whole, loss, state.loss)
    state.gradient = np.where(whole[:, None], gradient, state.gradient)
    state.curvature = np.where(whole[:, None, None], curvature, state.curvature)


def _n_points(sloped: FiniteDifference) -> int:
    """Points at which the score is asked for to know a parabola."""
    k = len(sloped.columns)
    return sloped.n_calls + 2 * k + k * (k - 1) // 2


def _ask(
    problems: Problems, sloped: FiniteDifference, u: Matrix, way: Tensor
) -> tuple[Vector, Matrix, Tensor, Matrix]:
    """Loss, gradient and curvature at u, and losses on the way there, in one call.

    (b, d), (w, b, d) -> (b,), (b, d), (b, d, d), (w, b). The loss is infinite where the score or a
    slope has no answer.
    """
    b, d = u.shape
    columns, k = sloped.columns, len(sloped.columns)
    X = problems.points(u)
    pairs = sloped.pairs(X, np.full(b, sloped.step))
    wide = sloped.pairs(X, np.full(b, APART))
    one, other = np.triu_indices(k, 1)
    both = np.repeat(X[:, None], len(one), axis=1)  # b x k(k − 1)/2 x d
    each = np.arange(len(one))
    both[:, each, columns[one]] = wide.points[:, 0, one, columns[one]]
    both[:, each, columns[other]] = wide.points[:, 0, other, columns[other]]
    on_the_way = problems.begun_from(way) if len(way) else None
    parts = [X, pairs.flat, wide.flat, both.reshape(-1, d)]
    if on_the_way is not None:
        parts.append(on_the_way.points(on_the_way.start))
    points = np.vstack(parts)
    values = np.concatenate([problems.score(points[some]) for some in batches(*points.shape)])
    here, sides, far, corners, before = np.split(values, np.cumsum([len(p) for p in parts[:4]]))
    slopes = pairs.slopes(sides)  # b x k
    with np.errstate(over="ignore", invalid="ignore"):
        ahead, behind = np.moveaxis(far.reshape(b, 2, k), 1, 0)
        h = wide.made / 2
        curvature = np.zeros((b, d, d))
        curvature[:, columns, columns] = (ahead + behind - 2 * here[:, None]) / h**2
        mixed = corners.reshape(b, -1) - ahead[:, one] - ahead[:, other] + here[:, None]
        mixed = mixed / (h[:, one] * h[:, other])
    curvature[:, columns[one], columns[other]] = mixed
    curvature[:, columns[other], columns[one]] = mixed
    gradient = np.zeros((b, d))
    gradient[:, columns] = slopes
    scale, free = problems.domain.scale, problems.free
    with np.errstate(over="ignore", invalid="ignore"):
        gradient = gradient * (scale / problems.unit) + problems.pull(u)
        curvature *= np.outer(scale, scale) / problems.unit
    curvature = np.where(np.isfinite(curvature), curvature, 0.0)
    curvature[:, np.arange(d), np.arange(d)] += problems.stiffness(u)
    curvature *= free[:, :, None] & free[:, None, :]
    loss = problems.loss_by(here, u)
    known = np.isfinite(loss) & (np.isfinite(gradient) | ~free).all(axis=1)
    gradient = np.where(free & known[:, None], gradient, 0.0)
    losses = np.empty((0, b))
    if on_the_way is not None:
        losses = on_the_way.loss_by(before, on_the_way.start).reshape(-1, b)
    return np.where(known, loss, np.inf), gradient, curvature, losses


def _steepest(state: _State) -> Vector:
    """The largest slope along which a problem can move, (b,)."""
    loose = state.problems.loose(state.u, state.gradient)
    slopes = np.abs(state.gradient)
    return np.asarray((slopes if loose is None else slopes * loose).max(axis=1))


def _step(state: _State) -> tuple[Matrix, Vector]:
    """The step to the least of each parabola in its box, and the gain it foretells: b x d, (b,)."""
    problems, u = state.problems, state.u
    free = problems.free.copy()
    free[:, problems.domain.binary] = False
    reach = state.reach[:, None]
    lower = np.where(free, np.clip(problems.lower - u, -reach, 0.0), 0.0)
    upper = np.where(free, np.clip(problems.upper - u, 0.0, reach), 0.0)
    bowl, rim = _bent_up(state.curvature, free)
    state.lost |= rim
    step = least_in_box(state.gradient, bowl, lower, upper)
    return step, -dot(step, state.gradient + 0.5 * _times(bowl, step))


def _bent_up(curvature: Tensor, free: BoolMatrix) -> tuple[Tensor, BoolVector]:
    """Matrices of bowls, and which of the parabolas are none: (b, d, d), (b,)."""
    values, vectors = np.linalg.eigh(curvature)
    largest = np.abs(values).max(axis=1, keepdims=True)
    rim = values.min(axis=1) < -RIM * largest[:, 0]
    values = np.maximum(np.abs(values), LEAST * np.maximum(largest, 1.0))
    bowl = (vectors * values[:, None]) @ vectors.transpose(0, 2, 1)
    bowl = np.where(free[:, :, None] & free[:, None, :], bowl, 0.0)
    each = np.arange(free.shape[1])
    bowl[:, each, each] = np.where(free, bowl[:, each, each], 1.0)
    return bowl, rim


def _times(matrices: Tensor, vectors: Matrix) -> Matrix:
    """Each matrix times its vector: (b, d, d), (b, d) -> (b, d)."""
    return np.asarray((matrices @ vectors[:, :, None])[:, :, 0])


def least_in_box(gradient: Matrix, bowl: Tensor, lower: Matrix, upper: Matrix) -> Matrix:
    """The least of g·s + ½ sᵀH s with lower ≤ s ≤ upper, H positive definite: (b, d).

    Who is at which bound is guessed, the rest solved, and the guess corrected until it holds.
    """
    b, d = gradient.shape
    step = np.zeros((b, d))
    low, high = np.zeros((2, b, d), dtype=np.bool_)
    each = np.arange(d)
    left = np.arange(b)
    for _ in range(3 * d + 3):
        held = low[left] | high[left]
        at = np.where(low[left], lower[left], np.where(high[left], upper[left], 0.0))
        H = bowl[left]
        loose = ~held
        matrix = np.where(loose[:, :, None] & loose[:, None, :], H, 0.0)
        matrix[:, each, each] = np.where(held, 1.0, matrix[:, each, each])
        pulled = -gradient[left] - _times(H, at)
        found = np.linalg.solve(matrix, np.where(held, at, pulled)[:, :, None])[:, :, 0]
        step[left] = found
        push = -(gradient[left] + _times(H, found)) / H[:, each, each]
        new_low = np.where(held, low[left] & (push < 0), found < lower[left])
        new_high = np.where(held, high[left] & (push > 0), found > upper[left])
        changed = ((new_low != low[left]) | (new_high != high[left])).any(axis=1)
        low[left], high[left] = new_low, new_high
        left = left[changed]
        if len(left) == 0:
            break
    step = np.clip(step, lower, upper)
    if len(left):  # a guess that goes round in circles: straight down, as far as the bowl allows
        steep = np.abs(bowl[left]).sum(axis=2).max(axis=1)
        step[left] = np.clip(-gradient[left] / steep[:, None], lower[left], upper[left])
    return step
