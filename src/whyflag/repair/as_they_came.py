"""Repairs of rows with cells that numbers can not say, of which the detector is asked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix, Vector
from whyflag.records import join_rows, select_rows
from whyflag.repair.known import Known
from whyflag.repair.numbers import fill, repair_numbers, with_ranges
from whyflag.repair.record import Doubt, Repair
from whyflag.repair.search import sizes
from whyflag.repair.standing import Standing
from whyflag.score.answers import rounding
from whyflag.table.originals import Originals


def repair_as_they_came(
    known: Known,
    X: Matrix,
    scores: Vector,
    shares: Matrix,
    added: Matrix,
    originals: Originals,
) -> Repair:
    """The repair of rows all of which have such cells, (n, d).

    First cells for which typical values stand in are held, and the rest is repaired; then those
    that add most to the score, (n, p), are replaced by what is expected, one, two, three, four,
    six … of them. The detector is asked of each row as it would stand, and the repair of the
    fewest features is taken.
    """
    foreign = originals.features(shares.shape[1])  # n x p
    movable = foreign & known.values.movable
    most = movable.sum(axis=1)
    order = np.argsort(np.where(movable, -added, np.inf), axis=1, kind="stable")
    rank = np.argsort(order, axis=1, kind="stable")
    flagged = scores > known.alarm
    owners, left = [np.flatnonzero(~flagged)], np.flatnonzero(flagged)

    quiet = owners[0]
    compared = ~(added[quiet] != 0).any(axis=1)
    parts = [repair_numbers(known, X[quiet], scores[quiet], shares[quiet], compared)]
    every = [0, *sizes(int(most[left].max(initial=0)))]
    for size, following in zip(every, [*every[1:], None], strict=True):
        if not len(left):
            break
        replaced = movable & (rank < size)
        found = _with_replaced(
            known,
            X[left],
            scores[left],
            shares[left],
            select_rows(originals, left),
            replaced[left],
        )
        parts.append(found)
        owners.append(left)
        if following is None:
            break
        count, share = found.changed.sum(axis=1), (shares[left] * found.changed).sum(axis=1)
        more = (shares * (movable & (rank < following))).sum(axis=1)[left]
        fewer = (count > following) | ((count == following) & (more > share))
        left = left[(most[left] > size) & (~found.silenced | fewer)]
    return _best(join_rows(parts), np.concatenate(owners), shares)


def _best(tried: Repair, owner: IntVector, shares: Matrix) -> Repair:
    """Of several repairs of each row the one that changes fewest features, then of most share.

    Where none ends the alarm, the one with the lowest score.
    """
    share = (shares[owner] * tried.changed).sum(axis=1)
    count = np.where(tried.silenced, tried.changed.sum(axis=1), tried.scores)
    order = np.lexsort((np.where(tried.silenced, -share, 0.0), count, ~tried.silenced, owner))
    _, first = np.unique(owner[order], return_index=True)
    spent = np.bincount(owner, tried.evaluations).astype(np.int64)
    return replace(select_rows(tried, order[first]), evaluations=spent)


def _differ(known: Known, one: Vector, other: Vector, X: Matrix) -> BoolVector:
    """Whether two scores of rows differ by more than rounding, of each row by itself."""
    typical, precision = known.score.unit or 0.0, known.score.precision
    allowed = [
        rounding(one[[i]], other[[i]], X[[i]], typical, precision).item() for i in range(len(X))
    ]
    return ~(np.abs(one - other) <= allowed)


def _with_replaced(
    known: Known,
    X: Matrix,
    scores: Vector,
    shares: Matrix,
    originals: Originals,
    replaced: BoolMatrix,
) -> Repair:
    """The repair with these features replaced, (n, p), while other such cells are held."""
    filled, _, tried = fill(known, X, scores, replaced)
    every, members = np.arange(len(X)), known.domain.membership
    foreign = originals.features(len(members))
    standing = Standing(
        rows=filled,
        originals=originals.without(replaced),
        foreign=foreign,
        membership=members,
    )
    held = standing.held
    before = standing(filled, every)
    found = repair_numbers(
        known, filled, before, shares, np.zeros(len(X), dtype=np.bool_), standing
    )
    found = with_ranges(known, found, replaced, standing)
    # What is put together again must be the row that came; else nothing can be said of it.
    again = Standing(rows=X, originals=originals, foreign=foreign, membership=members)(X, every)
    differs = _differ(known, again, scores, X) & standing.originals.some
    return replace(
        found,
        data=X,
        before=scores,
        rows=np.where(differs[:, None], X, standing.back(found.rows, every)),
        changed=((found.changed & ~held) | replaced) & ~differs[:, None],
        scores=np.where(differs, scores, found.scores),
        silenced=found.silenced & ~differs,
        doubts=found.doubts | np.where(differs, Doubt.STILL_ALARMING, 0),
        alternatives=tuple(
            () if several else others
            for several, others in zip(
                replaced.any(axis=1) | differs, found.alternatives, strict=True
            )
        ),
        evaluations=found.evaluations + tried + 2,
    )
