"""What the rest of a row leads one to expect of some of its features."""

from __future__ import annotations

from typing import final

import numpy as np

from whyflag.arrays import BoolVector, IntVector, Matrix, Vector, evenly
from whyflag.domain import Domain
from whyflag.nearness import distance
from whyflag.prediction import LOOKED_AT, Prediction

NEAR = 8  # rows that count
GOLDEN = (5**0.5 - 1) / 2  # its multiples lie evenly between whole numbers, however many they are


@final
class Expected:
    """Expects values from normal rows: by a linear prediction, and by what rows near are off it.

    To the linear prediction of columns S from the others R (`whyflag.prediction`) comes the mean
    residual of the rows that are nearest in R. So bonds between columns are used however many
    columns there are, and bends, clusters and categories as far as there are rows near.

    Args:
        rows: Normal rows, (n, d).
        domain: Scales and players.
    """

    def __init__(self, rows: Matrix, domain: Domain) -> None:
        some = evenly(len(rows), LOOKED_AT)
        self.rows = rows[some]  # m x d
        self._domain = domain
        self._prediction = Prediction.of(self.rows, domain.scale)
        self._z = self._prediction.scaled(self.rows)
        # Of equally near rows some from all over: those of a file may be sorted.
        self._order = np.arange(len(self._z)) * GOLDEN % 1.0 * 1e-7

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
        precision = self._prediction.precision
        diagonal = np.sqrt(np.diag(precision))
        partial = np.abs(precision) / diagonal / diagonal[:, None]  # d x d
        members = self._domain.membership
        bond = members @ partial[members[feature]].max(axis=0)  # p
        order = np.argsort(-np.round(bond, 6), kind="stable")
        return order[order != feature]

    def of_some(self, x: Vector, columns: BoolVector, near: IntVector) -> Vector:
        """Some columns of x by the others, s of d: (d,), bool (d,), (k,) -> (s,)."""
        prediction = self._prediction
        seen = np.vstack([prediction.scaled(x[None]), self._z[near]])  # 1 + k x d
        predicted = prediction.of_some(seen, columns)  # 1 + k x s
        off = self._z[near][:, columns] - predicted[1:]
        z = predicted[0] + off.mean(axis=0)
        return np.asarray(z * self._domain.scale[columns] + prediction.center[columns])
