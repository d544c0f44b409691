"""How far a repaired value can be moved before the alarm is raised again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from whyflag.arrays import BoolMatrix, IntVector, Matrix, Vector
from whyflag.repair.known import Known
from whyflag.repair.trials import Trials

FIRST = 24  # values between the repaired one and the bound, evenly, and as many in proportion
NEAREST = 0.01  # scales: where those in proportion begin
CLOSER = 8  # values between the last quiet one and the first that is not
ROUNDS = 3
AGAIN = 12  # values that are looked at once more, evenly over the whole range
LOUDEST = 4  # gaps between values, where the score is highest, that are looked into after these
INTO = 5  # values in each of them
LOOKS = 2  # rounds of it


def ranges(
    rows: Matrix, observed: Matrix, changed: BoolMatrix, known: Known, trials: Trials
) -> tuple[Matrix, Matrix]:
    """The interval around each repaired value in which the score stays at or below the alarm.

    One value moves, all others of the repaired row stay. It ends at the last value before the
    first that raises the alarm, and at the bounds; all values are of their column's kind.

    Args:
        rows: Repaired rows that raise no alarm, (n, d).
        observed: The rows as they were, (n, d): their values are tried too, so that none that
            raises the alarm is called normal, however narrow the alarm is around it.
        changed: Repaired columns that an interval makes sense for, (n, d).
        known: The alarm, and the bounds.
        trials: Scores rows.

    Returns:
        The lowest and the highest values, (n, d), NaN where nothing is repaired.
    """
    found = []
    owner, column = np.nonzero(changed)
    for limits in known.inside.kinds.inward(known.inside.lower, known.inside.upper):
        ends = np.full(rows.shape, np.nan)
        ends[owner, column] = _reach(
            rows, owner, column, limits[column], observed[owner, column], known, trials
        )
        found.append(ends)
    return found[0], found[1]


def _reach(
    rows: Matrix,
    owner: IntVector,
    column: IntVector,
    limit: Vector,
    seen: Vector,
    known: Known,
    trials: Trials,
) -> Vector:
    """The last quiet value on the way from each repaired one to its limit: (b,)."""
    begin = rows[owner, column]

    def scored(values: Matrix) -> tuple[Matrix, Matrix]:
        """The nearest values that the columns can hold, and their scores: b x steps each."""
        steps = values.shape[1]
        points = np.repeat(rows[owner][:, None], steps, axis=1)  # b x steps x d
        here = points.copy()
        moved = np.arange(len(owner))[:, None], np.arange(steps), column[:, None]
        points[moved] = values
        # Only what moves is of its kind and in range: the rest of the row is as it is.
        values = known.inside.admit(points, here)[moved]
        points[moved] = values
        scores = trials.of(points.reshape(-1, rows.shape[1]), np.repeat(owner, steps))
        return values, scores.reshape(-1, steps)

    def walk(quiet: Vector, end: Vector, share: Matrix) -> tuple[Vector, Vector]:
        """The last quiet value before the first that is not, and that one; the end if all are."""
        values = quiet[:, None] + share * (end - quiet)[:, None]  # b x steps
        # At the end itself and at what was seen, not beside them by rounding.
        values[:, -1] = end
        on_the_way = np.clip(seen, np.minimum(quiet, end), np.maximum(quiet, end))
        values = np.hstack([values, on_the_way[:, None]])
        order = np.argsort(np.abs(values - quiet[:, None]), axis=1, kind="stable")
        steps = values.shape[1]
        values, scores = scored(np.take_along_axis(values, order, axis=1))
        below = scores <= known.alarm
        count = np.where(below.all(axis=1), steps, below.argmin(axis=1))  # quiet ones in a row
        last = np.take_along_axis(values, np.maximum(count - 1, 0)[:, None], axis=1)[:, 0]
        next_ = np.take_along_axis(values, np.minimum(count, steps - 1)[:, None], axis=1)[:, 0]
        quiet = np.where(count > 0, last, quiet)
        return quiet, np.where(count < steps, next_, quiet)

    quiet, noisy = walk(begin, limit, _shares(np.abs(limit - begin) / known.domain.scale[column]))
    for _ in range(ROUNDS):
        quiet, noisy = walk(quiet, noisy, np.arange(1, CLOSER + 1)[None] / CLOSER)
    return _last_quiet(begin, quiet, scored, known.alarm)


def _last_quiet(
    begin: Vector, end: Vector, scored: Callable[[Matrix], tuple[Matrix, Matrix]], alarm: float
) -> Vector:
    """The last value before the first that raises the alarm, looked for once more: (b,).

    A score that jumps can raise it between values that were tried, mostly where it is high.
    """
    share = np.arange(AGAIN + 1) / AGAIN
    values, scores = scored(begin[:, None] + share * (end - begin)[:, None])
    values[:, -1] = end
    for _ in range(LOOKS):
        passed = np.maximum.accumulate(scores[:, :-1] > alarm, axis=1)  # b x gaps
        empty = np.diff(values, axis=1) == 0
        high = np.where(passed | empty, -np.inf, np.maximum(scores[:, :-1], scores[:, 1:]))
        gaps = np.argsort(-high, axis=1, kind="stable")[:, :LOUDEST]  # b x l
        low, top = (np.take_along_axis(each, gaps, 1) for each in (values[:, :-1], values[:, 1:]))
        into = np.arange(1, INTO + 1) / (INTO + 1)
        more = low[..., None] + into * (top - low)[..., None]  # b x l x INTO
        found = scored(more.reshape(len(begin), LOUDEST * INTO))
        values, scores = np.hstack([values, found[0]]), np.hstack([scores, found[1]])
        order = np.argsort(np.abs(values - begin[:, None]), axis=1, kind="stable")
        values, scores = (np.take_along_axis(each, order, 1) for each in (values, scores))
    loud = scores > alarm
    count = np.where(loud.any(axis=1), loud.argmax(axis=1), loud.shape[1])
    return np.asarray(np.take_along_axis(values, np.maximum(count - 1, 0)[:, None], axis=1)[:, 0])


def _shares(spans: Vector) -> Matrix:
    """Where values are tried at first, as parts of the way: (b, steps).

    A bound can be so far away that even steps would jump over all that matters.
    """
    even = np.arange(1, FIRST + 1) / FIRST
    begin = np.minimum(1.0, NEAREST / np.maximum(spans, NEAREST))[:, None]
    return np.sort(np.hstack([np.broadcast_to(even, (len(spans), FIRST)), begin ** (1 - even)]))
