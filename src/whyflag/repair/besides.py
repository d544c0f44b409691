"""What is told of a repair besides the values: choices, other features, the context, doubts."""

from __future__ import annotations

import numpy as np

from whyflag.arrays import BoolVector, IntVector, Matrix, Vector
from whyflag.repair.context import Context, context_of
from whyflag.repair.known import Known
from whyflag.repair.record import Alternative, Doubt
from whyflag.repair.search import Found
from whyflag.repair.trials import Trials

MOST_ALTERNATIVES = 3
SHARED = 0.05  # of normal rows: a value that so many have, or one beyond it, is not at the edge


def choices_of(known: Known, found: Found, i: int, trials: Trials) -> dict[int, Matrix]:
    """All values of repaired categories that raise no alarm, the rest held."""
    quiet: dict[int, Matrix] = {}
    if found.scores[i] > known.alarm:
        return quiet
    for feature in np.flatnonzero(found.changed[i]):
        columns = known.domain.membership[feature]
        if known.patterned[columns].all():
            values = known.values.known[feature]
            points = np.repeat(found.rows[i][None], len(values), axis=0)
            points[:, columns] = values
            scores = trials.of(points, np.full(len(points), i))
            quiet[int(feature)] = values[scores <= known.alarm]
    return quiet


def others_of(known: Known, found: Found, i: int, shares: Vector) -> list[int]:
    """Other features that end the alarm by themselves, if one does, by their shares."""
    able = (found.alone[i] <= known.alarm) & ~found.changed[i]
    if found.changed[i].sum() != 1:
        return []
    return [int(j) for j in np.argsort(-shares, kind="stable") if able[j]][:MOST_ALTERNATIVES]


def alternatives_of(known: Known, found: Found, i: int, shares: Vector) -> tuple[Alternative, ...]:
    """What these features would have to be."""
    return tuple(
        Alternative(
            j,
            tuple(found.alone_rows[i, j, known.domain.membership[j]].tolist()),
            float(found.alone[i, j]),
        )
        for j in others_of(known, found, i, shares)
    )


def context_of_first(
    known: Known,
    x: Vector,
    found: Found,
    i: int,
    shares: Vector,
    trials: Trials,
    foreign: BoolVector,
) -> Context | None:
    """What makes the first repaired value odd; what only stands in makes none odd."""
    changed = found.changed[i] & ~foreign
    if not changed.any():
        return None
    feature = int(np.argmax(np.where(changed, shares, -1.0)))
    # Of several wrong values none makes another odd.
    odd = np.where(known.domain.membership[feature], x, found.rows[i])
    sound = ~found.changed[i] & ~foreign
    return context_of(odd, found.rows[i], feature, sound, i, known, trials)


def doubts_of(known: Known, found: Found) -> IntVector:
    """What is to be known of repaired rows, (n,)."""
    moved = found.changed @ known.domain.membership & ~known.patterned  # n x d
    low, high = known.domain.kinds.inward(known.inside.lower, known.inside.upper)
    normal = known.expected.rows
    at_low = (found.rows <= low) & ((normal <= low).mean(axis=0) < SHARED)
    at_high = (found.rows >= high) & ((normal >= high).mean(axis=0) < SHARED)
    edge = (at_low | at_high) & moved & (low < high)
    return np.asarray(
        np.where(found.scores <= known.alarm, 0, Doubt.STILL_ALARMING)
        | np.where(edge.any(axis=1), Doubt.AT_THE_EDGE, 0)
        | np.where(known.second_look.is_odd(found.rows), Doubt.STILL_ODD, 0)
    )
