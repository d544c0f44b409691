"""Repairs of rows with cells that no normal row has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from whyflag.arrays import BoolMatrix, Matrix, Vector
from whyflag.repair.known import Known
from whyflag.repair.numbers import fill, repair_numbers, with_ranges
from whyflag.repair.record import Repair


def repair_foreign(
    known: Known,
    X: Matrix,
    scores: Vector,
    shares: Matrix,
    added: Matrix,
    unknown: BoolMatrix | None,
) -> Repair:
    """The repair of rows (n, d) in some of which such cells add to the score, (n, p).

    Where only typical values stand for them, in the features `unknown`, (n, p), or in all, what is
    expected takes their place.
    """
    if not added.any():
        return repair_numbers(known, X, scores, shares)
    # Cells that are replaced whatever the rest of the row is.
    replaced = added > known.alarm - known.normal_scores.min()
    filled, before, tried = fill(
        known,
        X,
        scores - added.sum(axis=1),
        replaced if unknown is None else replaced & unknown,
    )
    odd = (added != 0).any(axis=1)  # n
    seen = repair_numbers(known, filled, before, shares, ~odd)
    seen = with_ranges(known, seen, replaced)
    seen = replace(seen, data=X, evaluations=seen.evaluations + tried)
    return _with_foreign(seen, scores, added)


def _with_foreign(repair: Repair, scores: Vector, added: Matrix) -> Repair:
    """The repair of rows in which some cells add to the score, whatever else is.

    Those that add least stay, as far as the alarm ends all the same.
    """
    odd = (added != 0).any(axis=1)  # n
    added = np.where(repair.changed, 0.0, added)  # of what is replaced nothing is left
    order = np.argsort(added, axis=1, kind="stable")
    left = repair.scores[:, None] + np.cumsum(np.take_along_axis(added, order, axis=1), axis=1)
    stays = np.zeros(added.shape, dtype=np.bool_)
    np.put_along_axis(stays, order, left <= repair.alarm, axis=1)
    stays |= added < 0
    return replace(
        repair,
        before=scores,
        scores=repair.scores + (added * stays).sum(axis=1),
        changed=repair.changed | (~stays & (added != 0)),
        alternatives=tuple(
            () if each else other for each, other in zip(odd, repair.alternatives, strict=True)
        ),
        contexts=tuple(
            None if each else other for each, other in zip(odd, repair.contexts, strict=True)
        ),
    )
