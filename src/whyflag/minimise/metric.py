"""Inverse curvature of each problem: where a Newton step would go."""

from __future__ import annotations

from typing import final

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix, Tensor
from whyflag.minimise.problem import Problems

FEW = 4  # kept columns up to which sweeping them out beats inverting anew


@final
class Metric:
    """(C_FF)⁻¹ for each problem, C the curvature that rules at its point, F its free columns.

    A problem is told of a new curvature when it enters another component's region.
    """

    def __init__(
        self, spectra: tuple[Matrix, Tensor], problems: Problems, regime: IntVector
    ) -> None:
        values, vectors = spectra  # K x d, K x d x d
        # The penalty's own curvature, 2γ/|Sᶜ|, differs between problems by a hair: that of the
        # empty set serves all. Leashes differ by orders of magnitude.
        ridges, self._ridge = np.unique(
            2 * (problems.gamma / values.shape[1] + problems.leash), return_inverse=True
        )  # r, b
        values = values + ridges[:, None, None]  # r x K x d
        self._curvatures = (vectors * values[:, :, None, :]) @ np.swapaxes(vectors, 1, 2)
        self._inverses = (vectors / values[:, :, None, :]) @ np.swapaxes(vectors, 1, 2)
        self._free: BoolMatrix = problems.free
        self.regime: IntVector = regime.copy()  # b
        self._inverse = self._invert(np.arange(len(problems)))  # b x d x d

    def keep(self, chosen: BoolVector) -> None:
        """Let the other problems go."""
        self._free, self._ridge = self._free[chosen], self._ridge[chosen]
        self.regime, self._inverse = self.regime[chosen], self._inverse[chosen]

    def update(self, regime: IntVector) -> BoolVector:
        """Take up the curvatures that rule now; tell which problems got another one."""
        changed = regime != self.regime
        if changed.any():
            self.regime = regime.copy()
            self._inverse[changed] = self._invert(np.flatnonzero(changed))
        return changed

    def apply(self, vector: Matrix) -> Matrix:
        """Inverse curvature times a vector for each problem."""
        return np.einsum("bij,bj->bi", self._inverse, vector)

    def _invert(self, which: IntVector) -> Tensor:
        free = self._free[which]
        kind = self._ridge[which], self.regime[which]
        kept = ~free
        if kept.sum(axis=1).max() > FEW:
            # Kept columns become an identity block, and are cut out of the inverse.
            both = free[:, :, None] & free[:, None, :]
            padded = np.where(both, self._curvatures[kind], np.eye(free.shape[1]))
            return np.where(both, np.linalg.inv(padded), 0.0)
        inverse = self._inverses[kind]  # b x d x d
        while kept.any():
            # Conditioning on one column: the Schur complement of its diagonal entry.
            rows = np.flatnonzero(kept.any(axis=1))
            column = kept[rows].argmax(axis=1)
            pivot = inverse[rows, :, column]  # r x d
            diagonal = pivot[np.arange(len(rows)), column]
            inverse[rows] -= pivot[:, :, None] * (pivot / diagonal[:, None])[:, None, :]
            inverse[rows, column, :] = 0.0
            inverse[rows, :, column] = 0.0
            kept[rows, column] = False
        return inverse
