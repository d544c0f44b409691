"""Rows as they would stand: some cells as they came, others repaired."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from whyflag.arrays import BoolMatrix, IntVector, Matrix, Vector
from whyflag.batches import CALL, batches
from whyflag.records import per_row
from whyflag.table.originals import Originals

REFUSED = 1e300  # the score of a row that the detector refuses: of two the difference is finite


@final
@dataclass(frozen=True, kw_only=True)
class Standing:
    """Asks the detector of rows with cells for which other values stand in.

    While a cell is held for which typical values stand in, its feature is as it came, whatever is
    tried there. One that has numbers of its own is as it came while these are not changed.

    Attributes:
        rows: The rows with other values in the place of these cells, (n, d).
        originals: The cells that are held, n.
        foreign: The features whose values in `rows` are not those of the row, (n, p).
        membership: Which columns each feature has, (p, d).
    """

    rows: Matrix = per_row()
    originals: Originals = per_row()
    foreign: BoolMatrix = per_row()
    membership: BoolMatrix

    @property
    def is_asked(self) -> bool:
        """Whether any cell is held; without one, rows are the numbers they are."""
        return bool(self.originals.some.any())

    @property
    def held(self) -> BoolMatrix:
        """The features that stay as they came, (n, p)."""
        return self.originals.features(len(self.membership))

    def back(self, points: Matrix, owner: IntVector) -> Matrix:
        """Points (b, d) with what stands in for the cells of the rows `owner`, (b,)."""
        columns = self.held @ self.membership  # n x d
        return np.where(columns[owner], self.rows[owner], points)

    def __call__(self, points: Matrix, owner: IntVector) -> Vector:
        """Scores of points (b, d), each tried for the row `owner`, (b,)."""
        points, found = self.back(points, owner), np.empty(len(points))
        same = ~((points != self.rows[owner]) @ self.membership.T)  # b x p
        players, cells = self.originals.players, []
        for i, its in zip(owner.tolist(), same, strict=True):
            told = self.originals.told[i].items()
            left = {name: cell for name, cell in told if its[players[name]]}
            cells.append({**self.originals.cells[i], **left})
        for some in batches(len(points), points.shape[1], CALL):
            found[some] = self.originals.ask(points[some], cells[some])
        return np.where(np.isfinite(found), found, REFUSED)
