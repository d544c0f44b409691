"""Which values a feature of a row could have instead."""

from __future__ import annotations

from typing import final

import numpy as np

from whyflag.arrays import BoolVector, IntVector, Matrix, Tensor, Vector, evenly
from whyflag.domain import Domain
from whyflag.repair.expected import NEAR, Expected

LEVELS = 24  # quantiles of a column that are tried
MOST_PATTERNS = 64  # of a feature of several columns


@final
class Values:
    """Knows the values of normal rows, and offers them to other rows.

    Args:
        expected: What normal rows lead one to expect.
        domain: Kinds, bounds and players.
    """

    def __init__(self, expected: Expected, domain: Domain) -> None:
        self._expected, self._domain = expected, domain
        rows, settled = expected.rows, domain.kinds.settled
        # Columns between whose values there is nothing.
        self._apart = domain.binary | settled  # d
        self.known: list[Matrix] = []  # for each feature, c x s: always tried
        for columns in domain.membership:
            own = rows[:, columns]
            if own.shape[1] > 1 and not self._apart[columns].all():
                if (columns & ~settled).sum() == 1:  # a number that may be missing
                    own = own[np.argsort(own[:, ~settled[columns]][:, 0], kind="stable")]
                known = own[evenly(len(own), LEVELS)]
            elif self._apart[columns].all():
                known, often = np.unique(own, axis=0, return_counts=True)
                known = known[np.argsort(-often, kind="stable")[:MOST_PATTERNS]]
            else:
                known = np.quantile(own, np.linspace(0, 1, LEVELS), axis=0, method="nearest")
                known = np.unique(known, axis=0)
            self.known.append(known)
        self.movable: BoolVector = np.any(domain.membership & ~domain.fixed, axis=1)  # p

    def of(
        self, X: Matrix, weights: Matrix, features: IntVector, whose: list[IntVector]
    ) -> list[Tensor]:
        """Values for f features of some rows each, what is expected first: f of (r, c, s).

        Features count by their weights, (n, p), among near rows.
        """
        rows, members = self._expected.rows, self._domain.membership
        guess: Matrix = np.empty_like(X)
        nearest = np.zeros((len(X), min(NEAR, len(rows)), len(features)), dtype=np.int64)
        asked = np.zeros((len(X), len(features)), dtype=np.bool_)
        for k, which in enumerate(whose):
            asked[which, k] = True
        for i, x in enumerate(X):
            its = np.flatnonzero(asked[i])
            near = self._expected.near_without(x, weights[i], features[its])
            nearest[i][:, its] = near
            for column, feature in zip(near.T, features[its], strict=True):
                columns = members[feature]
                guess[i, columns] = self._expected.of_some(x, columns, column)
        values = []
        for k, (feature, which) in enumerate(zip(features, whose, strict=True)):
            columns = members[feature]
            own = rows[:, columns][nearest[which, :, k]]  # r x k x s
            known = np.broadcast_to(self.known[feature], (len(which), *self.known[feature].shape))
            first = guess[which][:, None, columns]
            if columns.sum() > 1 and self._apart[columns].all():
                first = own[:, :1]  # between two categories there is none
            offered = np.concatenate([first, own, known], axis=1)  # r x c x s
            values.append(self.admit(offered, X[which], feature))
        return values

    def together(self, x: Vector, features: BoolVector, weights: Vector) -> Matrix:
        """Rows in which these features have other values: (d,), bool (p,), (p,) -> (c, d)."""
        columns = features @ self._domain.membership  # d
        far = self._expected.apart(x, np.where(features, 0.0, weights)).sum(axis=1, keepdims=True)
        near = self._expected.nearest(far)[:, 0]
        found = np.repeat(x[None], 1 + len(near), axis=0)
        found[0, columns] = self._expected.of_some(x, columns, near)
        found[1:, columns] = self._expected.rows[near][:, columns]
        for own in self._domain.membership[features]:
            if own.sum() > 1 and self._apart[own].all():
                found[0, own] = found[1, own]
        return np.where(columns, self._domain.admit(found, np.broadcast_to(x, found.shape)), x)

    def admit_rows(self, rows: Matrix, x: Vector) -> Matrix:
        """Whole rows in place of x, as far as its columns may change: (c, d), (d,) -> (c, d)."""
        return self._domain.admit(rows, np.broadcast_to(x, rows.shape))

    def admit(self, values: Tensor, X: Matrix, feature: int | np.int64) -> Tensor:
        """The nearest values that a feature can hold: (n, c, s) -> (n, c, s)."""
        columns = self._domain.membership[feature]
        rows = np.repeat(X[:, None], values.shape[1], axis=1)  # n x c x d
        moved = rows.copy()
        moved[..., columns] = values
        return self._domain.admit(moved, rows)[..., columns]
