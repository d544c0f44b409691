"""Repairs of rows with cells that no normal row has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from whyflag.arrays import Matrix, Vector
from whyflag.repair.record import Repair


def with_foreign(repair: Repair, scores: Vector, added: Matrix) -> Repair:
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
