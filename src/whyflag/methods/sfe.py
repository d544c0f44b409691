"""SFE, sequential feature explanation: which features, shown one by one, reveal the anomaly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from whyflag.arrays import IntVector, Matrix, Vector
from whyflag.batches import batches
from whyflag.contributions import Contributions
from whyflag.domain import Domain
from whyflag.methods.base import BoundMethod, Method
from whyflag.methods.marg import log_units
from whyflag.prepared import Prepared
from whyflag.score import Ability, Marginals, Score, evaluate
from whyflag.score.answers import check_finite

STEP = 1e-9  # of the largest: scores that differ by less are equal, values by more are ordered


@final
@dataclass(frozen=True)
class SFE(Method):
    """Sequential feature explanation: the order in which features, added one by one, are anomalous.

    i_k = argmax_i e(x_{i_1}, …, x_{i_{k−1}}, x_i): next comes the feature that makes those so far
    most anomalous. e is the score of a part of the features, the marginal score. This is the
    greedy "sequential marginal" of Siddiqui et al. (2019). `Attribution.order` is this sequence.
    The values are what each feature adds to the marginal score, brought into the same order: where
    a later feature adds more than an earlier one, they share (isotonic regression; of those that
    share, the earlier one is ahead by a billionth). They sum to the score, less a constant for the
    units of a density.
    """

    name: ClassVar[str] = "SFE"
    needs: ClassVar[tuple[type[Ability], ...]] = (Marginals,)

    def _bind(self, prepared: Prepared) -> BoundMethod:
        score = prepared.score
        return _BoundSFE(score, score.need(Marginals), prepared.domain)


@final
@dataclass(frozen=True)
class _BoundSFE(BoundMethod):
    score: Score
    marginals: Marginals
    domain: Domain

    def attribute(self, X: Matrix) -> Contributions:
        # What takes most are the conditional covariances of a component.
        parts = [self._search(X[some]) for some in batches(len(X), self.domain.n_columns**2)]
        order = np.concatenate([order for order, _ in parts])  # n x p
        gains = np.concatenate([gains for _, gains in parts])  # n x p: in that order
        values = np.empty_like(gains)
        np.put_along_axis(values, order, np.array([consistent(row) for row in gains]), axis=1)
        scores = evaluate(self.score, X)
        p = self.domain.n_players
        return Contributions(
            values=values,
            base_values=scores - values.sum(axis=1),
            scores=scores,
            evaluations=np.full(len(X), p * (p + 1) // 2 + 1),
            scored_base=False,
        )

    def _search(self, X: Matrix) -> tuple[IntVector, Matrix]:
        """The sequence of players of each row, and what each adds: n x p, n x p."""
        domain = self.domain
        players = domain.membership & ~domain.fixed  # p x d
        movable = np.flatnonzero(players.any(axis=1))
        units = log_units(self.marginals, domain, players[movable])
        growing = self.marginals.growing(X, domain.fixed)
        before = self.marginals.marginal(X, domain.fixed[None, :])[:, 0]  # n
        left = np.ones((len(X), len(movable)), dtype=np.bool_)
        order, gains = [], []
        for _ in movable:
            scores = growing.added(players[movable])  # n x movable
            check_finite(np.where(left, scores, 0.0).sum(axis=1), X)
            best = _first_of_most(np.where(left, scores - units, -np.inf))  # n
            reached = scores[np.arange(len(X)), best]
            growing.add(players[movable][best])
            left[np.arange(len(X)), best] = False
            order.append(movable[best])
            gains.append(reached - before - units[best])
            before = reached
        # Players that may not move come last, with nothing.
        for player in np.setdiff1d(np.arange(domain.n_players), movable):
            order.append(np.full(len(X), player))
            gains.append(np.zeros(len(X)))
        return np.column_stack(order), np.column_stack(gains)


def _first_of_most(scores: Matrix) -> IntVector:
    """Position of each row's largest score, the first of those that differ by rounding: (n, p)."""
    most = scores.max(axis=1, keepdims=True)
    return np.asarray((scores >= most - STEP * np.maximum(np.abs(most), 1.0)).argmax(axis=1))


def consistent(gains: Vector) -> Vector:
    """The decreasing sequence that is closest to the gains, with the same sum: (p,) -> (p,)."""
    from scipy.optimize import isotonic_regression  # slow to import: see ace.py

    ramp = STEP * np.abs(gains).max() * np.arange(len(gains))
    return np.asarray(isotonic_regression(gains + ramp, increasing=False).x - ramp)
