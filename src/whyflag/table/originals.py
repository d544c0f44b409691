"""Cells as they came, of which numbers know nothing, and a detector that takes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, final

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix, Vector
from whyflag.records import per_row

CellsOfRows: TypeAlias = Sequence[Mapping[str, Any]]  # by column, n


@final
@dataclass(frozen=True, kw_only=True)
class Originals:
    """What rows hold in cells that numbers can not say, none where the detector refuses the row.

    Attributes:
        cells: Those for which typical values stand in, by column, n: gaps, say.
        told: Those whose numbers no normal row has, by column, n: choices that are new.
        players: The player of each column.
        ask: Scores of rows of numbers, (b, d), in which some columns have such cells, b, instead;
            infinite where the detector refuses a row.
    """

    cells: tuple[Mapping[str, Any], ...] = per_row()
    told: tuple[Mapping[str, Any], ...] = per_row()
    players: Mapping[str, int]
    ask: Callable[[Matrix, CellsOfRows], Vector]

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def some(self) -> BoolVector:
        """Which rows have such cells, (n,)."""
        every = zip(self.cells, self.told, strict=True)
        return np.array([bool(cells or told) for cells, told in every], dtype=np.bool_)

    def at(self, rows: IntVector, n: int) -> Originals:
        """The same of n rows, of which these are some; the others have no such cells."""
        cells: list[Mapping[str, Any]] = [{} for _ in range(n)]
        told = list(cells)
        for i, its, of_numbers in zip(rows.tolist(), self.cells, self.told, strict=True):
            cells[i], told[i] = its, of_numbers
        return replace(self, cells=tuple(cells), told=tuple(told))

    def features(self, n_players: int) -> BoolMatrix:
        """The players for whose cells typical values stand in, (n, p)."""
        found = np.zeros((len(self.cells), n_players), dtype=np.bool_)
        for i, row in enumerate(self.cells):
            found[i, [self.players[name] for name in row]] = True
        return found

    def without(self, features: BoolMatrix) -> Originals:
        """The same with typical values in the cells of these players, (n, p)."""
        return replace(
            self,
            cells=tuple(
                {name: cell for name, cell in row.items() if not gone[self.players[name]]}
                for row, gone in zip(self.cells, features, strict=True)
            ),
        )
