"""Inverse curvature of each problem: where a Newton step would go."""

from __future__ import annotations

from typing import final

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix, Tensor
from whyflag.minimise.problem import Problems

FEW = 4  # kept columns up to which the inverse is corrected for them instead of made anew


def keeps_few(free: BoolMatrix) -> bool:
    """Whether no problem keeps more than a few columns, as with ASH's p + 1 minimisations."""
    return bool((~free).sum(axis=1).max(initial=0) <= FEW)


@final
class Metric:
    """(C_FF)⁻¹ for each problem, C the curvature that rules at its point, F its free columns.

    A problem is told of a new curvature when it enters another component's region. Where few
    columns are kept, (C_FF)⁻¹ is C⁻¹, which problems share, less a correction of low rank
    (conditioning on the kept columns); else each problem has an inverse of its own.
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
        self._few = keeps_few(problems.free)
        stretch = 1 / values if self._few else values
        # C⁻¹, or C: r x K x d x d
        self._shared = (vectors * stretch[:, :, None, :]) @ np.swapaxes(vectors, 1, 2)
        self._free: BoolMatrix = problems.free
        self.regime: IntVector = regime.copy()  # b
        everyone = np.arange(len(problems))
        if self._few:
            # The kept columns of each problem come first; fewer than most are filled up.
            most = int((~self._free).sum(axis=1).max(initial=0))
            self._kept = np.argsort(self._free, axis=1, kind="stable")[:, :most]  # b x s
            self._rows, self._solve = self._condition(everyone)  # b x s x d, b x s x s
        else:
            self._inverse = self._invert(everyone)  # b x d x d

    def keep(self, chosen: BoolVector) -> None:
        """Let the other problems go."""
        own = ("_kept", "_rows", "_solve") if self._few else ("_inverse",)
        for name in ("_free", "_ridge", "regime", *own):
            setattr(self, name, getattr(self, name)[chosen])

    def update(self, regime: IntVector) -> BoolVector:
        """Take up the curvatures that rule now; tell which problems got another one."""
        changed = regime != self.regime
        if changed.any():
            self.regime = regime.copy()
            which = np.flatnonzero(changed)
            if self._few:
                self._rows[which], self._solve[which] = self._condition(which)
            else:
                self._inverse[which] = self._invert(which)
        return changed

    def apply(self, vector: Matrix) -> Matrix:
        """Inverse curvature times a vector (zero in kept columns) for each problem."""
        if not self._few:
            return np.einsum("bij,bj->bi", self._inverse, vector)
        product = np.empty_like(vector)
        for ridge, regime in set(zip(self._ridge.tolist(), self.regime.tolist(), strict=True)):
            same = (self._ridge == ridge) & (self.regime == regime)
            product[same] = vector[same] @ self._shared[ridge, regime]
        held = np.take_along_axis(product, self._kept, axis=1)  # b x s
        weight = np.einsum("bst,bt->bs", self._solve, held)
        product -= np.einsum("bs,bsd->bd", weight, self._rows)
        return np.where(self._free, product, 0.0)

    def _condition(self, which: IntVector) -> tuple[Tensor, Tensor]:
        """Rows S of C⁻¹, and the inverse of its block S, S, for each problem."""
        kept = self._kept[which]  # w x s
        real = ~np.take_along_axis(self._free[which], kept, axis=1)  # w x s
        rows = self._shared[self._ridge[which, None], self.regime[which, None], kept]  # w x s x d
        rows = np.where(real[:, :, None], rows, 0.0)
        block = np.take_along_axis(rows, kept[:, None, :], axis=2)  # w x s x s
        both = real[:, :, None] & real[:, None, :]
        return rows, np.linalg.inv(np.where(both, block, np.eye(kept.shape[1])))

    def _invert(self, which: IntVector) -> Tensor:
        """(C_FF)⁻¹, with zeros elsewhere: kept columns become an identity block meanwhile."""
        free = self._free[which]
        both = free[:, :, None] & free[:, None, :]
        own = self._shared[self._ridge[which], self.regime[which]]
        return np.where(both, np.linalg.inv(np.where(both, own, np.eye(free.shape[1]))), 0.0)
