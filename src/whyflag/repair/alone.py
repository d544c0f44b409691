"""What each feature of a row can do by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from whyflag.arrays import BoolMatrix, IntVector, Matrix, Tensor, Vector
from whyflag.repair.known import Known
from whyflag.repair.trials import Trials

MOST_TRIED = 20  # features of a row, each by itself
ZOOMS = 2  # rounds of values between the best one and those beside it
BETWEEN = 8  # values in such a round


@final
@dataclass(frozen=True)
class Alone:
    """Looks for the best value of each feature by itself, for all rows at once.

    Tried are values that the rest of the row leads one to expect, those of near rows, quantiles of
    all, and values between. Of the values that end the alarm the one is taken that is nearest to
    what is expected: the detector says what is quiet, the normal rows what is likely. Where none
    ends it, the one with the lowest score.

    Attributes:
        known: The alarm, and what may stand in.
        trials: Scores rows.
    """

    known: Known
    trials: Trials

    def __call__(
        self, X: Matrix, owner: IntVector, weights: Matrix, shares: Matrix
    ) -> tuple[Matrix, Tensor]:
        """The best change of each feature: its score, and the row: n x p, n x p x d.

        The score of what is not tried is infinite.
        """
        n, p = weights.shape
        alone, rows = np.full((n, p), np.inf), np.repeat(X[:, None], p, axis=1)
        tried = self._tried(shares)
        features = np.flatnonzero(tried.any(axis=0))  # f
        whose = [np.flatnonzero(tried[:, feature]) for feature in features]
        offered = self.known.values.of(X, weights, features, whose)
        scores = self.trials.of_features(X, owner, features, whose, offered)
        for _ in range(ZOOMS):
            closer = [
                self._between(X[which], feature, values, its)
                for feature, which, values, its in zip(
                    features, whose, offered, scores, strict=True
                )
            ]
            more = self.trials.of_features(X, owner, features, whose, closer)
            offered = [np.hstack(both) for both in zip(offered, closer, strict=True)]
            scores = [np.hstack(both) for both in zip(scores, more, strict=True)]
        for j, which, values, its in zip(features, whose, offered, scores, strict=True):
            columns = self.known.domain.membership[j]
            best = np.arange(len(which)), self._best(values, its, self.known.domain.scale[columns])
            alone[which, j] = its[best]
            rows[which[:, None], j, np.flatnonzero(columns)] = values[best]
        return alone, rows

    def _tried(self, shares: Matrix) -> BoolMatrix:
        """Which features are tried in which rows, (n, p): of many, those of the largest shares."""
        movable = self.known.values.movable
        order = np.argsort(np.where(movable, -shares, np.inf), axis=1, kind="stable")
        tried = np.zeros(shares.shape, dtype=np.bool_)
        np.put_along_axis(tried, order[:, :MOST_TRIED], values=True, axis=1)
        return tried & movable

    def _between(self, X: Matrix, feature: np.int64, values: Tensor, scores: Matrix) -> Tensor:
        """Values on either side of the best: (n, c, s), (n, c) -> (n, c', s)."""
        columns = self.known.domain.membership[feature]
        moving = ~self.known.domain.kinds.settled[columns]  # s
        if moving.sum() != 1 or self.known.domain.binary[columns][moving].any():
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
        return self.known.values.admit(offered, X, feature)

    def _best(self, values: Tensor, scores: Matrix, scale: Vector) -> IntVector:
        """The quiet value nearest to what is expected, the first; if none is, the lowest: (n,)."""
        quiet = scores <= self.known.alarm
        far = (np.abs(values - values[:, :1]) / scale).sum(axis=2)
        near = np.where(quiet, far, np.inf).argmin(axis=1)
        return np.where(quiet.any(axis=1), near, scores.argmin(axis=1))
