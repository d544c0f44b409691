"""Minimisation with gradients: projected L-BFGS, every problem at its own pace."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix, Tensor, Vector
from whyflag.minimise.metric import Metric
from whyflag.minimise.problem import Moves, Problems

SUFFICIENT_DECREASE = 1e-4  # of what the slope promises
FLAT = 1e-7  # largest slope, in score per scale of a column, at which a problem has arrived
ROUNDING = 4 * float(np.finfo(np.float64).eps)
PATIENCE = 4  # trials without gain, and none in sight, after which a problem has arrived too
FORGET = 8  # trials without gain after which a problem starts afresh
STRETCH = 20  # trials that together must bring a gain worth having
WORTH_HAVING = 1e-6  # of the loss: a network of rectifiers is followed along its kinks no further
TINY = float(np.finfo(np.float64).tiny)


def memory(d: int) -> int:
    """Pairs that are kept of each problem's past: where columns are many, they cost most time."""
    return min(10, max(4, 1000 // d))


def descend(problems: Problems, max_evaluations: int) -> Moves:
    """Minimise every problem from its start, never going up.

    One evaluation of the batch is one trial of every problem in it: a problem whose trial is not
    low enough shortens its step while the others go on, and one that has arrived leaves.
    """
    ended = Moves.none(problems)
    state = _State.at_start(problems)
    for n_evaluations in range(1, max_evaluations + 1):
        done = state.arrived | ~np.isfinite(state.loss)
        if n_evaluations == max_evaluations:
            done[:] = True
        if done.any():
            which = state.which[done]
            ended.u[which], ended.loss[which] = state.u[done], state.loss[done]
            ended.converged[which] = state.arrived[done]
            ended.n_evaluations[which] = n_evaluations
            if done.all():
                break
            state.keep(~done)
        _advance(problems, state)
        if n_evaluations % STRETCH == 0:
            gain = state.earlier - state.loss
            state.arrived |= gain <= WORTH_HAVING * np.maximum(np.abs(state.loss), 1.0)
            state.earlier = state.loss.copy()
    return ended


@dataclass
class _State:
    """The problems still under way."""

    which: IntVector  # b
    u: Matrix  # b x d
    loss: Vector  # b
    gradient: Matrix  # b x d
    slope: Matrix  # b x d: the gradient along which the problem can move
    direction: Matrix  # b x d
    step: Vector  # b
    earlier: Vector  # b: the loss a stretch of trials ago
    idle: IntVector  # b: trials since the loss last fell
    arrived: BoolVector  # b
    past_moves: Tensor  # b x m x d, a ring
    past_turns: Tensor  # b x m x d: how the slope turned with each move
    newest: IntVector  # b: where in the ring the newest move is
    n_past: IntVector  # b: how many moves are remembered
    metric: Metric | None

    @classmethod
    def at_start(cls, problems: Problems) -> _State:
        b, d = problems.start.shape
        which = np.arange(b)
        u = problems.start.copy()
        loss, gradient, regime = problems.loss_and_grad(u, which)
        loose = problems.loose(u, gradient, which)
        slope = _along(loose, gradient)
        spectra = problems.spectra
        state = cls(
            which=which,
            u=u,
            loss=loss,
            gradient=gradient,
            slope=slope,
            direction=-slope,
            step=np.zeros(b),
            earlier=loss.copy(),
            idle=np.zeros(b, dtype=np.int64),
            arrived=np.isfinite(loss) & _is_flat(slope),
            past_moves=np.zeros((b, memory(d), d)),
            past_turns=np.zeros((b, memory(d), d)),
            newest=np.zeros(b, dtype=np.int64),
            n_past=np.zeros(b, dtype=np.int64),
            metric=None if spectra is None else Metric(spectra, problems, regime),
        )
        _turn(problems, state, loose, np.ones(b, dtype=np.bool_))
        return state

    def keep(self, chosen: BoolVector) -> None:
        """Let the other problems go."""
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                setattr(self, field.name, value[chosen])
        if self.metric is not None:
            self.metric.keep(chosen)


def _advance(problems: Problems, state: _State) -> None:
    """Try one step in every problem; take it where the loss falls enough."""
    trial = problems.project(state.u + state.step[:, None] * state.direction, state.which)
    loss, gradient, regime = problems.loss_and_grad(trial, state.which)
    moved = trial - state.u
    promise = _dot(state.gradient, moved)
    taken = (promise < 0) & (loss <= state.loss + SUFFICIENT_DECREASE * promise)
    resolution = ROUNDING * np.maximum(np.abs(state.loss), 1.0)
    state.idle = np.where(taken & (state.loss - loss > resolution), 0, state.idle + 1)
    # The parabola through what is known of a step that was too long tells how much too long.
    bend = np.maximum(loss - state.loss - promise, np.abs(promise) + TINY)
    shorter = np.maximum(-0.5 * promise / bend, 0.1)

    state.u = np.where(taken[:, None], trial, state.u)
    state.loss = np.where(taken, loss, state.loss)
    state.gradient = np.where(taken[:, None], gradient, state.gradient)
    loose = problems.loose(state.u, state.gradient, state.which)
    slope = _along(loose, state.gradient)
    _remember(state, taken, moved, slope - state.slope)
    state.slope = slope

    # A past that promises what does not come true is forgotten, as is that of another region.
    has_past = state.n_past > 0
    misled = ~taken & has_past & (state.idle % FORGET == 0)
    state.n_past[misled] = 0
    if state.metric is not None:
        entered = state.metric.update(np.where(taken, regime, state.metric.regime))
        state.n_past[entered] = 0
    # A step that the bounds bent out of shape is tried again up to the first bound it meets.
    reach = problems.reach(state.u, state.direction, state.which)
    bent = ~taken & (reach > 0) & (state.step > reach)
    state.step = np.where(bent, reach, shorter * state.step)
    _turn(problems, state, loose, taken | misled)
    # No gain in sight, and no past to blame for it, or blamed already: this is the bottom.
    patience = np.where(has_past, 2 * FORGET, PATIENCE)
    state.arrived = _is_flat(slope) | ((state.idle >= patience) & (np.abs(promise) <= resolution))


def _remember(state: _State, taken: BoolVector, moved: Matrix, turned: Matrix) -> None:
    """Keep the moves that showed positive curvature."""
    shown = np.flatnonzero(taken & _is_curved(moved, turned))
    most = state.past_moves.shape[1]
    state.newest[shown] = (state.newest[shown] + 1) % most
    state.n_past[shown] = np.minimum(state.n_past[shown] + 1, most)
    state.past_moves[shown, state.newest[shown]] = moved[shown]
    state.past_turns[shown, state.newest[shown]] = turned[shown]


def _turn(problems: Problems, state: _State, loose: BoolMatrix | None, turning: BoolVector) -> None:
    """Give the problems that turn a new direction, and the step to try along it."""
    # A metric serves the whole batch at once; without one, only those that turn cost anything.
    which = np.flatnonzero(turning | (state.metric is not None))
    if not turning.any():
        return
    free = None if loose is None else loose[which]
    direction, informed = _descent(state, which, free)
    if free is not None:
        # What stands at a bound and would be moved over it is held as well.
        over = free & problems.outward(state.u[which], direction, state.which[which])
        held = over.any(axis=1) | (state.metric is not None)
        if over.any():
            direction[held], informed[held] = _descent(state, which[held], (free & ~over)[held])
    # Rounding can spoil a nearly singular metric: then straight down.
    slope = state.slope[which]
    uphill = _dot(direction, slope) >= 0
    direction = np.where(uphill[:, None], -slope, direction)
    # With nothing known of the curvature, a step of one scale.
    unit = 1 / np.maximum(np.linalg.norm(direction, axis=1), TINY)
    step = np.where(informed & ~uphill, 1.0, unit)
    turned = turning[which]
    state.direction[which[turned]] = direction[turned]
    state.step[which[turned]] = step[turned]


def _descent(
    state: _State, which: IntVector, loose: BoolMatrix | None
) -> tuple[Matrix, BoolVector]:
    """−H·slope by the two loops of L-BFGS, within the directions that are left.

    Also tells for which problems anything is known of the curvature.
    """
    q = _along(loose, state.slope[which]).copy()
    n_past = state.n_past[which]
    curvature = np.zeros(len(q))  # along each problem's newest move
    pairs = []
    for i in range(int(n_past.max(initial=0))):
        slot = (state.newest[which] - i) % state.past_moves.shape[1]
        # Where the turn is zero, so is every product that the move takes part in.
        move, turned = state.past_moves[which, slot], _along(loose, state.past_turns[which, slot])
        known = (n_past > i) & _is_curved(move, turned)
        weight = np.where(known, 1 / np.where(known, _dot(move, turned), 1.0), 0.0)
        curvature = np.where(curvature == 0, weight * _dot(turned, turned), curvature)
        alpha = weight * _dot(move, q)
        q -= alpha[:, None] * turned
        pairs.append((move, turned, weight, alpha))
    informed = curvature > 0
    if state.metric is not None:
        q = state.metric.apply(q, loose)
        informed[:] = True
    else:
        q = q / np.where(informed, curvature, 1.0)[:, None]
    for move, turned, weight, alpha in reversed(pairs):
        beta = weight * _dot(turned, q)
        q += (alpha - beta)[:, None] * move
    return -_along(loose, q), informed


def _along(loose: BoolMatrix | None, vector: Matrix) -> Matrix:
    return vector if loose is None else np.where(loose, vector, 0.0)


def _is_curved(move: Matrix, turned: Matrix) -> BoolVector:
    """Whether the slope turned with the move, beyond rounding, as over a valley."""
    return _dot(move, turned) > 1e-12 * _dot(turned, turned)


def _dot(one: Matrix, other: Matrix) -> Vector:
    return np.einsum("bd,bd->b", one, other)


def _is_flat(slope: Matrix) -> BoolVector:
    return np.abs(slope).max(axis=1) <= FLAT
