"""What the rest of a row leads one to expect of some of its columns, linearly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, Matrix, Vector, evenly

LOOKED_AT = 2000  # normal rows, at most
FAR = 4.0  # scales: a value that is further away predicts no more than one that is so far
RIDGE = 0.01  # of a variance, so that columns that go together exactly can be told apart


@final
@dataclass(frozen=True, eq=False)
class Prediction:
    """Some columns S of a row by the others R: ẑ_S = −P_SS⁻¹ P_SR z_R.

    z are the columns in scales from their medians, and P is the precision matrix of the normal rows
    (and a ridge).

    Attributes:
        center: The medians, (d,).
        scale: The scales, (d,).
        precision: P, (d, d).
    """

    center: Vector
    scale: Vector
    precision: Matrix

    @classmethod
    def of(cls, rows: Matrix, scale: Vector) -> Prediction:
        """What normal rows tell, or so many of them, (n, d)."""
        rows = rows[evenly(len(rows), LOOKED_AT)]
        center = np.median(rows, axis=0)
        z = _scaled(rows, center, scale)
        off = z - z.mean(axis=0)
        covariance = off.T @ off / len(z)  # d x d; of a single row it is zero
        ridge = RIDGE + z.shape[1] / len(z)
        return cls(center, scale, np.linalg.inv(covariance + ridge * np.eye(z.shape[1])))

    def scaled(self, X: Matrix) -> Matrix:
        """Rows in scales from the medians: (n, d) -> (n, d)."""
        return _scaled(X, self.center, self.scale)

    def of_some(self, z: Matrix, columns: BoolVector) -> Matrix:
        """Some columns by the others, in scales: (n, d), bool (d,) -> (n, s)."""
        own = self.precision[np.ix_(columns, columns)]  # s x s
        others = self.precision[np.ix_(columns, ~columns)]  # s x (d − s)
        weights = np.linalg.solve(own, others).T if len(own) > 1 else others.T / own[0, 0]
        return -z[:, ~columns] @ weights

    def filled(self, X: Matrix, unknown: BoolMatrix) -> Matrix:
        """Rows with what is expected where nothing is known: (n, d), bool (n, d) -> (n, d)."""
        X, z = X.copy(), self.scaled(X)
        patterns, which = np.unique(unknown, axis=0, return_inverse=True)
        for k, columns in enumerate(patterns):
            if columns.any():
                some = np.flatnonzero(which.ravel() == k)[:, None]
                found = self.of_some(z[some[:, 0]], columns)
                own = np.flatnonzero(columns)
                X[some, own] = found * self.scale[own] + self.center[own]
        return X


def _scaled(X: Matrix, center: Vector, scale: Vector) -> Matrix:
    return np.clip((X - center) / scale, -FAR, FAR)
