"""Columns of objects or texts that hold numbers, in whatever holds the rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from whyflag.arrays import Vector
from whyflag.table.holders import columns_of, is_frame

if TYPE_CHECKING:
    from whyflag.table.holders import Series


def is_written(X: Any) -> bool:
    """Whether some columns hold objects or texts."""
    if is_frame(X):
        columns, _ = columns_of(X)
        return any(_of_objects(column) for column in columns.values())
    rows = np.asarray(X)
    return rows.ndim == 2 and rows.dtype.kind in "OUS"


def written_numbers(
    X: Any, among: Collection[str] | None = None, *, texts: bool = False
) -> dict[str, Vector]:
    """The numbers of columns of objects or texts that hold nothing else; NaN is a gap.

    Args:
        X: Rows.
        among: Names of the columns that are looked at; None: all.
        texts: Only columns with texts.
    """
    columns, _ = columns_of(X)
    found = {}
    for name, column in columns.items():
        if (among is not None and name not in among) or not _of_objects(column):
            continue
        cells = column.astype(object).to_numpy()
        if texts and not any(isinstance(each, str | bytes) for each in cells):
            continue
        values = np.empty(len(cells))
        for i, (each, gap) in enumerate(zip(cells, column.isna(), strict=True)):
            number = np.nan if gap else _number(each)
            if number is None:
                break
            values[i] = number
        else:
            if not np.isnan(values).all():
                found[name] = values
    return found


def with_columns(X: Any, values: Mapping[str, Vector]) -> Any:
    """The same rows with these columns as numbers."""
    if not values:
        return X
    if hasattr(X, "iloc"):
        import pandas as pd

        parts = {
            j: pd.Series(values[str(label)], index=X.index)
            if str(label) in values
            else X.iloc[:, j]
            for j, label in enumerate(X.columns)
        }
        frame = pd.DataFrame(parts, index=X.index)
        frame.columns = X.columns
        return frame
    if hasattr(X, "column_names"):
        import pyarrow as pa

        for name, column in values.items():
            numbers = pa.array(column, from_pandas=True)
            X = X.set_column(X.column_names.index(name), name, numbers)
        return X
    if hasattr(X, "get_column"):
        import polars as pl

        return X.with_columns(
            [pl.Series(name, column, nan_to_null=True) for name, column in values.items()]
        )
    columns, _ = columns_of(X)
    if len(values) == len(columns):
        return np.column_stack([values[name] for name in columns])
    rows = np.array(X, dtype=object)
    for j, name in enumerate(columns):
        if name in values:
            rows[:, j] = values[name]
    return rows


def odd_texts(X: Any) -> dict[str, tuple[int, str, float]]:
    """Columns where half of the cells at least say numbers, and a text does not.

    Each with the row of the text, the text, and the first number that another says.
    """
    found = {}
    for name, column in columns_of(X)[0].items():
        if not _of_objects(column):
            continue
        cells = column.astype(object).to_numpy()[column.notna()]
        said = [_number(each) for each in cells]
        numbers = [each for each in said if each is not None]
        odd = [i for i, each in enumerate(said) if each is None and isinstance(cells[i], str)]
        if odd and 2 * len(numbers) >= len(cells):
            where = np.flatnonzero(column.notna())[odd[0]]
            found[name] = int(where), cells[odd[0]], numbers[0]
    return found


def _of_objects(column: Series) -> bool:
    """Whether a column holds objects or texts, and no choices that somebody has named."""
    return getattr(column.dtype, "kind", "O") in "OUS" and str(column.dtype) != "category"


def _number(cell: Any) -> float | None:
    """The number that a cell is, or that its text says; None if it is none."""
    if isinstance(cell, bool | np.bool_):
        return None
    if isinstance(cell, Real | Decimal):
        return float(cell)
    if isinstance(cell, bytes):
        cell = cell.decode(errors="replace")
    if not isinstance(cell, str) or "_" in cell:
        return None
    try:
        return float(cell)
    except ValueError:
        return None
