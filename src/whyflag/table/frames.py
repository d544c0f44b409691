"""Rows in whatever a detector takes them in: a DataFrame, say, with texts and gaps."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pandas as pd

from whyflag.arrays import BoolMatrix, IntMatrix, Matrix, Vector
from whyflag.records import per_row
from whyflag.table.codec import State
from whyflag.table.holders import columns_of, is_frame
from whyflag.table.likeness import like
from whyflag.table.originals import CellsOfRows
from whyflag.table.raw import RawColumn, object_cells, with_others
from whyflag.table.raw_choices import RawChoices
from whyflag.table.raw_numbers import RawNumbers, number_cells
from whyflag.table.raw_times import RawTimes, is_time, time_cells, zone_of
from whyflag.table.rows import Table, refuse_other_names
from whyflag.table.sheet import Cells

if TYPE_CHECKING:
    from whyflag.table.holders import Series


@final
@dataclass(frozen=True)
class Raw:
    """Rows of a detector's own columns, as numbers."""

    rows: Table = per_row()
    states: IntMatrix = per_row()  # n x columns: of `State`


@final
@dataclass(frozen=True, eq=False)
class Frames:
    """From rows as a detector takes them to numbers, and back.

    What numbers can not say is a state: a gap in a column where no row that was learnt from has
    one, a choice that none of them has.

    Attributes:
        names: The columns that count.
        codecs: What is learnt of each.
        example: A row of all columns, as it came: types, order, and what stands in columns that do
            not count.
        empty: Columns that might count, but have no value.
    """

    names: tuple[str, ...]
    codecs: tuple[RawColumn, ...]
    example: Any
    empty: tuple[str, ...] = ()

    @classmethod
    def learn(
        cls, X: Any, *, choices: Collection[str] = (), unused: Collection[str] = ()
    ) -> Frames:
        """Learn from rows what their columns are.

        Args:
            X: Rows: a DataFrame of pandas or polars, a table of pyarrow, or an array.
            choices: Columns whose numbers are names.
            unused: Columns that do not count.
        """
        columns, _ = columns_of(X)
        found = {
            name: _codec_of(name, column, name in choices)
            for name, column in columns.items()
            if name not in unused
        }
        codecs = {name: codec for name, codec in found.items() if codec is not None}
        if not codecs:
            raise ValueError("`background` has no column with values.")
        empty = tuple(name for name, codec in found.items() if codec is None)
        return cls(tuple(codecs), tuple(codecs.values()), X[:1] if len(X) else X, empty)

    @classmethod
    def of_numbers(cls, names: Sequence[str], typical: Vector) -> Frames:
        """Columns of numbers without gaps, in an array."""
        codecs = tuple(RawNumbers(float(value)) for value in typical)
        return cls(tuple(names), codecs, typical[None])

    @property
    def encoded(self) -> tuple[str, ...]:
        """The columns of numbers."""
        return tuple(name for each in self._encoded for name in each)

    @property
    def players(self) -> dict[str, list[str]]:
        """The columns of numbers of each column."""
        return dict(zip(self.names, self._encoded, strict=True))

    @property
    def _encoded(self) -> list[list[str]]:
        return [codec.encoded(name) for name, codec in zip(self.names, self.codecs, strict=True)]

    @property
    def gap_columns(self) -> list[str]:
        """The 0/1 columns that say that a number or a time is missing."""
        return [
            codec.gap(name)
            for name, codec in zip(self.names, self.codecs, strict=True)
            if codec.has_gaps and not isinstance(codec, RawChoices)
        ]

    @property
    def of_real_numbers(self) -> list[str]:
        """The columns whose numbers are no names."""
        known = zip(self.names, self.codecs, strict=True)
        return [name for name, codec in known if isinstance(codec, RawNumbers)]

    @property
    def categories(self) -> dict[str, tuple[str, ...]]:
        """The names of the 0/1 columns of each choice."""
        known = zip(self.names, self.codecs, strict=True)
        return {name: codec.categories for name, codec in known if isinstance(codec, RawChoices)}

    @property
    def written(self) -> dict[str, RawColumn]:
        """What is written otherwise than as a plain number."""
        known = zip(self.names, self.codecs, strict=True)
        return {
            name: codec
            for name, codec in known
            if codec.has_gaps or not isinstance(codec, RawNumbers)
        }

    def without_gaps(self, names: Collection[str]) -> Frames:
        """The same, but gaps in these columns have no place of their own."""
        known = zip(self.names, self.codecs, strict=True)
        return replace(
            self, codecs=tuple(c.without_gaps() if name in names else c for name, c in known)
        )

    def read(self, X: Any, name: str = "X") -> Raw:
        """Rows as numbers; columns are matched by name, those of an array by position."""
        columns, index = columns_of(X, name, self._all_names)
        refuse_other_names(self.names, tuple(columns), name, only_lacking=True)
        found = [
            codec.read(codec.cells_in(each, columns[each]))
            for each, codec in zip(self.names, self.codecs, strict=True)
        ]
        values = np.hstack([each.values for each in found])
        states = np.column_stack([each.states for each in found]).astype(np.int64)
        rows = Table(values, self.encoded, index, codecs=self.written)
        return Raw(rows, states)

    def shown(self, X: Any, states: IntMatrix) -> tuple[dict[str, str], ...]:
        """What people should see of cells that have no place among the numbers, n."""
        columns, _ = columns_of(X, columns=self._all_names)
        said: list[dict[str, str]] = [{} for _ in range(len(states))]
        for i, j in zip(*np.nonzero(states), strict=True):
            name, codec = self.names[j], self.codecs[j]
            said[i][name] = codec.shown(str(columns[name].iloc[i]), State(states[i, j]))
        return tuple(said)

    def frame(self, Z: Matrix, instead: Mapping[str, Cells] | None = None) -> Any:
        """Rows of numbers as the detector takes them; some columns with other cells instead."""
        cells, begin = {}, 0
        for name, codec, encoded in zip(self.names, self.codecs, self._encoded, strict=True):
            end = begin + len(encoded)
            cells[name] = codec.cells(Z[:, begin:end])
            begin = end
        return like(self.example, {**cells, **(instead or {})}, len(Z))

    def usual(self, Z: Matrix, states: IntMatrix) -> Matrix:
        """Rows of numbers with usual cells in the place of foreign ones: (n, d), (n, c)."""
        Z, begin = Z.copy(), 0
        for j, codec in enumerate(self.codecs):
            end = begin + len(self._encoded[j])
            if codec.usual is not None:
                Z[states[:, j] != State.USUAL, begin:end] = codec.usual
            begin = end
        return Z

    def frame_with(self, Z: Matrix, cells: CellsOfRows) -> Any:
        """The same where rows have some cells, n, instead."""
        instead: dict[str, Cells] = {}
        begin = 0
        for name, codec, encoded in zip(self.names, self.codecs, self._encoded, strict=True):
            end = begin + len(encoded)
            which = [i for i, row in enumerate(cells) if name in row]
            if which:
                usual = codec.cells(Z[:, begin:end])
                instead[name] = with_others(usual, which, [cells[i][name] for i in which])
            begin = end
        return self.frame(Z, instead)

    def cells_at(self, X: Any, where: BoolMatrix) -> tuple[dict[str, Any], ...]:
        """Some cells as they came, by column, n."""
        columns, _ = columns_of(X, columns=self._all_names)
        found: list[dict[str, Any]] = [{} for _ in range(len(where))]
        for i, j in np.argwhere(where).tolist():
            found[i][self.names[j]] = columns[self.names[j]].iloc[i]
        return tuple(found)

    def cells_of(self, X: Any, j: int) -> dict[str, Cells]:
        """The cells of one column that counts, as they came, by its name."""
        columns, _ = columns_of(X, columns=self._all_names)
        return {self.names[j]: columns[self.names[j]].to_numpy()}

    def gap_cell(self, X: Any, name: str) -> dict[str, Cells]:
        """A gap of a column, as it came, by the column's name."""
        columns, _ = columns_of(X, columns=self._all_names)
        return {name: columns[name].to_numpy()[columns[name].isna().to_numpy()][:1]}

    @property
    def _all_names(self) -> tuple[str, ...]:
        known = tuple(columns_of(self.example)[0])
        # An array has no names: columns go by those that count, as far as all do.
        return known if is_frame(self.example) or len(known) > len(self.names) else self.names


