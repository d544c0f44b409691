"""Other ways down: a long step can leap over a nearer and deeper valley."""

from __future__ import annotations

import numpy as np

from whyflag.minimise.problem import Moves, Problems
from whyflag.minimise.quasi_newton import descend


def descend_other_ways(problems: Problems, first: Moves, max_evaluations: int) -> Moves:
    """Go down again from two places on the way to where each problem ended; keep the lowest.

    Knowing the curvature, descent takes one step to the bottom of the parabola that rules at x,
    past whatever lies between. The two places are half-way along that step, and where every
    column has gone down the slope equally far. Neither is further from x than the end is, so the
    minimum stays a local one. A place where the same parabola rules as at the end leads to the
    same bottom, and is left alone.
    """
    away = first.u - problems.entry
    _, slope, _ = problems.loss_and_grad(problems.entry)
    _, _, end_regime = problems.loss_and_grad(first.u)
    equally = np.linalg.norm(away, axis=1) / np.sqrt(np.maximum(problems.free.sum(axis=1), 1))
    places = [problems.entry + 0.5 * away, problems.entry - equally[:, None] * np.sign(slope)]
    best = Moves(first.u.copy(), first.loss.copy(), first.converged.copy(), first.n_evaluations + 2)
    for place in places:
        start = problems.project(place)
        _, _, regime = problems.loss_and_grad(start)
        best.n_evaluations[:] += 1
        which = np.flatnonzero(regime != end_regime)
        if len(which) == 0:
            continue
        some = problems.on_leash(problems.leash, start).select(which)
        found = descend(some, max_evaluations)
        best.n_evaluations[which] += found.n_evaluations
        lower = found.loss < best.loss[which]
        better = which[lower]
        best.u[better], best.loss[better] = found.u[lower], found.loss[lower]
        best.converged[better] = found.converged[lower]
    return best
