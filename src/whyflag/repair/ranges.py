"""How far a repaired value can be moved before the alarm is raised again."""

from __future__ import annotations

import numpy as np

from whyflag.arrays import BoolMatrix, IntVector, Matrix, Vector
from whyflag.domain import Domain
from whyflag.repair.trials import Trials

FIRST = 24  # values between the repaired one and the bound, evenly, and as many in proportion
NEAREST = 0.01  # scales: where those in proportion begin
CLOSER = 8  # values between the last quiet one and the first that is not
ROUNDS = 3
AGAIN = 24  # values that are looked at last, over the whole and as many near its end
END = 0.05  # of the way: its end, where the score is next to the alarm


def ranges(
    rows: Matrix, changed: BoolMatrix, trials: Trials, domain: Domain, alarm: float
) -> tuple[Matrix, Matrix]:
    """The interval around each repaired value in which the score stays at or below the alarm.

    One value moves, all others of the repaired row stay. It ends at the last value before the
    first that raises the alarm, and at the bounds; all values are of their column's kind.

    Args:
        rows: Repaired rows that raise no alarm, (n, d).
        changed: Repaired columns that an interval makes sense for, (n, d).
        trials: Scores rows.
        domain: Kinds and bounds.
        alarm: The score that must not be exceeded.

    Returns:
        The lowest and the highest values, (n, d), NaN where nothing is repaired.
    """
    found = []
    owner, column = np.nonzero(changed)
    for limits in domain.kinds.inward(domain.lower, domain.upper):
        ends = np.full(rows.shape, np.nan)
        ends[owner, column] = _reach(rows, owner, column, limits[column], trials, domain, alarm)
        found.append(ends)
    return found[0], found[1]


def _reach(
    rows: Matrix,
    owner: IntVector,
    column: IntVector,
    limit: Vector,
    trials: Trials,
    domain: Domain,
    alarm: float,
) -> Vector:
    """The last quiet value on the way from each repaired one to its limit: (b,)."""
    begin = rows[owner, column]

    def walk(quiet: Vector, end: Vector, share: Matrix) -> tuple[Vector, Vector]:
        """The last quiet value before the first that is not, and that one; the end if all are."""
        steps = share.shape[1]
        values = quiet[:, None] + share * (end - quiet)[:, None]  # b x steps
        # At the end itself, not beside it by rounding.
        values[:, -1] = end
        points = np.repeat(rows[owner][:, None], steps, axis=1)  # b x steps x d
        here = points.copy()
        moved = np.arange(len(owner))[:, None], np.arange(steps), column[:, None]
        points[moved] = values
        # Only what moves is of its kind and in range: the rest of the row is as it is.
        values = domain.admit(points, here)[moved]
        points[moved] = values
        scores = trials.of(points.reshape(-1, rows.shape[1]), np.repeat(owner, steps))
        below = (scores <= alarm).reshape(-1, steps)
        count = np.where(below.all(axis=1), steps, below.argmin(axis=1))  # quiet ones in a row
        last = np.take_along_axis(values, np.maximum(count - 1, 0)[:, None], axis=1)[:, 0]
        next_ = np.take_along_axis(values, np.minimum(count, steps - 1)[:, None], axis=1)[:, 0]
        quiet = np.where(count > 0, last, quiet)
        return quiet, np.where(count < steps, next_, quiet)

    first, closer, again = _shares(np.abs(limit - begin) / domain.scale[column])
    quiet, noisy = walk(begin, limit, first)
    for _ in range(ROUNDS):
        quiet, noisy = walk(quiet, noisy, closer)
    # Scores that jump can raise an alarm between values that were tried, mostly near the end.
    return walk(begin, quiet, again)[0]


def _shares(spans: Vector) -> tuple[Matrix, Matrix, Matrix]:
    """Where values are tried at first, closer by, and at last: parts of the way, (b, steps) each.

    A bound can be so far away that even steps would jump over all that matters.
    """
    even, close, last = (np.arange(1, steps + 1) / steps for steps in (FIRST, CLOSER, AGAIN))
    begin = np.minimum(1.0, NEAREST / np.maximum(spans, NEAREST))[:, None]
    again = np.unique([last, 1 - END + END * last])
    evenly, closer, again = (
        np.broadcast_to(each, (len(spans), len(each))) for each in (even, close, again)
    )
    return np.sort(np.hstack([evenly, begin ** (1 - even)])), closer, again
