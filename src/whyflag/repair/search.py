"""Which few features, with which values, end the alarm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from whyflag.arrays import BoolMatrix, IntVector, Matrix, Tensor, Vector
from whyflag.repair.alone import Alone
from whyflag.repair.known import Known
from whyflag.repair.trials import Trials

ONE_BY_ONE = 3  # features that are added one by one; more are taken in the order of attributions
WORTH = 0.05  # of what the whole change brings: a feature that brings less is left as it is


@final
@dataclass(frozen=True)
class Found:
    """Rows with few features changed.

    Attributes:
        rows: The changed rows, (n, d).
        changed: Which features are changed, (n, p).
        scores: Scores of the changed rows, (n,).
        alone: Scores with one feature changed, (n, p).
        alone_rows: The rows of these, (n, p, d).
    """

    rows: Matrix
    changed: BoolMatrix
    scores: Vector
    alone: Matrix
    alone_rows: Tensor


@final
@dataclass(frozen=True)
class Search:
    """Looks for the smallest change that brings the score down to the alarm, of each row.

    First every feature by itself (`Alone`). If one is enough, that is the repair; of several that
    would be, the one with the largest share. Otherwise features are added one by one, and in the
    order of their shares two, three, four, six … together, until the alarm ends; then what is not
    needed is taken out again. All rows take each step together, and those whose alarm has ended
    take no further part.

    Attributes:
        known: The alarm, and what may stand in.
        trials: Scores rows.
    """

    known: Known
    trials: Trials

    def __call__(self, X: Matrix, scores: Vector, shares: Matrix) -> Found:
        """Search for rows, (n, d), with their scores and the shares of their features, (n, p)."""
        weights = innocence(shares)
        look = Alone(self.known, self.trials)
        alone, alone_rows = look(X, np.arange(len(X)), weights, shares)
        found = Found(X.copy(), np.zeros(shares.shape, np.bool_), scores.copy(), alone, alone_rows)
        able = alone <= self.known.alarm  # n x p
        one = np.flatnonzero(able.any(axis=1))
        first = np.where(able, shares, -1.0).argmax(axis=1)[one]
        found.changed[one, first] = True
        found.rows[one], found.scores[one] = alone_rows[one, first], alone[one, first]
        several = np.flatnonzero(~able.any(axis=1))
        if len(several):
            self._several(found, look, X, several, shares, weights)
            self._become_normal(found, X, several)
            self._leave_out(found, X, several, scores, shares)
            refined = self._as_expected(found, X, several, weights)
            self._leave_out(found, X, refined, scores, shares)
        return found

    def _several(
        self,
        found: Found,
        look: Alone,
        X: Matrix,
        which: IntVector,
        shares: Matrix,
        weights: Matrix,
    ) -> None:
        """Change several features of some rows, in place."""
        movable = self.known.values.movable
        order = np.argsort(-np.where(movable, shares, -1.0), axis=1, kind="stable")  # n x p
        steps, changed = X.copy(), np.zeros(shares.shape, dtype=np.bool_)
        for k in sizes(int(movable.sum())):
            if not len(which):
                return
            tried = []  # r x c x d
            if k <= ONE_BY_ONE:
                self._one_more(found, look, steps, which, k, changed, weights, shares)
                tried.append(steps[which][:, None])
            if k > 1:
                together = np.zeros((len(which), len(movable)), dtype=np.bool_)
                np.put_along_axis(together, order[which, :k], values=True, axis=1)
                tried.append(
                    np.array(
                        [
                            self.known.values.together(X[i], some, weights[i])
                            for i, some in zip(which, together, strict=True)
                        ]
                    )
                )
            self._take_lowest(found, which, np.hstack(tried))
            which = which[found.scores[which] > self.known.alarm]

    def _take_lowest(self, found: Found, which: IntVector, points: Tensor) -> None:
        """Take for some rows the lowest of c points each, where it is lower: (r, c, d)."""
        r, c, d = points.shape
        scores = self.trials.of(points.reshape(-1, d), np.repeat(which, c)).reshape(r, c)
        best = np.arange(r), scores.argmin(axis=1)
        lower = scores[best] < found.scores[which]
        found.rows[which[lower]] = points[best][lower]
        found.scores[which[lower]] = scores[best][lower]

    def _one_more(
        self,
        found: Found,
        look: Alone,
        steps: Matrix,
        which: IntVector,
        k: int,
        changed: BoolMatrix,
        weights: Matrix,
        shares: Matrix,
    ) -> None:
        """Change in some rows the one feature more that brings the score down most, in place."""
        if k == 1:
            alone, rows = found.alone[which], found.alone_rows[which]
        else:
            known = np.where(changed[which], 1.0, weights[which])
            alone, rows = look(steps[which], which, known, shares[which])
        alone = np.where(changed[which], np.inf, alone)
        best = alone.argmin(axis=1)
        some = np.flatnonzero(np.isfinite(alone).any(axis=1))
        steps[which[some]] = rows[some, best[some]]
        changed[which[some], best[some]] = True

    def _become_normal(self, found: Found, X: Matrix, which: IntVector) -> None:
        """Make normal rows of those whose alarm nothing else has ended, in place."""
        which = which[found.scores[which] > self.known.alarm]
        if len(which):
            rows = [self.known.values.admit_rows(self.known.quiet_near(X[i]), X[i]) for i in which]
            if len(rows[0]):
                self._take_lowest(found, which, np.array(rows))

    def _as_expected(self, found: Found, X: Matrix, which: IntVector, weights: Matrix) -> IntVector:
        """Give several repaired features what the others lead one to expect of them together.

        Found one after another, each was expected of a row in which others were still wrong. In
        place, where it raises no alarm; the rows where it is so.
        """
        quiet = found.scores <= self.known.alarm
        which = which[((found.changed.sum(axis=1) > 1) & quiet)[which]]
        if not len(which):
            return which
        together = [
            self.known.values.together(X[i], found.changed[i], weights[i])[0] for i in which
        ]
        rows = np.array(together)  # r x d
        scores = self.trials.of(rows, which)
        better = scores <= self.known.alarm
        found.rows[which[better]], found.scores[which[better]] = rows[better], scores[better]
        return which[better]

    def _leave_out(
        self, found: Found, X: Matrix, which: IntVector, scores: Vector, shares: Matrix
    ) -> None:
        """Take changes out again that are not needed, those of the smallest share first."""
        members = self.known.domain.membership
        found.changed[which] = (found.rows != X)[which] @ members.T
        gained = scores - found.scores
        quiet = found.scores <= self.known.alarm
        enough = np.where(quiet, self.known.alarm, found.scores + WORTH * gained)  # n
        for features in np.argsort(shares, axis=1, kind="stable").T:  # n
            several = found.changed.sum(axis=1) > 1
            some = which[(found.changed[np.arange(len(X)), features] & several)[which]]
            if not len(some):
                continue
            its = features[some]
            without = np.where(members[its], X[some], found.rows[some])
            tried = self.trials.of(without, some)
            spare = tried <= enough[some]
            found.rows[some[spare]], found.scores[some[spare]] = without[spare], tried[spare]
            found.changed[some[spare], its[spare]] = False


def sizes(most: int) -> list[int]:
    """How many features are changed together: 1, 2, 3, 4, 6, 9, 13 …, and at last all."""
    sizes = [1]
    while sizes[-1] < most:
        last = sizes[-1]
        sizes.append(min(last + 1 if last < 4 else last + last // 2, most))
    return sizes[:most]


def innocence(shares: Matrix) -> Matrix:
    """How much a feature counts among near rows: less, the larger its share, (n, p)."""
    largest = shares.max(axis=1, keepdims=True)
    weights = 1 - np.divide(shares, largest, out=np.zeros_like(shares), where=largest > 0)
    return np.where(weights.any(axis=1, keepdims=True), weights, 1.0)
