"""Many small masked minimisations solved as one batch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix, Vector
from whyflag.checks import check_choice, check_number
from whyflag.domain import Domain
from whyflag.minimise.ball import within_ball
from whyflag.minimise.finite_difference import FiniteDifference
from whyflag.minimise.pattern_search import search
from whyflag.minimise.problem import Moves, Problems, Shape, rounding
from whyflag.minimise.quasi_newton import MEMORY, descend
from whyflag.minimise.starts import MARGIN, Basin, solve_from_several
from whyflag.score import Gradient, Score

__all__ = ["Basin", "Minimum", "Shape", "minimise"]

MAX_GRADIENTS = 2000  # evaluations of a problem with a gradient
MAX_DIFFERENCES = 200  # of a problem whose gradient is made of differences
MAX_ROUNDS = 100  # over all columns of a problem without a gradient
KINK = 1e-3  # slope, in score per scale: where descent ends on a steeper one, it was at a kink
OTHER_DESCENTS = 4  # besides the one from the row itself
OTHER_SEARCHES = 1
FAR = 1e6  # scales: whoever has gone so far is asked whether the score still falls there
FURTHER = 1.01  # times as far
CHUNK = 2**22  # numbers that a chunk of problems may keep, 32 MB


@final
@dataclass(frozen=True)
class Minimum:
    """Where each minimisation of a batch ended, and whether it had arrived."""

    point: Matrix  # b x d
    loss: Vector  # b
    converged: BoolVector  # b
    n_evaluations: IntVector  # b


def minimise(
    score: Score,
    X: Matrix,
    keep: BoolMatrix,
    domain: Domain,
    *,
    gamma: float = 0.0,
    radius: float | None = None,
    shape: Shape = "box",
    basin: Basin = "lowest",
) -> Minimum:
    """Minimise the score around each row, some of its columns held (equation 3).

    min_y e(y) + γ·unit/|Sᶜ| Σ_{i∉S} dist((y_i − x_i) / scale_i),  y_S = x_S,  y in the domain

    dist is `whyflag.nearness.distance`. With a gradient: projected L-BFGS, preconditioned by the
    score's curvature where it is known. Without: a search that needs no slope, and so works on
    piecewise constant scores. Both begin at several places (`minimise/starts.py`).

    The loss never exceeds that of x, and y_S is x_S to the bit. A row outside the bounds is
    brought inside, unless nothing there has a lower loss than the row has where it is.

    Args:
        score: The anomaly score e.
        X: One row for each problem, (b, d).
        keep: The columns S that each problem keeps, bool (b, d).
        domain: Bounds, scales, typical rows, and columns that may not move.
        gamma: Weight of the distance, γ, in units of the score (`Score.unit`).
        radius: Largest move in units of the scale; None for no limit.
        shape: Whether the radius bounds each column's move ("box") or their Euclidean norm
            ("ball").
        basin: Which minimum, if there are several: the "lowest" that was found, or the "nearest"
            that is normal.
    """
    check_number("gamma", gamma, at_least=0)
    check_number("radius", radius, above=0, or_none=True)
    check_choice("shape", shape, ("box", "ball"))
    check_choice("basin", basin, ("lowest", "nearest"))
    everything = Problems(
        score, X, keep, domain, gamma=gamma, half_width=np.inf if radius is None else radius
    )
    b, d = X.shape
    n_free = everything.free.sum(axis=1)
    block = int(np.minimum(n_free, d - n_free).max()) if everything.curvature is not None else 0
    size = max(1, CHUNK // ((1 + OTHER_DESCENTS) * (2 * MEMORY * d + 2 * block**2)))
    parts = []
    for begin in range(0, b, size):
        problems = everything.select(slice(begin, begin + size))
        if radius is not None and shape == "ball":
            moves = within_ball(problems, radius, partial(_solve, basin=basin))
        else:
            moves = _solve(problems, basin)
            _doubt(problems, moves)
        parts.append(_finish(problems, moves))
    return Minimum(
        point=np.concatenate([part.point for part in parts]),
        loss=np.concatenate([part.loss for part in parts]),
        converged=np.concatenate([part.converged for part in parts]),
        n_evaluations=np.concatenate([part.n_evaluations for part in parts]),
    )


def _solve(problems: Problems, basin: Basin) -> Moves:
    if problems.gradient is None:
        return _solve_without_gradient(problems, basin)
    found = solve_from_several(problems, _descend, OTHER_DESCENTS, basin)
    # Where the gradient has no answer, it can lead nowhere.
    blind = np.flatnonzero(~np.isfinite(found.loss))
    if len(blind):
        found.put(blind, _solve_without_gradient(problems.select(blind), basin))
    return found


def _solve_without_gradient(problems: Problems, basin: Basin) -> Moves:
    """Go down the slope of a smooth score; search one that jumps, or a staircase without slope."""
    if problems.rough:
        return solve_from_several(problems, _search, OTHER_SEARCHES, basin)
    sloped = FiniteDifference(problems.score, problems.domain)
    somewhere, everywhere = sloped.sloping(problems.points(problems.entry), problems.free)
    found = Moves.none(problems)
    found.n_evaluations[:] = sloped.n_calls
    smooth, stairs = np.flatnonzero(somewhere), np.flatnonzero(~somewhere)
    if len(smooth):
        some = problems.select(smooth)
        down = solve_from_several(
            some, partial(_descend_differences, sloped=sloped), OTHER_DESCENTS, basin
        )
        found.put(smooth, _search_on(some, down, sloped, everywhere[smooth]))
    if len(stairs):
        some = problems.select(stairs)
        found.put(stairs, solve_from_several(some, _search, OTHER_SEARCHES, basin))
    return found


def _search_on(
    problems: Problems, down: Moves, sloped: FiniteDifference, everywhere: BoolVector
) -> Moves:
    """Search on where descent knew nothing of some columns, or ended on a slope, as at a kink."""
    _, gradient, _ = problems.with_gradient(Gradient(sloped.value_and_grad)).loss_and_grad(down.u)
    loose = problems.loose(down.u, gradient)
    slope = gradient if loose is None else gradient * loose
    down.n_evaluations[:] += sloped.n_calls
    kinked = (np.abs(slope).max(axis=1) > KINK) | ~down.converged
    unsure = np.flatnonzero(kinked | ~everywhere)
    if len(unsure):
        begin = down.select(unsure)
        begin.n_evaluations[:] = 0
        down.put(unsure, search(problems.select(unsure), begin, MAX_ROUNDS))
    return down


def _doubt(problems: Problems, found: Moves) -> None:
    """A score without a bottom has no minimum: a problem that falls on and on has not arrived."""
    # The distance has been flat for long: the score tells.
    far = np.flatnonzero(np.abs(found.u).max(axis=1) > FAR)
    if len(far):
        some, u = problems.select(far), found.u[far]
        with np.errstate(over="ignore", invalid="ignore"):
            here, further = (some.score(some.points(v)) for v in (u, some.project(FURTHER * u)))
            here, further = here / some.unit, further / some.unit
            found.converged[far] &= ~(further < here - rounding(here, MARGIN))
        found.n_evaluations[far] += 2


def _descend(problems: Problems) -> Moves:
    return descend(problems, MAX_GRADIENTS)


def _descend_differences(problems: Problems, sloped: FiniteDifference) -> Moves:
    down = descend(problems.with_gradient(Gradient(sloped.value_and_grad)), MAX_DIFFERENCES)
    down.n_evaluations[:] *= sloped.n_calls
    return down


def _search(problems: Problems) -> Moves:
    begin = Moves.none(problems)
    begin.loss[:] = problems.loss(begin.u)
    begin.n_evaluations[:] = 1
    return search(problems, begin, MAX_ROUNDS)


def _finish(problems: Problems, moves: Moves) -> Minimum:
    """Turn moves into points; a row outside the bounds stays there if that is better."""
    point = problems.points(moves.u)
    outside = (problems.entry != 0).any(axis=1)
    stay = np.full(len(problems), np.inf)
    if outside.any():
        stay[outside] = problems.score(problems.X[outside]) / problems.unit
    better = stay < moves.loss
    return Minimum(
        point=np.where(better[:, None], problems.X, point),
        loss=np.where(better, stay, moves.loss) * problems.unit,
        converged=moves.converged,
        n_evaluations=moves.n_evaluations + outside,
    )
