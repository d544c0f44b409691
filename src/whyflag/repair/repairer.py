"""From flagged rows to repaired ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, final

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix, Vector
from whyflag.batches import batches
from whyflag.domain import Domain
from whyflag.progress import work
from whyflag.records import join_rows, select_rows
from whyflag.repair.as_they_came import repair_as_they_came
from whyflag.repair.context import Context, context_of
from whyflag.repair.digits import ends_in_few_digits, in_few_digits
from whyflag.repair.foreign import with_foreign
from whyflag.repair.known import Known
from whyflag.repair.ranges import ranges
from whyflag.repair.record import Alternative, Doubt, Repair
from whyflag.repair.search import Found, Search
from whyflag.repair.standing import Standing
from whyflag.repair.trials import Trials
from whyflag.score import Score, evaluate
from whyflag.table.codec import Codec
from whyflag.table.originals import Originals

MOST_ALTERNATIVES = 3
ENOUGH = 50  # normal rows that say how far from one another normal rows are
MOST_UNLIKE = 3  # features of a row without an alarm that are told to be unlike normal ones
SHARED = 0.05  # of normal rows: a value that so many have, or one beyond it, is not at the edge
EACH = 2**11  # numbers of a row that are kept while it is repaired, for each column


@final
@dataclass(frozen=True)
class Repairer:
    """Finds for flagged rows the smallest change that ends the alarm.

    Attributes:
        score: The anomaly score, with its threshold.
        domain: Kinds, bounds and features.
        rows: Normal rows, (n, d); None: the typical rows of the domain stand for them.
        codecs: How values are written, by feature, where that is not as plain numbers.
    """

    score: Score
    domain: Domain
    rows: Matrix | None
    codecs: Mapping[str, Codec] = field(default_factory=dict)

    @property
    def alarm(self) -> float:
        """The score to come down to."""
        return self._known.alarm

    @property
    def movable(self) -> BoolVector:
        """The features that can be repaired, (p,)."""
        return self._known.values.movable

    @cached_property
    def _known(self) -> Known:
        return Known(self.score, self.domain, self.rows)

    def __call__(
        self,
        X: Matrix,
        scores: Vector,
        shares: Matrix,
        row_names: Sequence[Any],
        added: Matrix | None = None,
        unknown: BoolMatrix | None = None,
        originals: Originals | None = None,
    ) -> Repair:
        """Repair rows (n, d) with these scores and shares of their features, (n, p).

        `added` is what cells that no normal row has add to the scores, (n, p). In the rows other
        values stand for them. Where these are no more than typical ones, in the features `unknown`,
        bool (n, p), their repair is what the rest of the row leads one to expect. Where the
        detector takes such cells as they came, `originals`, it is asked.
        """
        found = self._repaired(X, scores, shares, added, unknown, originals)
        return replace(found, row_names=tuple(row_names))

    def _repaired(
        self,
        X: Matrix,
        scores: Vector,
        shares: Matrix,
        added: Matrix | None,
        unknown: BoolMatrix | None,
        originals: Originals | None,
    ) -> Repair:
        if originals is not None and added is not None and originals.some.any():
            asked, others = np.flatnonzero(originals.some), np.flatnonzero(~originals.some)
            parts = [
                repair_as_they_came(
                    self,
                    X[asked],
                    scores[asked],
                    shares[asked],
                    added[asked],
                    select_rows(originals, asked),
                ),
                self._repaired(
                    X[others],
                    scores[others],
                    shares[others],
                    added[others],
                    None if unknown is None else unknown[others],
                    None,
                ),
            ]
            return select_rows(join_rows(parts), np.argsort(np.concatenate([asked, others])))
        if added is not None and added.any():
            # Cells that are replaced whatever the rest of the row is.
            replaced = added > self._known.alarm - self._known.normal_scores.min()
            filled, before, tried = self.filled(
                X,
                scores - added.sum(axis=1),
                replaced if unknown is None else replaced & unknown,
            )
            odd = (added != 0).any(axis=1)  # n
            seen = self.of_known(filled, before, shares, ~odd)
            seen = self.with_ranges(seen, replaced)
            seen = replace(seen, data=X, evaluations=seen.evaluations + tried)
            return with_foreign(seen, scores, added)
        return self.of_known(X, scores, shares, np.ones(len(X), dtype=np.bool_))

    def of_known(
        self,
        X: Matrix,
        scores: Vector,
        shares: Matrix,
        compared: BoolVector,
        standing: Standing | None = None,
    ) -> Repair:
        """The repair of rows whose cells are all known.

        Of those that raise no alarm but are unlike normal rows some are told what would be like
        them, (n,); of the others it is only said. `standing` asks the detector of rows with cells
        for which others stand in.
        """
        whole = self._unchanged(X, scores)
        flagged = scores > self._known.alarm
        unlike = ~flagged & (self.rows is not None and len(self.rows) >= ENOUGH)
        if unlike.any():
            unlike[unlike] = self._known.second_look.is_odd(X[unlike])
        said = np.where(unlike, Doubt.STILL_ODD, Doubt.NONE)
        whole = replace(whole, doubts=whole.doubts | said)
        unlike &= compared
        some = [flagged, unlike, ~flagged & ~unlike]
        parts = []

        def repaired(now: Repair, shares: Matrix, rows: IntVector) -> Repair:
            return self._repair(now, shares, standing and select_rows(standing, rows))

        def towards_normal(now: Repair, shares: Matrix, _: IntVector) -> Repair:
            return self._towards_normal(now, shares)

        with work("looking for normal values", "row", int((flagged | unlike).sum())) as bar:
            for which, search in zip(some, (repaired, towards_normal), strict=False):
                for batch in batches(int(which.sum()), EACH * X.shape[1]):
                    chosen = np.flatnonzero(which)[batch]
                    parts.append(search(select_rows(whole, chosen), shares[chosen], chosen))
                    bar.update(len(chosen))
        order = np.concatenate([np.flatnonzero(which) for which in some])
        parts.append(select_rows(whole, np.flatnonzero(some[-1])))
        return select_rows(join_rows(parts), np.argsort(order))

    def filled(
        self, X: Matrix, scores: Vector, unknown: BoolMatrix
    ) -> tuple[Matrix, Vector, IntVector]:
        """Rows with what is expected in these features, their scores, and how many were tried.

        The first that raises no alarm; where all do, the one with the lowest score.
        """
        unknown = unknown & self._known.values.movable
        filled, scores, n_tried = X.copy(), scores.copy(), np.zeros(len(X), dtype=np.int64)
        for i in np.flatnonzero(unknown.any(axis=1)):
            expected = self._known.values.together(X[i], unknown[i], np.ones(unknown.shape[1]))
            tried = np.vstack([expected, X[i]])
            found = evaluate(self.score, tried)
            quiet = found <= self._known.alarm
            best = quiet.argmax() if quiet.any() else found.argmin()
            filled[i], scores[i], n_tried[i] = tried[best], found[best], len(tried)
        return filled, scores, n_tried

    def with_ranges(
        self, repair: Repair, features: BoolMatrix, standing: Standing | None = None
    ) -> Repair:
        """How far numbers of more features of repaired rows can be moved."""
        quiet = (repair.scores <= self._known.alarm)[:, None]
        columns = (features & ~repair.changed & quiet) @ self.domain.membership  # n x d
        trials = Trials(self.score, self.domain.membership, len(repair), standing)
        numbers = columns & ~self._known.patterned
        lower, upper = self._ranges(repair.rows, numbers, trials)
        return replace(
            repair,
            lower=np.where(numbers, lower, repair.lower),
            upper=np.where(numbers, upper, repair.upper),
            evaluations=repair.evaluations + trials.count,
        )

    def _unchanged(self, X: Matrix, scores: Vector) -> Repair:
        """Rows as they are, without names."""
        n, p = len(X), self.domain.n_players
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
            doubts=np.full(n, Doubt.NONE if self._known.knows_alarm else Doubt.NO_THRESHOLD),
            evaluations=np.zeros(n, dtype=np.int64),
            data=X,
            before=scores,
            row_names=(None,) * n,
            alarm=self._known.alarm,
            domain=self.domain,
            codecs=self.codecs,
        )

    def _repair(self, now: Repair, shares: Matrix, standing: Standing | None = None) -> Repair:
        """The repair of rows that raise an alarm."""
        trials = Trials(self.score, self.domain.membership, len(now), standing)
        foreign = np.zeros(shares.shape, np.bool_) if standing is None else standing.foreign
        search = Search(
            self._known.values,
            trials,
            self._known.inside,
            self._known.alarm,
            self._known.quiet_near,
        )
        found = self._in_few_digits(search(now.data, now.before, shares), now.data, shares, trials)
        quiet = found.scores <= self._known.alarm
        columns = (found.changed & quiet[:, None]) @ self.domain.membership  # n x d
        numbers = columns & ~self._known.patterned
        lower, upper = self._ranges(found.rows, numbers, trials)
        return replace(
            now,
            rows=found.rows,
            changed=found.changed,
            scores=found.scores,
            silenced=quiet,
            lower=lower,
            upper=upper,
            choices=tuple(self._choices(found, i, trials) for i in range(len(now))),
            alternatives=tuple(self._alternatives(found, i, shares[i]) for i in range(len(now))),
            contexts=tuple(
                self._context(now.data[i], found, i, shares[i], trials, foreign[i])
                for i in range(len(now))
            ),
            doubts=now.doubts | self._doubts(found, quiet),
            evaluations=trials.count,
        )

    def _towards_normal(self, now: Repair, shares: Matrix) -> Repair:
        """Rows that raise no alarm, as they are, with what would make them like normal rows."""
        look = replace(self, score=self._known.second_look.score)
        distances = evaluate(look.score, now.data)
        found = look._repair(replace(now, before=distances), shares)
        scores = evaluate(self.score, found.rows)
        done = found.silenced & (scores <= self._known.alarm)
        done &= found.changed.sum(axis=1) <= MOST_UNLIKE
        usual = tuple(
            tuple(
                Alternative(int(j), tuple(row[self.domain.membership[j]].tolist()), float(score))
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

    def _in_few_digits(self, found: Found, X: Matrix, shares: Matrix, trials: Trials) -> Found:
        """The same with repaired numbers, and those that would do alone, as people write them."""
        members, every = self.domain.membership, np.arange(len(X))
        settings = trials, self._known.inside, self._known.alarm
        rows, scores = in_few_digits(
            found.rows, found.scores, found.changed @ members, X, every, *settings
        )
        alone, alone_rows = found.alone.copy(), found.alone_rows.copy()
        others = [self._others(found, i, shares[i]) for i in range(len(X))]
        owner = np.repeat(every, [len(each) for each in others])
        its = np.array([j for each in others for j in each], dtype=np.int64)
        alone_rows[owner, its], alone[owner, its] = in_few_digits(
            alone_rows[owner, its], alone[owner, its], members[its], X[owner], owner, *settings
        )
        return replace(found, rows=rows, scores=scores, alone=alone, alone_rows=alone_rows)

    def _ranges(self, rows: Matrix, numbers: BoolMatrix, trials: Trials) -> tuple[Matrix, Matrix]:
        """How far these numbers of repaired rows can be moved without an alarm."""
        lower, upper = ranges(rows, numbers, trials, self._known.inside, self._known.alarm)
        return ends_in_few_digits(lower, rows, upper, self._known.inside)

    def _choices(self, found: Found, i: int, trials: Trials) -> dict[int, Matrix]:
        """All values of repaired categories that raise no alarm, the rest held."""
        quiet: dict[int, Matrix] = {}
        if found.scores[i] > self._known.alarm:
            return quiet
        for feature in np.flatnonzero(found.changed[i]):
            columns = self.domain.membership[feature]
            if self._known.patterned[columns].all():
                known = self._known.values.known[feature]
                points = np.repeat(found.rows[i][None], len(known), axis=0)
                points[:, columns] = known
                scores = trials.of(points, np.full(len(points), i))
                quiet[int(feature)] = known[scores <= self._known.alarm]
        return quiet

    def _others(self, found: Found, i: int, shares: Vector) -> list[int]:
        """Other features that end the alarm by themselves, if one does, by their shares."""
        able = (found.alone[i] <= self._known.alarm) & ~found.changed[i]
        if found.changed[i].sum() != 1:
            return []
        return [int(j) for j in np.argsort(-shares, kind="stable") if able[j]][:MOST_ALTERNATIVES]

    def _alternatives(self, found: Found, i: int, shares: Vector) -> tuple[Alternative, ...]:
        """What these features would have to be."""
        return tuple(
            Alternative(
                j,
                tuple(found.alone_rows[i, j, self.domain.membership[j]].tolist()),
                float(found.alone[i, j]),
            )
            for j in self._others(found, i, shares)
        )

    def _context(
        self,
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
        odd = np.where(self.domain.membership[feature], x, found.rows[i])
        sound = ~found.changed[i] & ~foreign
        return context_of(
            odd, found.rows[i], feature, sound, i, self._known.expected, trials, self.domain
        )

    def _doubts(self, found: Found, quiet: BoolVector) -> IntVector:
        """What is to be known of repaired rows."""
        moved = found.changed @ self.domain.membership & ~self._known.patterned  # n x d
        low, high = self.domain.kinds.inward(self._known.inside.lower, self._known.inside.upper)
        normal = self._known.expected.rows
        at_low = (found.rows <= low) & ((normal <= low).mean(axis=0) < SHARED)
        at_high = (found.rows >= high) & ((normal >= high).mean(axis=0) < SHARED)
        edge = (at_low | at_high) & moved & (low < high)
        return np.asarray(
            np.where(quiet, 0, Doubt.STILL_ALARMING)
            | np.where(edge.any(axis=1), Doubt.AT_THE_EDGE, 0)
            | np.where(self._known.second_look.is_odd(found.rows), Doubt.STILL_ODD, 0)
        )
