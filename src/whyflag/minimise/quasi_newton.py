"""Minimisation with gradients: projected L-BFGS, every problem at its own pace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix, Vector, pick
from whyflag.minimise.metric import Metric
from whyflag.minimise.moves import Moves
from whyflag.minimise.problem import Problems, dot

MEMORY = 10  # moves that are remembered
SUFFICIENT_DECREASE = 1e-4  # of what the slope promises
FLAT = 1e-10  # largest slope, in score per scale of a column, at which a problem has arrived
ROUNDING = 4 * float(np.finfo(np.float64).eps)
FINE = 1e4  # resolutions of the loss: a step that promises less is judged by the slope it leads to
SETTLED = 0.9  # of the slope before it: a smaller one is progress
LONGER = 4.0  # times at most is a step that was too short
PATIENCE = 4  # trials without gain, and none in sight, after which a problem has arrived too
FORGET = 8  # trials without gain after which a problem starts afresh
STRETCH = 20  # trials that together must bring a gain worth having
WORTH_HAVING = 1e-6  # of the loss: a network of rectifiers is followed along its kinks no further
ENDLESS = 1e100  # scales: whoever has gone so far would go on until numbers end
STRIDE = 0.1  # scales: the longest step where nothing tells how far the slope can be trusted
FORETOLD = 0.1  # of a gain: who foretold it better than that may make longer steps
TINY = float(np.finfo(np.float64).tiny)


def descend(
    problems: Problems, max_evaluations: int, flat: float = FLAT, steep: float = np.inf
) -> Moves:
    """Minimise every problem from its start, never going up by more than rounding.

    One evaluation of the batch is one trial of every problem in it: a problem whose trial is not
    low enough shortens its step while the others go on, and one that has arrived leaves.
    """
    ended = Moves.none(problems)
    state = _State.at_start(problems, flat)
    for n_evaluations in range(1, max_evaluations + 1):
        endless = np.abs(state.u).max(axis=1) > ENDLESS
        state.arrived &= ~endless
        done = state.arrived | endless | ~np.isfinite(state.loss)
        if n_evaluations == max_evaluations:
            done[:] = True
        if done.any():
            which = state.which[done]
            ended.u[which], ended.loss[which] = state.u[done], state.loss[done]
            ended.converged[which] = (state.arrived & (_largest(state.slope) <= steep))[done]
            ended.n_evaluations[which] = n_evaluations
            if done.all():
                break
            state.keep(np.flatnonzero(~done))
        _advance(state)
        if n_evaluations % STRETCH == 0 and state.metric is None:
            gain = state.earlier - state.loss
            little = gain <= WORTH_HAVING * np.maximum(np.abs(state.loss), 1.0)
            # A small part of a high loss is still much, if every trial brings as much again.
            state.arrived |= little & ((state.idle > 0) | (gain <= WORTH_HAVING))
            state.earlier = state.loss.copy()
    return ended


@final
@dataclass
class _Turn:
    """How the slopes turned with a move of every problem."""

    move: Matrix  # b x d
    turned: Matrix  # b x d
    square: Vector  # b: of `turned`
    shown: BoolVector  # b: whose slope turned as over a valley; of the others this tells nothing

    def select(self, which: IntVector) -> _Turn:
        """Those of some problems."""
        return _Turn(
            pick(self.move, which),
            pick(self.turned, which),
            self.square[which],
            self.shown[which],
        )


@dataclass
class _State:
    """The problems still under way."""

    problems: Problems
    flat: float  # the largest slope that counts as none
    which: IntVector  # b: their places in the whole batch
    u: Matrix  # b x d
    loss: Vector  # b
    gradient: Matrix  # b x d
    slope: Matrix  # b x d: the gradient along which the problem can move
    direction: Matrix  # b x d
    step: Vector  # b
    stride: Vector  # b: the longest step, in scales of a column
    informed: BoolVector  # b: whether anything is known of the curvature along the direction
    earlier: Vector  # b: the loss a stretch of trials ago
    flattest: Vector  # b: the smallest of the largest slopes since the loss last fell
    idle: IntVector  # b: trials since the loss last fell
    arrived: BoolVector  # b
    past: list[_Turn]  # the newest comes first
    metric: Metric | None

    @classmethod
    def at_start(cls, problems: Problems, flat: float) -> _State:
        b = len(problems)
        u = problems.start.copy(order="F")
        loss, gradient, regime = problems.loss_and_grad(u)
        loose = problems.loose(u, gradient)
        slope = _along(loose, gradient)
        spectra = problems.spectra
        state = cls(
            problems=problems,
            flat=flat,
            which=np.arange(b),
            u=u,
            loss=loss,
            gradient=gradient,
            slope=slope,
            direction=-slope,
            step=np.zeros(b),
            stride=np.full(b, STRIDE),
            informed=np.zeros(b, dtype=np.bool_),
            earlier=loss.copy(),
            flattest=_largest(slope),
            idle=np.zeros(b, dtype=np.int64),
            arrived=np.isfinite(loss) & (_largest(slope) <= flat),
            past=[],
            metric=None if spectra is None else Metric(spectra, problems, regime),
        )
        _turn(state, loose, np.ones(b, dtype=np.bool_))
        return state

    def keep(self, left: IntVector) -> None:
        """Let the other problems go."""
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(self, name, value[left] if value.ndim == 1 else pick(value, left))
        self.problems = self.problems.select(left)
        self.past = [turn.select(left) for turn in self.past]
        if self.metric is not None:
            self.metric = self.metric.select(left)

    def forget(self, who: BoolVector) -> None:
        """Forget the past of some problems."""
        for turn in self.past:
            turn.shown &= ~who


def _advance(state: _State) -> None:
    """Try one step in every problem; take it where the loss falls enough."""
    problems = state.problems
    trial = problems.project(state.u + state.step[:, None] * state.direction)
    loss, gradient, regime = problems.loss_and_grad(trial)
    moved = trial - state.u
    promise = dot(state.gradient, moved)
    resolution = ROUNDING * np.maximum(np.abs(state.loss), 1.0)
    low_enough = (promise < 0) & (loss <= state.loss + SUFFICIENT_DECREASE * promise)
    fell = low_enough & (state.loss - loss > resolution)
    # At the bottom the loss has no more digits to fall by; the slope has.
    level = np.maximum(np.abs(promise), loss - state.loss) <= FINE * resolution
    along = dot(gradient, moved)
    steepest = _largest(_along(problems.loose(trial, gradient), gradient))
    flatter = np.abs(along) < SETTLED * np.abs(promise)
    settled = level & (flatter | (steepest < SETTLED * _largest(state.slope)))
    taken = fell | settled | (low_enough & ~level)
    gained = fell | (settled & (steepest < SETTLED * state.flattest))
    state.flattest = np.where(gained, steepest, state.flattest)
    state.idle = np.where(gained, 0, state.idle + 1)
    # The parabola through what is known of a step tells how much too long it was; at the bottom
    # its slopes tell, also that it was too short.
    bend = np.maximum(loss - state.loss - promise, np.abs(promise) + TINY)
    with np.errstate(divide="ignore", invalid="ignore"):
        secant = np.where(along > promise, -promise / (along - promise), LONGER)
    factor = np.where(level, np.minimum(secant, LONGER), -0.5 * promise / bend)
    factor = np.maximum(factor, 0.1)
    state.stride = _longest_step(state, promise, state.loss - loss)

    state.u = np.where(taken[:, None], trial, state.u)
    state.loss = np.where(taken, loss, state.loss)
    state.gradient = np.where(taken[:, None], gradient, state.gradient)
    loose = problems.loose(state.u, state.gradient)
    slope = _along(loose, state.gradient)
    has_past = _remember(state, taken, moved, slope - state.slope)
    state.slope = slope

    # A past that promises what does not come true is forgotten, as is that of another region.
    misled = ~taken & has_past & (state.idle % FORGET == 0)
    state.forget(misled)
    if state.metric is not None:
        state.forget(state.metric.update(np.where(taken, regime, state.metric.regime)))
    # A step that the bounds bent out of shape is tried again up to the first bound it meets.
    reach = problems.reach(state.u, state.direction)
    bent = ~taken & (reach > 0) & (state.step > reach)
    state.step = np.where(bent, reach, factor * state.step)
    _turn(state, loose, taken | misled)
    # No gain in sight, and no past to blame for it, or blamed already: this is the bottom.
    patience = np.where(has_past, 2 * FORGET, PATIENCE)
    nothing_in_sight = level | (np.abs(promise) <= resolution)
    state.arrived = (_largest(slope) <= state.flat) | ((state.idle >= patience) & nothing_in_sight)


def _longest_step(state: _State, promise: Vector, gain: Vector) -> Vector:
    """How long the next step may be: longer where the parabola foretold the gain, (b,).

    A leap over several valleys ends in one that hangs on rounding, short steps stay in theirs. In
    a bowl every gain is as foretold.
    """
    foretold = (0.5 * state.step - 1) * promise
    with np.errstate(invalid="ignore"):
        right = state.informed & (np.abs(gain - foretold) <= FORETOLD * foretold)
    return np.where(
        right, np.minimum(2 * state.stride, ENDLESS), np.maximum(state.stride / 2, STRIDE)
    )


def _remember(state: _State, taken: BoolVector, moved: Matrix, turned: Matrix) -> BoolVector:
    """Remember the moves that showed positive curvature; tell who remembers any."""
    square = dot(turned, turned)
    shown = taken & _is_curved(dot(moved, turned), square)
    state.past.insert(0, _Turn(moved, turned, square, shown))
    del state.past[MEMORY:]
    return np.any([turn.shown for turn in state.past], axis=0)


def _turn(state: _State, loose: BoolMatrix | None, turning: BoolVector) -> None:
    """Give the problems that turn a new direction, and the step to try along it."""
    if not turning.any():
        return
    direction, informed = _descent(state.slope, state.past, state.metric, loose)
    if loose is not None:
        # What stands at a bound and would be moved over it stays there.
        direction *= ~state.problems.outward(state.u, direction)
    # Rounding can spoil a nearly singular metric: then straight down.
    uphill = dot(direction, state.slope) >= 0
    direction = np.where(uphill[:, None], -state.slope, direction)
    # With nothing known of the curvature, a step of one scale.
    with np.errstate(over="ignore"):
        unit = 1 / np.maximum(np.linalg.norm(direction, axis=1), TINY)
    state.direction = np.where(turning[:, None], direction, state.direction)
    state.informed = np.where(turning, informed & ~uphill, state.informed)
    step = np.where(informed & ~uphill, 1.0, unit)
    if state.metric is None:
        with np.errstate(over="ignore"):
            step = np.minimum(step, state.stride / np.maximum(_largest(direction), TINY))
    state.step = np.where(turning, step, state.step)


def _descent(
    slope: Matrix, past: list[_Turn], metric: Metric | None, loose: BoolMatrix | None
) -> tuple[Matrix, BoolVector]:
    """−H·slope by the two loops of L-BFGS, within the directions that are left.

    Also tells for which problems anything is known of the curvature.
    """
    left = None if loose is None else loose.astype(np.float64)
    q = _along(left, slope).copy(order="F")
    # Along each problem's newest move; a metric knows it of all directions.
    curvature = np.full(len(q), 0.0 if metric is None else 1.0)
    turns = []
    for turn in past:
        if not turn.shown.any():
            continue
        # Where the turn is zero, so is every product that the move takes part in.
        turned = _along(left, turn.turned)
        product = dot(turn.move, turned)
        known = turn.shown & _is_curved(product, turn.square)
        weight = np.where(known, 1 / np.where(known, product, 1.0), 0.0)
        if not curvature.all():
            curvature = np.where(curvature == 0, weight * dot(turned, turned), curvature)
        alpha = weight * dot(turn.move, q)
        q -= alpha[:, None] * turned
        turns.append((turn.move, turned, weight, alpha))
    informed = curvature > 0
    if metric is not None:
        q = metric.apply(q, loose)
    else:
        q /= np.where(informed, curvature, 1.0)[:, None]
    for move, turned, weight, alpha in reversed(turns):
        beta = weight * dot(turned, q)
        q += (alpha - beta)[:, None] * move
    return -_along(left, q), informed


def _along(loose: BoolMatrix | Matrix | None, vector: Matrix) -> Matrix:
    return vector if loose is None else vector * loose


def _is_curved(product: Vector, square: Vector) -> BoolVector:
    """Whether the slope turned with the move, beyond rounding, as over a valley."""
    return product > 1e-12 * square


def _largest(slope: Matrix) -> Vector:
    return np.abs(slope).max(axis=1)
