"""What the rest of a row leads one to expect of some of its features."""

from __future__ import annotations

from typing import final

import numpy as np

from whyflag.arrays import BoolVector, IntVector, Matrix, Vector, evenly
from whyflag.domain import Domain
from whyflag.nearness import distance

LOOKED_AT = 2000  # normal rows, at most
NEAR = 8  # rows that count
FAR = 4.0  # scales: a value that is further away predicts no more than one that is so far
GOLDEN = (5**0.5 - 1) / 2  # its multiples lie evenly between whole numbers, however many they are
RIDGE = 0.01  # of a variance, so that columns that go together exactly can be told apart


@final
class Expected:
    """Expects values from normal rows: by a linear prediction, and by what rows near are off it.

    Columns are counted in scales from their medians. With the precision matrix P of the normal rows
    (and a ridge), columns S are predicted from the others R by −P_SS⁻¹ P_SR z_R; to that comes the
    mean residual of the rows that are nearest in R. So bonds between columns are used however many
    columns there are, and bends, clusters and categories as far as there are rows near.

    Args:
        rows: Normal rows, (n, d).
        domain: Scales and players.
    """

    def __init__(self, rows: Matrix, domain: Domain) -> None:
        some = evenly(len(rows), LOOKED_AT)
        self.rows = rows[some]  # m x d
        self._domain = domain
        self._center = np.median(self.rows, axis=0)
        z = self._scaled(self.rows)
        off = z - z.mean(axis=0)
        covariance = off.T @ off / len(z)  # d x d; of a single row it is zero
        ridge = RIDGE + z.shape[1] / len(z)
        self._precision = np.linalg.inv(covariance + ridge * np.eye(z.shape[1]))  # d x d
        self._z = z
        # Of equally near rows some from all over: those of a file may be sorted.
        self._order = np.arange(len(z)) * GOLDEN % 1.0 * 1e-7

    def _scaled(self, X: Matrix) -> Matrix:
        return np.clip((X - self._center) / self._domain.scale, -FAR, FAR)

    def apart(self, x: Vector, weights: Vector) -> Matrix:
        """How far each normal row is from x, column by column: (d,), (p,) -> (m, d)."""
        return distance((self.rows - x) / self._domain.scale) * (weights @ self._domain.membership)

    def near_without(self, x: Vector, weights: Vector, features: IntVector) -> IntVector:
        """Positions of the rows nearest to x in all but one feature: (d,), (p,), (f,) -> (k, f)."""
        far = self.apart(x, weights)
        own = [far[:, self._domain.membership[feature]].sum(axis=1) for feature in features]
        without = np.reshape(own, (len(features), len(far))).T  # m x f, of which there may be none
        return self.nearest(far.sum(axis=1)[:, None] - without)

    def nearest(self, far: Matrix) -> IntVector:
        """Positions of the rows that are nearest, for each column: (m, c) -> (k, c)."""
        k = min(NEAR, len(far))
        # To six digits, so that rounding does not decide between equals.
        ranked = np.round(far, 6) + self._order[:, None]
        first = np.argpartition(ranked, k - 1, axis=0)[:k]
        ranks = np.take_along_axis(ranked, first, axis=0).argsort(axis=0)
        return np.take_along_axis(first, ranks, axis=0)

    def bound_to(self, feature: int) -> IntVector:
        """The other features, from the one that goes with this most, by partial correlations."""
        diagonal = np.sqrt(np.diag(self._precision))
        partial = np.abs(self._precision) / diagonal / diagonal[:, None]  # d x d
        members = self._domain.membership
        bond = members @ partial[members[feature]].max(axis=0)  # p
        order = np.argsort(-np.round(bond, 6), kind="stable")
        return order[order != feature]

    def of_some(self, x: Vector, columns: BoolVector, near: IntVector) -> Vector:
        """Some columns of x by the others, s of d: (d,), bool (d,), (k,) -> (s,)."""
        own = self._precision[np.ix_(columns, columns)]  # s x s
        others = self._precision[np.ix_(columns, ~columns)]  # s x (d − s)
        weights = np.linalg.solve(own, others).T if len(own) > 1 else others.T / own[0, 0]
        seen = np.vstack([self._scaled(x[None]), self._z[near]])  # 1 + k x d
        predicted = -seen[:, ~columns] @ weights  # 1 + k x s
        off = self._z[near][:, columns] - predicted[1:]
        z = predicted[0] + off.mean(axis=0)
        return np.asarray(z * self._domain.scale[columns] + self._center[columns])
