"""Rows of a table as they came: texts, of which nobody knows yet what they mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from whyflag.arrays import IntVector, evenly
from whyflag.extras import require

# A text for each row, "" where there is none; or numbers where the source has them, NaN likewise.
Cells = NDArray[Any]

MIDNIGHT = time()
EXACT = 2**53  # whole numbers from here on are not all numbers of double precision


@final
@dataclass(frozen=True)
class Sheet:
    """Rows of a table as they came.

    Attributes:
        cells: The cells of each column, n.
        numbers: The numbers of the rows, from 1, n.
        lines: Where each row stands in its file, n; None where a file has no lines.
        notes: What was assumed of the file, in sentences.
        index: The names of the rows where a DataFrame has them.
        separator: What stands between the fields of a line, if there are lines.
    """

    cells: Mapping[str, Cells]
    numbers: IntVector
    lines: IntVector | None = None
    notes: tuple[str, ...] = ()
    index: tuple[Any, ...] | None = None
    separator: str | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.cells)

    @classmethod
    def of(cls, table: Any) -> Sheet:
        """The rows of a DataFrame of pandas or polars, or of a table of pyarrow."""
        if isinstance(table, Sheet):
            return table
        if hasattr(table, "collect") and not hasattr(table, "to_arrow"):
            table = table.collect()  # polars, lazy
        if hasattr(table, "to_arrow"):
            table = table.to_arrow()
        if hasattr(table, "column_names") and hasattr(table, "to_batches"):
            return cls(arrow_cells(table), np.arange(1, table.num_rows + 1))
        if not hasattr(table, "columns") or not hasattr(table, "index"):
            raise TypeError(
                "A table must be a DataFrame of pandas or polars, or a table of pyarrow, got "
                f"{type(table).__name__}."
            )
        names = [str(name) for name in table.columns]
        refuse_repeated(names, "The table")
        cells = {name: _frame_cells(table.iloc[:, position]) for position, name in enumerate(names)}
        return cls(cells, np.arange(1, len(table) + 1), index=tuple(table.index))

    @classmethod
    def join(cls, sheets: Sequence[Sheet]) -> Sheet:
        """Sheets under one another; a column that one of them has not is empty there."""
        names = dict.fromkeys(name for sheet in sheets for name in sheet.cells)
        lines = [sheet.lines for sheet in sheets if sheet.lines is not None]
        return cls(
            {
                name: _join([each.cells.get(name, _no_cells(len(each))) for each in sheets])
                for name in names
            },
            np.concatenate([sheet.numbers for sheet in sheets]),
            np.concatenate(lines) if len(lines) == len(sheets) else None,
            tuple(dict.fromkeys(note for sheet in sheets for note in sheet.notes)),
            separator=sheets[0].separator,
        )

    def packed(self) -> Sheet:
        """The same rows in less memory: short texts without an object for each."""
        text = np.dtypes.StringDType()
        return replace(
            self,
            cells={
                name: cells.astype(text) if cells.dtype == object else cells
                for name, cells in self.cells.items()
            },
        )

    def take(self, rows: IntVector) -> Sheet:
        """Some of the rows."""
        return replace(
            self,
            cells={name: cells[rows] for name, cells in self.cells.items()},
            numbers=self.numbers[rows],
            lines=None if self.lines is None else self.lines[rows],
            index=None if self.index is None else tuple(self.index[i] for i in rows),
        )

    def place(self, i: int) -> str:
        """Where a row stands, for messages."""
        return f"row {self.numbers[i]}" if self.lines is None else f"line {self.lines[i]}"


def texts_of(cells: Cells) -> Cells:
    """Cells as texts, an object each."""
    if cells.dtype.kind == "f":
        return np.array([number_text(value) for value in cells.tolist()], dtype=object)
    return cells if cells.dtype == object else cells.astype(object)


def number_text(value: float) -> str:
    """A number in as few digits as tell it from all others; nothing for NaN.

    >>> number_text(3.0), number_text(0.1), number_text(float("nan"))
    ('3', '0.1', '')
    """
    if value != value:
        return ""
    value = float(value)  # numpy's own says its type as well
    return str(int(value)) if value.is_integer() and abs(value) < EXACT else repr(value)


def spread(cells: Any, most: int) -> Any:
    """Up to so many of the cells or texts, evenly spread: files are often sorted."""
    if len(cells) <= most:
        return cells
    some = evenly(len(cells), most)
    return cells[some] if isinstance(cells, np.ndarray) else [cells[i] for i in some]


def text_of(value: Any) -> str:
    """Anything that a cell may hold as a text; nothing for what is missing."""
    if value is None or value != value:
        return ""
    if isinstance(value, float):
        return number_text(value)
    return value if isinstance(value, str) else str(value)


def text_cells(values: Sequence[Any]) -> Cells:
    """Cells of texts; days that a source keeps as moments have no clock.

    >>> text_cells([datetime(2024, 1, 2), None]).tolist()
    ['2024-01-02', '']
    """
    cells = np.empty(len(values), dtype=object)
    moments = [each for each in values if isinstance(each, datetime) and each == each]  # no NaT
    if moments and all(each.time() == MIDNIGHT and each.tzinfo is None for each in moments):
        values = [
            each.date() if isinstance(each, datetime) and each == each else each for each in values
        ]
    cells[:] = [text_of(value) for value in values]
    return cells


def repeated_in(names: Sequence[str]) -> list[str]:
    """The names that several columns have."""
    return sorted(name for name, count in Counter(names).items() if count > 1)


def refuse_repeated(names: Sequence[str], where: str) -> None:
    """Refuse names that several columns have."""
    if repeated := repeated_in(names):
        raise ValueError(
            f"{where} has several columns of the name {', '.join(map(repr, repeated))}."
        )


def arrow_cells(table: Any) -> dict[str, Cells]:
    """The cells of a table of pyarrow, or of a batch."""
    pa = require("pyarrow", "Reading Arrow", extra="parquet")
    names = list(table.schema.names)
    refuse_repeated(names, "The table")
    return {name: _arrow_column(pa, table.column(position)) for position, name in enumerate(names)}


def _arrow_column(pa: Any, column: Any) -> Cells:
    kind = column.type
    if pa.types.is_floating(kind):
        return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)
    if pa.types.is_integer(kind):
        values = column.cast(pa.string()).to_pylist()
    else:
        values = column.to_pylist()
    return text_cells(values)


def _frame_cells(column: Any) -> Cells:
    """The cells of a column of pandas."""
    kind = getattr(column.dtype, "kind", "O")
    if kind == "f":
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if kind in "iu" and not column.isna().any() and (column.abs() < EXACT).all():
        return column.to_numpy(dtype=np.float64)
    return text_cells(
        [None if gap else each for each, gap in zip(column, column.isna(), strict=True)]
    )


def _join(parts: Sequence[Cells]) -> Cells:
    if len({part.dtype.kind for part in parts}) > 1:
        parts = [texts_of(part) for part in parts]
    return np.concatenate(parts)


def _no_cells(n: int) -> Cells:
    return text_cells([""] * n)
