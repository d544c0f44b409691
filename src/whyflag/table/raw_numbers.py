"""Columns of numbers as a detector takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from whyflag.arrays import Matrix, Vector, evenly
from whyflag.table.codec import GAP, Read, State
from whyflag.table.forms import PLAIN, decimals_of
from whyflag.table.raw import RawColumn, gaps_in, object_cells, states_of, with_gaps
from whyflag.table.sheet import Cells, number_text

if TYPE_CHECKING:
    from whyflag.table.holders import Series

TYPICAL = 1001  # numbers that tell how they are written


@final
@dataclass(frozen=True)
class RawNumbers(RawColumn):
    """A column of numbers.

    Attributes:
        typical: The lower of their medians.
        decimals: How many decimals they have at the most; None: as many as it takes.
        has_gaps: Whether a 0/1 column says where there is none.
        is_whole: Whether the column holds whole numbers only; any other is foreign.
    """

    kind: ClassVar[str] = "raw number"

    typical: float
    decimals: int | None = None
    has_gaps: bool = False
    is_whole: bool = False

    @classmethod
    def of(cls, cells: Cells, *, is_whole: bool) -> RawNumbers:
        """What is learnt of a column."""
        values, is_number = numbers_in(cells)
        known = np.sort(values[is_number])
        some = known[evenly(len(known), TYPICAL)]
        decimals = decimals_of([number_text(value) for value in some], PLAIN)
        typical = float(known[(len(known) - 1) // 2])
        return cls(typical, decimals, bool(gaps_in(cells).any()), is_whole)

    def encoded(self, name: str) -> list[str]:
        return [name, self.gap(name)] if self.has_gaps else [name]

    def cells_in(self, name: str, column: Series) -> Cells:
        return number_cells(column)

    def read(self, cells: Cells) -> Read:
        values, is_number = numbers_in(cells)
        states = states_of(is_number, gaps_in(cells))
        if self.is_whole:
            states[is_number & np.isfinite(values) & (values != np.round(values))] = State.NEW
        return with_gaps(np.where(is_number, values, self.typical), states, self.has_gaps)

    def cells(self, values: Matrix) -> Cells:
        numbers = np.round(values[:, 0]) if self.is_whole else values[:, 0]
        return np.where(values[:, 1] >= 0.5, np.nan, numbers) if self.has_gaps else numbers

    def raw(self, values: Vector) -> float:
        return float(self.cells(values[None])[0])

    def without_gaps(self) -> RawNumbers:
        return replace(self, has_gaps=False)

    def write(self, values: Vector) -> str:
        value = self.raw(values)
        return GAP if np.isnan(value) else PLAIN.text(value, self.decimals)

    def shown(self, text: str, state: State) -> str:
        if state == State.GAP:
            return GAP
        return f"{text} (not whole)" if state == State.NEW else f"not a number: {text!r}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> RawNumbers:
        return cls(**content)


def number_cells(column: Series) -> Cells:
    """Numbers; objects where a column holds others too."""
    if getattr(column.dtype, "kind", "O") in "iufb":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return object_cells(column)


def numbers_in(cells: Cells) -> tuple[Vector, NDArray[np.bool_]]:
    """The numbers among cells, and where there are some."""
    if cells.dtype.kind in "fiub":
        values = cells.astype(np.float64)
        return values, ~np.isnan(values)
    is_number = np.array(
        [
            isinstance(each, (Real, Decimal)) and not isinstance(each, bool)
            for each in cells.tolist()
        ]
    )
    values = np.full(len(cells), np.nan)
    values[is_number] = cells[is_number].astype(np.float64)
    return values, is_number & ~np.isnan(values)
