"""Inverse curvature of each problem: where a Newton step would go."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import final

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix, Tensor, pick
from whyflag.minimise.problem import Problems

FEW = 4  # columns up to which a product with a matrix is a sum over its rows
WIDTH = 8  # blocks are filled up to a multiple of it, so that many are inverted as one


@final
class Metric:
    """(C_FF)⁻¹ for each problem, C the curvature that rules at its point, F its free columns.

    With A = C⁻¹ and S the columns that are held, (C_FF)⁻¹ q is A(q − w), where w lives on S and
    makes the product vanish there: A_SS w_S = (A q)_S. So the inverse of the smaller one of two
    blocks, C_FF and A_SS, will do. C and A are shared by all problems. A problem is told of a new
    curvature when it enters another component's region.
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
        turned = np.swapaxes(vectors, 1, 2)
        self._curvature = (vectors * values[:, :, None, :]) @ turned  # r x K x d x d: C
        self._inverse = (vectors / values[:, :, None, :]) @ turned  # r x K x d x d: A
        self._free: BoolMatrix = problems.free
        self.regime: IntVector = regime.copy()  # b
        self._blocks = self._invert(~self._free)

    def select(self, which: IntVector) -> Metric:
        """That of some of the problems."""
        other = copy(self)
        for name in ("_free", "_ridge", "regime"):
            setattr(other, name, pick(getattr(self, name), which))
        place = np.full(len(self.regime), -1)
        place[which] = np.arange(len(which))
        other._blocks = [block.select(place) for block in self._blocks]
        return other

    def bottom(self, away: Matrix) -> Matrix:
        """Where each parabola is lowest, counted from its centre, the held columns at `away`."""
        held = away * ~self._free
        rulers = (self._ridge, self.regime)
        pull = np.einsum("bij,bj->bi", self._curvature[rulers], held)
        return held - self.apply(pull * self._free)

    def update(self, regime: IntVector) -> BoolVector:
        """Take up the curvatures that rule now; tell which problems got another one."""
        changed = regime != self.regime
        if changed.any():
            self.regime = regime.copy()
            for block in self._blocks:
                some = np.flatnonzero(changed[block.which])
                block.inverse[some] = self._inverses(block, some)
        return changed

    def apply(self, vector: Matrix, loose: BoolMatrix | None = None) -> Matrix:
        """Inverse curvature of the free columns times a vector for each problem.

        With `loose`, of those free columns that no bound holds; the vector is zero elsewhere.
        """
        free, blocks = self._free, self._blocks
        if loose is not None and (free & ~loose).any():
            free = free & loose
            blocks = self._invert(~free)
        product = self._times_inverse(vector, np.arange(len(vector)))
        for block in blocks:
            which = block.which
            if block.of_free:
                product.T[:, which] = block.scatter(block.solve(vector), vector.shape[1]).T
            elif block.columns.shape[1] <= FEW:
                weight = block.solve(product)
                for column, each in zip(block.columns.T, weight.T, strict=True):
                    row = self._inverse[self._ridge[which], self.regime[which], column]
                    product.T[:, which] -= each * row.T
            else:
                there = block.scatter(block.solve(product), vector.shape[1])
                product.T[:, which] -= self._times_inverse(there, which).T
        return product * free

    def _times_inverse(self, vector: Matrix, which: IntVector) -> Matrix:
        """A times a vector for each of some problems."""
        ruler = self._ridge[which] * self._inverse.shape[1] + self.regime[which]
        product = np.empty(vector.T.shape)  # d x b
        for ruling in np.unique(ruler).tolist():
            same = np.flatnonzero(ruler == ruling)
            inverse = self._inverse[divmod(ruling, self._inverse.shape[1])]
            product[:, same] = inverse @ pick(vector, same).T
        return product.T

    def _invert(self, held: BoolMatrix) -> list[_Block]:
        """Invert the smaller of the two blocks of each problem that holds any column."""
        d = held.shape[1]
        n_held = held.sum(axis=1)
        of_free = 2 * n_held > d
        size = np.where(of_free, d - n_held, n_held)
        width = np.where(size <= FEW, size, -(-size // WIDTH) * WIDTH)
        blocks = []
        for free, wide in sorted(set(zip(of_free.tolist(), width.tolist(), strict=True))):
            which = np.flatnonzero((of_free == free) & (width == wide))
            if wide == 0 and not free:
                continue
            inside = pick(held, which) ^ free
            # The columns of the block come first; those that fill it up are not real.
            columns = np.argsort(~inside, axis=1, kind="stable")[:, :wide]
            real = np.take_along_axis(inside, columns, axis=1)
            block = _Block(which, columns, real, free, np.empty((len(which), wide, wide)))
            block.inverse[:] = self._inverses(block, np.arange(len(which)))
            blocks.append(block)
        return blocks

    def _inverses(self, block: _Block, some: IntVector) -> Tensor:
        """Inverses of the blocks of some of a block's problems, an identity where not real."""
        whole = self._curvature if block.of_free else self._inverse
        which, columns, real = block.which[some], block.columns[some], block.real[some]
        part = whole[
            self._ridge[which][:, None, None],
            self.regime[which][:, None, None],
            columns[:, :, None],
            columns[:, None, :],
        ]
        both = real[:, :, None] & real[:, None, :]
        return np.linalg.inv(np.where(both, part, np.eye(columns.shape[1])))


@final
@dataclass(frozen=True)
class _Block:
    """Inverses of blocks of one width, those of free or those of held columns."""

    which: IntVector  # g: the problems
    columns: IntVector  # g x w
    real: BoolMatrix  # g x w: not just filled up
    of_free: bool
    inverse: Tensor  # g x w x w

    def solve(self, vector: Matrix) -> Matrix:
        """The inverse times the vector's values on the block: (b, d) -> (g, w)."""
        there = np.take_along_axis(pick(vector, self.which), self.columns, axis=1)
        return (self.inverse @ (there * self.real)[:, :, None])[:, :, 0]

    def scatter(self, values: Matrix, d: int) -> Matrix:
        """Put values of the block into their columns, zeros elsewhere: (g, w) -> (g, d)."""
        there = np.zeros((len(values), d))
        np.put_along_axis(there, self.columns, values, axis=1)
        return there

    def select(self, place: IntVector) -> _Block:
        """That of some of the problems, given their new places, −1 for the others."""
        moved = place[self.which]
        left = np.flatnonzero(moved >= 0)
        return _Block(
            moved[left], self.columns[left], self.real[left], self.of_free, self.inverse[left]
        )
