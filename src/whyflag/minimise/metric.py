"""Inverse curvature of each problem: where a Newton step would go."""

from __future__ import annotations

from dataclasses import dataclass
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
        if self._few:
            self._kept = self._condition(~self._free)
        else:
            self._inverse = self._invert(np.arange(len(problems)))  # b x d x d

    def keep(self, chosen: BoolVector) -> None:
        """Let the other problems go."""
        for name in ("_free", "_ridge", "regime"):
            setattr(self, name, getattr(self, name)[chosen])
        if self._few:
            self._kept = self._kept.select(chosen)
        else:
            self._inverse = self._inverse[chosen]

    def update(self, regime: IntVector) -> BoolVector:
        """Take up the curvatures that rule now; tell which problems got another one."""
        changed = regime != self.regime
        if changed.any():
            self.regime = regime.copy()
            if self._few:
                self._kept = self._condition(~self._free)
            else:
                self._inverse[changed] = self._invert(np.flatnonzero(changed))
        return changed

    def apply(self, vector: Matrix, loose: BoolMatrix | None = None) -> Matrix:
        """Inverse curvature of the free columns times a vector for each problem.

        With `loose`, of those free columns that no bound holds; the vector is zero elsewhere.
        """
        held = np.zeros_like(self._free) if loose is None else self._free & ~loose
        blocked = bool(held.any())
        if not self._few:
            product = np.einsum("bij,bj->bi", self._inverse, vector)
            if not blocked:
                return product
        else:
            product = np.empty_like(vector)
            for ridge, regime in set(zip(self._ridge.tolist(), self.regime.tolist(), strict=True)):
                same = (self._ridge == ridge) & (self.regime == regime)
                product[same] = vector[same] @ self._shared[ridge, regime]
            if not blocked:
                return self._kept.correct(product)
            held = held | ~self._free
        return self._condition(held).correct(product)

    def _condition(self, held: BoolMatrix) -> _Conditioning:
        """Prepare to condition the inverse on the held columns of each problem."""
        # The held columns of each problem come first; fewer than most are filled up.
        most = int(held.sum(axis=1).max(initial=0))
        columns = np.argsort(~held, axis=1, kind="stable")[:, :most]  # b x s
        real = np.take_along_axis(held, columns, axis=1)  # b x s
        if self._few:
            rows = self._shared[self._ridge[:, None], self.regime[:, None], columns]
        else:
            rows = self._inverse[np.arange(len(held))[:, None], columns]
        rows = np.where(real[:, :, None], rows, 0.0)  # b x s x d
        block = np.take_along_axis(rows, columns[:, None, :], axis=2)  # b x s x s
        both = real[:, :, None] & real[:, None, :]
        solve = np.linalg.inv(np.where(both, block, np.eye(most)))
        return _Conditioning(held, columns, rows, solve)

    def _invert(self, which: IntVector) -> Tensor:
        """(C_FF)⁻¹, with zeros elsewhere: kept columns become an identity block meanwhile."""
        free = self._free[which]
        both = free[:, :, None] & free[:, None, :]
        own = self._shared[self._ridge[which], self.regime[which]]
        return np.where(both, np.linalg.inv(np.where(both, own, np.eye(free.shape[1]))), 0.0)


@final
@dataclass(frozen=True)
class _Conditioning:
    """Conditioning on held columns S: (C_FF)⁻¹ q = A q − A_FS (A_SS)⁻¹ (A q)_S, with A = C⁻¹."""

    held: BoolMatrix  # b x d: S
    columns: IntVector  # b x s: the members of S, filled up with others
    rows: Tensor  # b x s x d: A_S, zero for what was filled up
    solve: Tensor  # b x s x s: (A_SS)⁻¹

    def correct(self, product: Matrix) -> Matrix:
        """Turn A q into (C_FF)⁻¹ q."""
        there = np.take_along_axis(product, self.columns, axis=1)  # b x s
        weight = np.einsum("bst,bt->bs", self.solve, there)
        return np.where(self.held, 0.0, product - np.einsum("bs,bsd->bd", weight, self.rows))

    def select(self, chosen: BoolVector) -> _Conditioning:
        """Some of the problems."""
        return _Conditioning(
            self.held[chosen], self.columns[chosen], self.rows[chosen], self.solve[chosen]
        )
