"""Minimisation within a ball: a leash that is pulled in until every move is short enough."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from whyflag.arrays import Vector
from whyflag.minimise.moves import Moves
from whyflag.minimise.problem import Problems

CLOSE = 1e-9  # how near to the radius, relative to it, a move must come
MOST_PULLS = 60


def within_ball(problems: Problems, radius: float, solve: Callable[[Problems], Moves]) -> Moves:
    """Minimise with |u − entry| ≤ radius, for any solver of the problem without it.

    The constraint is traded for a price λ|u − entry|², as in a trust region: the higher λ, the
    shorter the move. λ is found for each problem such that the move is as long as allowed;
    1 / length is nearly linear in λ, so regula falsi takes a few rounds.
    """
    b = len(problems)
    best = Moves(
        u=problems.entry.copy(),
        loss=problems.loss(problems.entry),
        converged=np.zeros(b, dtype=np.bool_),
        n_evaluations=np.ones(b, dtype=np.int64),
    )
    tight, loose = np.full(b, np.inf), np.zeros(b)  # prices known to be too high, too low
    tight_slack, loose_slack = np.full(b, np.nan), np.full(b, np.nan)
    leash = np.zeros(b)
    start = problems.entry.copy()
    which = np.arange(b)
    for _ in range(MOST_PULLS):
        some = problems.on_leash(leash, start).select(which)
        found = solve(some)
        start[which] = found.u
        away = found.u - some.entry
        length = np.maximum(np.linalg.norm(away, axis=1), 1e-300)
        # What is too long is cut off at the sphere: a good answer if it is hardly too long.
        inside = some.entry + away * np.minimum(1.0, radius / length)[:, None]
        loss = problems.select(which).loss(inside)
        lower = loss < best.loss[which]
        best.u[which[lower]], best.loss[which[lower]] = inside[lower], loss[lower]
        best.n_evaluations[which] += found.n_evaluations + 1

        slack = 1 / length - 1 / radius  # positive: short enough
        short, long = which[slack >= 0], which[slack < 0]
        tight[short], tight_slack[short] = leash[short], slack[slack >= 0]
        loose[long], loose_slack[long] = leash[long], slack[slack < 0]
        fits = np.abs(slack) <= CLOSE / radius
        # Also where no price is needed: then none is too low.
        narrow = np.isfinite(tight[which]) & (loose[which] >= tight[which] * (1 - CLOSE))
        best.converged[which] = (fits | narrow) & found.converged
        which = which[~(fits | narrow)]
        if len(which) == 0:
            break
        leash[which] = _next_price(
            tight[which], loose[which], tight_slack[which], loose_slack[which], radius
        )
    return best


def _next_price(
    tight: Vector, loose: Vector, tight_slack: Vector, loose_slack: Vector, radius: float
) -> Vector:
    unbounded = ~np.isfinite(tight)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = loose_slack / (loose_slack - tight_slack)
        # Stay away from the ends, which regula falsi approaches from one side only.
        middle = loose + np.clip(np.nan_to_num(share, nan=0.5), 0.05, 0.95) * (tight - loose)
    return np.where(unbounded, np.maximum(10 * loose, 1e-3 / radius**2), middle)
