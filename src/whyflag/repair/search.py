"""Which few features, with which values, end the alarm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix, Tensor, Vector
from whyflag.domain import Domain
from whyflag.repair.trials import Trials
from whyflag.repair.values import Values

MOST_TRIED = 20  # features of a row, each by itself
ZOOMS = 2  # rounds of values between the best one and those beside it
BETWEEN = 8  # values in such a round
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
    """Looks for the smallest change that brings the score down to the alarm, row by row.

    First every feature by itself: values that the rest of the row leads one to expect, those of
    near rows, quantiles of all, and values between. If one is enough, that is the repair; of
    several that would be, the one with the largest share. Otherwise features are added one by one,
    and in the order of their shares two, three, four, six … together, until the alarm ends; then
    what is not needed is taken out again.

    Of the values that end the alarm the one is taken that is nearest to what is expected: the
    detector says what is quiet, the normal rows what is likely.

    Attributes:
        values: What may stand in.
        trials: Scores rows.
        domain: Kinds, bounds and players.
        alarm: The score to come down to.
        quiet_rows: Normal rows near a row that raise no alarm, (d,) -> (k, d): what to become where
            nothing less helps.
    """

    values: Values
    trials: Trials
    domain: Domain
    alarm: float
    quiet_rows: Callable[[Vector], Matrix]

    def __call__(self, X: Matrix, scores: Vector, shares: Matrix) -> Found:
        """Search for rows, (n, d), with their scores and the shares of their features, (n, p)."""
        weights = innocence(shares)
        alone, alone_rows = self._each(X, np.arange(len(X)), weights, shares)
        found = Found(X.copy(), np.zeros(shares.shape, np.bool_), scores.copy(), alone, alone_rows)
        able = alone <= self.alarm  # n x p
        for i in range(len(X)):
            if able[i].any():
                first = np.argmax(np.where(able[i], shares[i], -1.0))
                found.changed[i, first] = True
                found.rows[i], found.scores[i] = alone_rows[i, first], alone[i, first]
            else:
                self._several(found, X[i], i, shares[i], weights[i])
        return found

    def _each(
        self, X: Matrix, owner: IntVector, weights: Matrix, shares: Matrix
    ) -> tuple[Matrix, Tensor]:
        """The best change of each feature by itself: its score, and the row: n x p, n x p x d.

        Of many features those with the largest shares in the row are tried.
        """
        n, p = weights.shape
        alone, rows = np.full((n, p), np.inf), np.repeat(X[:, None], p, axis=1)
        movable = np.flatnonzero(self.values.movable)
        if len(movable) <= MOST_TRIED:
            self._try(X, owner, weights, movable, alone, rows)
            return alone, rows
        for i in range(n):
            order = np.argsort(-shares[i, movable], kind="stable")
            some, row = movable[order[:MOST_TRIED]], slice(i, i + 1)
            self._try(X[row], owner[row], weights[row], some, alone[row], rows[row])
        return alone, rows

    def _try(
        self,
        X: Matrix,
        owner: IntVector,
        weights: Matrix,
        features: IntVector,
        alone: Matrix,
        rows: Tensor,
    ) -> None:
        """Fill in what some features can do by themselves."""
        offered = self.values.of(X, weights, features) if len(features) else []
        tried = self.trials.of_features(X, owner, features, offered)
        for _ in range(ZOOMS):
            closer = [
                self._between(X, *each) for each in zip(features, offered, tried, strict=True)
            ]
            more = self.trials.of_features(X, owner, features, closer)
            offered = [np.hstack(both) for both in zip(offered, closer, strict=True)]
            tried = [np.hstack(both) for both in zip(tried, more, strict=True)]
        which = np.arange(len(X))
        for j, values, scores in zip(features, offered, tried, strict=True):
            columns = self.domain.membership[j]
            best = self._best(values, scores, self.domain.scale[columns])
            alone[:, j] = scores[which, best]
            rows[:, j, columns] = values[which, best]

    def _between(self, X: Matrix, feature: np.int64, values: Tensor, scores: Matrix) -> Tensor:
        """Values on either side of the best: (n, c, s), (n, c) -> (n, c', s)."""
        columns = self.domain.membership[feature]
        moving = ~self.domain.kinds.settled[columns]  # s
        if moving.sum() != 1 or self.domain.binary[columns][moving].any():
            return values[:, :0]
        k = int(np.argmax(moving))
        order = np.argsort(values[..., k], axis=1, kind="stable")
        ranked = np.take_along_axis(values[..., k], order, axis=1)  # n x c
        best = np.take_along_axis(scores, order, axis=1).argmin(axis=1)[:, None]  # n x 1
        middle = np.take_along_axis(ranked, best, axis=1)
        # Equal values stand beside one another: the next ones that differ.
        below = np.where(ranked < middle, ranked, -np.inf).max(axis=1, keepdims=True)
        above = np.where(ranked > middle, ranked, np.inf).min(axis=1, keepdims=True)
        steps = np.arange(1, BETWEEN // 2 + 1) / (BETWEEN // 2 + 1)
        sides = [np.where(np.isfinite(end), end, middle) for end in (below, above)]
        between = np.hstack([middle + steps * (end - middle) for end in sides])
        offered = np.repeat(values[:, :1], between.shape[1], axis=1)
        offered[..., k] = between
        return self.values.admit(offered, X, feature)

    def _best(self, values: Tensor, scores: Matrix, scale: Vector) -> IntVector:
        """The quiet value nearest to what is expected, the first; if none is, the lowest: (n,)."""
        quiet = scores <= self.alarm
        far = (np.abs(values - values[:, :1]) / scale).sum(axis=2)
        near = np.where(quiet, far, np.inf).argmin(axis=1)
        return np.where(quiet.any(axis=1), near, scores.argmin(axis=1))

    def _several(self, found: Found, x: Vector, i: int, shares: Vector, weights: Vector) -> None:
        """Change several features of row i, in place."""
        movable = self.values.movable
        order = np.argsort(-np.where(movable, shares, -1.0), kind="stable")[: movable.sum()]
        best_row, best_score = x, found.scores[i]
        step_row, k = x, 1
        changed = np.zeros(len(shares), dtype=np.bool_)
        while best_score > self.alarm and k <= len(order):
            tried = []
            if k <= ONE_BY_ONE:
                step_row = self._one_more(found, step_row, i, k, changed, weights, shares)
                tried.append(step_row[None])
            if k > 1:
                together = np.isin(np.arange(len(shares)), order[:k])
                tried.append(self.values.together(x, together, weights))
            points = np.vstack(tried)
            scores = self.trials.of(points, np.full(len(points), i))
            if scores.min() < best_score:
                best_row, best_score = points[scores.argmin()], scores.min()
            k = k + 1 if k < 4 else k + k // 2
        if best_score > self.alarm:
            points = self.values.admit_rows(self.quiet_rows(x), x)
            scores = self.trials.of(points, np.full(len(points), i))
            if len(scores) and scores.min() < best_score:
                best_row, best_score = points[scores.argmin()], scores.min()
        self._leave_out(found, x, best_row, best_score, i, shares)

    def _one_more(
        self,
        found: Found,
        row: Vector,
        i: int,
        k: int,
        changed: BoolVector,
        weights: Vector,
        shares: Vector,
    ) -> Vector:
        """The row with the one feature more that brings its score down most."""
        if k == 1:
            alone, rows = found.alone[i], found.alone_rows[i]
        else:
            known = np.where(changed, 1.0, weights)[None]
            one, many = self._each(row[None], np.array([i]), known, shares[None])
            alone, rows = one[0], many[0]
        alone = np.where(changed, np.inf, alone)
        if not np.isfinite(alone).any():
            return row
        changed[alone.argmin()] = True
        return np.asarray(rows[alone.argmin()])

    def _leave_out(
        self, found: Found, x: Vector, row: Vector, score: float, i: int, shares: Vector
    ) -> None:
        """Take changes out again that are not needed, those of the smallest share first."""
        quiet = score <= self.alarm
        enough = self.alarm if quiet else score + WORTH * (found.scores[i] - score)
        changed = (self.domain.membership & (row != x)).any(axis=1)  # p
        for j in np.argsort(shares, kind="stable"):
            if not changed[j] or changed.sum() == 1:
                continue
            columns = self.domain.membership[j]
            without = np.where(columns, x, row)
            tried = self.trials.of(without[None], np.array([i]))[0]
            if tried <= enough:
                row, score, changed[j] = without, tried, False
        found.rows[i], found.scores[i], found.changed[i] = row, score, changed


def innocence(shares: Matrix) -> Matrix:
    """How much a feature counts among near rows: less, the larger its share, (n, p)."""
    largest = shares.max(axis=1, keepdims=True)
    weights = 1 - np.divide(shares, largest, out=np.zeros_like(shares), where=largest > 0)
    return np.where(weights.any(axis=1, keepdims=True), weights, 1.0)
