"""Minimisation without gradients: a search along the columns, for any score."""

from __future__ import annotations

import numpy as np

from whyflag.arrays import IntVector, Matrix, Vector
from whyflag.minimise.moves import Moves
from whyflag.minimise.problem import Problems, rounding

FIRST_STEP = 1.0  # of a column's scale
LAST_STEP = 0.01
FINEST_STEP = 1e-6  # for valleys that are narrower than the last step
WALL = 1.0  # in units of the score: a valley that rises by more over one step is narrow
SHORTEN = 0.25
GAIN = 1e-9  # of the loss: less is not worth a round


def search(problems: Problems, begin: Moves, max_rounds: int) -> Moves:
    """Improve every problem from where it stands, never going up.

    A round tries every column by itself: a step either way, a jump to the column's typical value
    or half-way there, and the way back to x; a binary column is flipped. Then it tries the best
    of these moves together, and the direction of the last round once more, and takes the lowest
    loss of all. When nothing is lower, the steps are shortened, down to 1 % of the scale; further
    where the loss rises steeply on both sides, since such a step sees nothing of the valley.
    """
    u, loss = begin.u.copy(), begin.loss.copy()
    ended = Moves(u, loss, np.zeros(len(problems), np.bool_), begin.n_evaluations.copy())
    target = (problems.domain.center - problems.X) / problems.domain.scale  # b x d, NaN: none
    step = np.full(len(problems), FIRST_STEP)
    last_move = np.zeros_like(u)
    which = np.arange(len(problems))
    for _ in range(max_rounds):
        which = which[~ended.converged[which]]
        if len(which) == 0:
            break
        some = problems.select(which)
        values, value_losses, walls, n_tried = _try_columns(
            some, u[which], step[which], target[which]
        )
        best_u, best_loss, n_more = _try_together(
            some, u[which], loss[which], values, value_losses, last_move[which]
        )
        ended.n_evaluations[which] += n_tried + n_more
        better = best_loss < loss[which] - rounding(loss[which], GAIN)
        last_move[which] = np.where(better[:, None], best_u - u[which], 0.0)
        u[which] = np.where(better[:, None], best_u, u[which])
        loss[which] = np.where(better, best_loss, loss[which])
        narrow = (walls > loss[which] + WALL) & (step[which] > FINEST_STEP)
        step[which] *= np.where(better, 1.0, SHORTEN)
        ended.converged[which] = (step[which] < LAST_STEP) & ~narrow
    ended.converged[:] &= np.isfinite(loss)
    return ended


def _try_columns(
    problems: Problems, u: Matrix, step: Vector, target: Matrix
) -> tuple[Matrix, Matrix, Vector, IntVector]:
    """Best value of each column by itself: b x d; its loss: b x d.

    Also the loss a step to both sides, where it is highest, (b,), and how many were tried, (b,).
    """
    lower, upper = problems.lower, problems.upper
    by = step[:, None]
    candidates = np.stack([u + by, u - by, target, (u + target) / 2, np.zeros_like(u)])
    candidates = np.clip(candidates, lower, upper)  # 5 x b x d
    flip = np.where(np.abs(u - lower) < np.abs(u - upper), upper, lower)
    candidates[0] = np.where(problems.domain.binary, flip, candidates[0])
    candidates[1:, :, problems.domain.binary] = np.nan
    candidates = np.stack([problems.project(each) for each in candidates])
    worth = problems.free & np.isfinite(candidates) & (candidates != u)
    losses = problems.losses_of_columns(u, candidates, worth)
    best = losses.argmin(axis=0)[None]  # 1 x b x d
    values = np.take_along_axis(candidates, best, axis=0)[0]
    sides = losses[:2].min(axis=0)  # b x d
    walls = np.where(np.isfinite(losses[:2]).all(axis=0), sides, -np.inf).max(axis=1)
    return values, np.take_along_axis(losses, best, axis=0)[0], walls, worth.sum(axis=(0, 2))


def _try_together(
    problems: Problems,
    u: Matrix,
    now: Vector,
    values: Matrix,
    value_losses: Matrix,
    last_move: Matrix,
) -> tuple[Matrix, Vector, int]:
    """Lowest of: the best column, the best 2, 4, 8 … columns together, the last move again."""
    order = value_losses.argsort(axis=1, kind="stable")
    rank = order.argsort(axis=1, kind="stable")  # b x d: 0 is the best column
    gainful = value_losses < now[:, None]
    trials = [np.where((rank < 1) & gainful, values, u)]
    together = 2
    while together < 2 * u.shape[1]:
        trials.append(np.where((rank < together) & gainful, values, u))
        together *= 2
    trials += [trials[0] + last_move, u + 2 * last_move]
    several = np.array([problems.project(np.where(problems.free, trial, 0.0)) for trial in trials])
    losses = problems.losses(several)  # t x b
    best = losses.argmin(axis=0)
    each = np.arange(len(u))
    lowest = losses[best, each]
    best_u = np.where(np.isfinite(lowest)[:, None], several[best, each], u)
    return best_u, lowest, len(trials)
