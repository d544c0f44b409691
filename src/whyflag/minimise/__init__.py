"""Many small masked minimisations solved as one batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix, Vector
from whyflag.domain import Domain
from whyflag.minimise.ball import within_ball
from whyflag.minimise.finite_difference import FiniteDifference
from whyflag.minimise.other_ways import descend_other_ways
from whyflag.minimise.pattern_search import search
from whyflag.minimise.problem import Moves, Problems, Shape
from whyflag.minimise.quasi_newton import MEMORY, descend
from whyflag.score import CurvedScore, DifferentiableScore, Score

__all__ = ["Minimum", "Shape", "minimise"]

MAX_GRADIENTS = 2000  # evaluations of a problem with a gradient
MAX_DIFFERENCES = 100  # of a problem whose gradient is made of differences
MAX_ROUNDS = 100  # over all columns of a problem without a gradient
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
) -> Minimum:
    """Minimise the score around each row, some of its columns held (equation 3).

    min_y e(y) + γ·unit/|Sᶜ| Σ_{i∉S} ((y_i − x_i) / scale_i)²,  y_S = x_S,  y in the domain

    A local minimum, found from x. With a gradient: projected L-BFGS, preconditioned by the
    score's curvature where it is known. Without: a search that needs no slope, and so works on
    piecewise constant scores.

    The loss never exceeds that of x, and y_S is x_S to the bit. A row outside the bounds is
    brought inside, unless nothing there has a lower loss than the row has where it is.

    Args:
        score: The anomaly score e.
        X: One row for each problem, (b, d).
        keep: The columns S that each problem keeps, bool (b, d).
        domain: Bounds, scales, and columns that may not move.
        gamma: Weight of the distance, γ, in units of the score (`Score.unit`).
        radius: Largest move in units of the scale; None for no limit.
        shape: Whether the radius bounds each column's move ("box") or their Euclidean norm
            ("ball").
    """
    if not gamma >= 0:
        raise ValueError(f"`gamma` must be at least 0, got {gamma}.")
    if radius is not None and not radius > 0:
        raise ValueError(f"`radius` must be positive, got {radius}.")
    if shape not in ("box", "ball"):
        raise ValueError(f'`shape` must be "box" or "ball", got {shape!r}.')
    everything = Problems(
        score, X, keep, domain, gamma=gamma, half_width=np.inf if radius is None else radius
    )
    b, d = X.shape
    n_free = everything.free.sum(axis=1)
    block = int(np.minimum(n_free, d - n_free).max()) if isinstance(score, CurvedScore) else 0
    size = max(1, CHUNK // (2 * MEMORY * d + 2 * block**2))
    parts = []
    for begin in range(0, b, size):
        problems = everything.select(slice(begin, begin + size))
        if radius is not None and shape == "ball":
            moves = within_ball(problems, radius, _solve)
        else:
            moves = _solve(problems)
        parts.append(_finish(problems, moves))
    return Minimum(
        point=np.concatenate([part.point for part in parts]),
        loss=np.concatenate([part.loss for part in parts]),
        converged=np.concatenate([part.converged for part in parts]),
        n_evaluations=np.concatenate([part.n_evaluations for part in parts]),
    )


def _solve(problems: Problems) -> Moves:
    if isinstance(problems.score, CurvedScore):
        return descend_other_ways(problems, descend(problems, MAX_GRADIENTS), MAX_GRADIENTS)
    if isinstance(problems.score, DifferentiableScore):
        return descend(problems, MAX_GRADIENTS)
    # Many a score without a gradient is smooth all the same: go down its slope first. On a
    # staircase there is none, and this ends at once.
    sloped = FiniteDifference(problems.score, problems.domain)
    down = descend(problems.with_score(sloped), MAX_DIFFERENCES)
    down.n_evaluations[:] *= sloped.n_calls
    return search(problems, down, MAX_ROUNDS)


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