def _codec_of(name: str, column: Series, is_choice: bool) -> RawColumn | None:
    """What a column is; None if it has no value."""
    if column.isna().all():
        return None
    kind = "O" if is_choice else _kind(column)
    if kind == "n":
        is_whole = getattr(column.dtype, "kind", "O") in "iu"
        return RawNumbers.of(number_cells(column), is_whole=is_whole)
    if kind == "t":
        return RawTimes.of(time_cells(column), zone_of(column))
    cells = object_cells(column)
    try:
        gaps = column[column.isna()]
        return RawChoices.of(cells, gaps.iloc[0] if len(gaps) else None)
    except TypeError as error:
        raise TypeError(
            f"Column {name!r} must hold numbers, texts or times, got {cells[0]!r:.40}: {error}."
        ) from None


def _kind(column: Series) -> str:
    """Whether a column holds numbers, "n", times, "t", or else choices, "O"."""
    dtype: Any = column.dtype
    if getattr(dtype, "kind", "O") in "iuf":
        return "n"
    if is_time(column):
        return "t"
    if isinstance(dtype, np.dtype):
        inferred = pd.api.types.infer_dtype(column, skipna=True)
        if inferred in ("integer", "floating", "mixed-integer-float", "decimal"):
            return "n"
    return "O"
