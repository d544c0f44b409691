"""Repairs of rows of which their numbers say all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix, Vector
from whyflag.batches import batches
from whyflag.progress import work
from whyflag.records import join_rows, select_rows
from whyflag.repair.besides import (
    alternatives_of,
    choices_of,
    context_of_first,
    doubts_of,
    others_of,
)
from whyflag.repair.digits import ends_in_few_digits, in_few_digits
from whyflag.repair.known import Known
from whyflag.repair.ranges import ranges
from whyflag.repair.record import Alternative, Doubt, Repair
from whyflag.repair.search import Found, Search
from whyflag.repair.standing import Standing
from whyflag.repair.trials import Trials
from whyflag.score import evaluate

ENOUGH = 50  # normal rows that say how far from one another normal rows are
MOST_UNLIKE = 3  # features of a row without an alarm that are told to be unlike normal ones
EACH = 2**11  # numbers of a row that are kept while it is repaired, for each column


def repair_numbers(
    known: Known,
    X: Matrix,
    scores: Vector,
    shares: Matrix,
    compared: BoolVector | None = None,
    standing: Standing | None = None,
) -> Repair:
    """The repair of rows (n, d) with these scores and shares of their features, (n, p).

    Of those that raise no alarm but are unlike normal rows some are told what would be like
    them, `compared`, (n,), or all; of the others it is only said. `standing` asks the detector of
    rows with cells for which others stand in.
    """
    whole = _unchanged(known, X, scores)
    flagged = scores > known.alarm
    unlike = ~flagged & (known.rows is not None and len(known.rows) >= ENOUGH)
    if unlike.any():
        unlike[unlike] = known.second_look.is_odd(X[unlike])
    said = np.where(unlike, Doubt.STILL_ODD, Doubt.NONE)
    whole = replace(whole, doubts=whole.doubts | said)
    if compared is not None:
        unlike &= compared
    some = [flagged, unlike, ~flagged & ~unlike]
    parts = []

    def repaired(now: Repair, shares: Matrix, rows: IntVector) -> Repair:
        return _repair(known, now, shares, standing and select_rows(standing, rows))

    def towards_normal(now: Repair, shares: Matrix, _: IntVector) -> Repair:
        return _towards_normal(known, now, shares)

    with work("looking for normal values", "row", int((flagged | unlike).sum())) as bar:
        for which, search in zip(some, (repaired, towards_normal), strict=False):
            for batch in batches(int(which.sum()), EACH * X.shape[1]):
                chosen = np.flatnonzero(which)[batch]
                parts.append(search(select_rows(whole, chosen), shares[chosen], chosen))
                bar.update(len(chosen))
    order = np.concatenate([np.flatnonzero(which) for which in some])
    parts.append(select_rows(whole, np.flatnonzero(some[-1])))
    return select_rows(join_rows(parts), np.argsort(order))


def fill(
    known: Known, X: Matrix, scores: Vector, unknown: BoolMatrix
) -> tuple[Matrix, Vector, IntVector]:
    """Rows with what is expected in these features, their scores, and how many were tried.

    The first that raises no alarm; where all do, the one with the lowest score.
    """
    unknown = unknown & known.values.movable
    filled, scores, n_tried = X.copy(), scores.copy(), np.zeros(len(X), dtype=np.int64)
    for i in np.flatnonzero(unknown.any(axis=1)):
        expected = known.values.together(X[i], unknown[i], np.ones(unknown.shape[1]))
        tried = np.vstack([expected, X[i]])
        found = evaluate(known.score, tried)
        quiet = found <= known.alarm
        best = quiet.argmax() if quiet.any() else found.argmin()
        filled[i], scores[i], n_tried[i] = tried[best], found[best], len(tried)
    return filled, scores, n_tried


def with_ranges(
    known: Known, repair: Repair, features: BoolMatrix, standing: Standing | None = None
) -> Repair:
    """How far numbers of more features of repaired rows can be moved."""
    quiet = (repair.scores <= known.alarm)[:, None]
    columns = (features & ~repair.changed & quiet) @ known.domain.membership  # n x d
    trials = Trials(known, len(repair), standing)
    numbers = columns & ~known.patterned
    lower, upper = _ranges(known, repair.rows, repair.data, numbers, trials)
    return replace(
        repair,
        lower=np.where(numbers, lower, repair.lower),
        upper=np.where(numbers, upper, repair.upper),
        evaluations=repair.evaluations + trials.count,
    )


def _unchanged(known: Known, X: Matrix, scores: Vector) -> Repair:
    """Rows as they are, without names."""
    n, p = len(X), known.domain.n_players
    nothing = np.full(X.shape, np.nan)
    return Repair(
        rows=X.copy(),
        changed=np.zeros((n, p), dtype=np.bool_),
        scores=scores.copy(),
        silenced=np.ones(n, dtype=np.bool_),
        lower=nothing,
        upper=nothing.copy(),
        choices=({},) * n,
        alternatives=((),) * n,
        usual=((),) * n,
        contexts=(None,) * n,
        doubts=np.full(n, Doubt.NONE if known.knows_alarm else Doubt.NO_THRESHOLD),
        evaluations=np.zeros(n, dtype=np.int64),
        data=X,
        before=scores,
        row_names=(None,) * n,
        alarm=known.alarm,
        domain=known.domain,
    )


def _repair(known: Known, now: Repair, shares: Matrix, standing: Standing | None = None) -> Repair:
    """The repair of rows that raise an alarm."""
    X, each = now.data, range(len(now))
    trials = Trials(known, len(now), standing)
    foreign = np.zeros(shares.shape, np.bool_) if standing is None else standing.foreign
    search = Search(known, trials)
    found = _in_few_digits(known, search(X, now.before, shares), X, shares, trials)
    quiet = found.scores <= known.alarm
    columns = (found.changed & quiet[:, None]) @ known.domain.membership  # n x d
    lower, upper = _ranges(known, found.rows, X, columns & ~known.patterned, trials)
    return replace(
        now,
        rows=found.rows,
        changed=found.changed,
        scores=found.scores,
        silenced=quiet,
        lower=lower,
        upper=upper,
        choices=tuple(choices_of(known, found, i, trials) for i in each),
        alternatives=tuple(alternatives_of(known, found, i, shares[i]) for i in each),
        contexts=tuple(
            context_of_first(known, X[i], found, i, shares[i], trials, foreign[i]) for i in each
        ),
        doubts=now.doubts | doubts_of(known, found),
        evaluations=trials.count,
    )


def _towards_normal(known: Known, now: Repair, shares: Matrix) -> Repair:
    """Rows that raise no alarm, as they are, with what would make them like normal rows."""
    look = replace(known, score=known.second_look.score)
    distances = evaluate(look.score, now.data)
    found = _repair(look, replace(now, before=distances), shares)
    scores = evaluate(known.score, found.rows)
    done = found.silenced & (scores <= known.alarm)
    done &= found.changed.sum(axis=1) <= MOST_UNLIKE
    usual = tuple(
        tuple(
            Alternative(int(j), tuple(row[known.domain.membership[j]].tolist()), float(score))
            for j in np.flatnonzero(changed & is_done)
        )
        for row, changed, is_done, score in zip(
            found.rows, found.changed, done, scores, strict=True
        )
    )
    return replace(
        now,
        usual=usual,
        lower=np.where(done[:, None], found.lower, np.nan),
        upper=np.where(done[:, None], found.upper, np.nan),
        evaluations=np.ones(len(now), dtype=np.int64),
    )


def _in_few_digits(known: Known, found: Found, X: Matrix, shares: Matrix, trials: Trials) -> Found:
    """The same with repaired numbers, and those that would do alone, as people write them."""
    members, every = known.domain.membership, np.arange(len(X))
    rows, scores = in_few_digits(
        found.rows, found.scores, found.changed @ members, X, every, known, trials
    )
    alone, alone_rows = found.alone.copy(), found.alone_rows.copy()
    others = [others_of(known, found, i, shares[i]) for i in range(len(X))]
    owner = np.repeat(every, [len(each) for each in others])
    its = np.array([j for each in others for j in each], dtype=np.int64)
    alone_rows[owner, its], alone[owner, its] = in_few_digits(
        alone_rows[owner, its], alone[owner, its], members[its], X[owner], owner, known, trials
    )
    return replace(found, rows=rows, scores=scores, alone=alone, alone_rows=alone_rows)


def _ranges(
    known: Known, rows: Matrix, observed: Matrix, numbers: BoolMatrix, trials: Trials
) -> tuple[Matrix, Matrix]:
    """How far these numbers of repaired rows can be moved without an alarm."""
    lower, upper = ranges(rows, observed, numbers, known, trials)
    return ends_in_few_digits(lower, rows, upper, known.inside)
