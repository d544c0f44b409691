"""What rows can come in: DataFrames, tables of Arrow, arrays, sparse matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from whyflag.arrays import IntVector
from whyflag.table.sheet import repeated_in

if TYPE_CHECKING:
    import pandas as pd

    Series: TypeAlias = pd.Series[Any]

MOST_DENSE = 2**28  # numbers of a sparse matrix with its zeros: 2 GiB


def in_hand(X: Any, name: str = "X") -> Any:
    """Rows that are there: what is lazy is computed, what is sparse gets its zeros."""
    if hasattr(X, "collect") and hasattr(X, "collect_schema") and not hasattr(X, "to_arrow"):
        return X.collect()  # polars, lazy
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        n, d = X.shape
        if n * d > MOST_DENSE:
            raise ValueError(
                f"`{name}` is sparse, and with its zeros it would have {n} x {d} numbers, "
                f"{n * d * 8 / 2**30:.0f} GiB: give fewer rows at a time, "
                f"{max(1, MOST_DENSE // d)} at most."
            )
        return np.asarray(X.toarray(), dtype=np.float64)
    if isinstance(X, np.ma.MaskedArray):  # what is masked is no value
        rows = X.data.astype(X.dtype if X.dtype.kind in "fO" else np.float64)
        rows[np.ma.getmaskarray(X)] = None if X.dtype == object else np.nan
        return rows
    if hasattr(X, "iloc") and not hasattr(X, "columns"):
        raise ValueError(
            f"`{name}` must have shape (n, d), got a Series of shape {X.shape}. A row of a "
            "DataFrame is frame.iloc[[i]]."
        )
    if isinstance(X, list | tuple) and X and isinstance(X[0], list | tuple):
        return _whole_rows(X)
    return X


def _whole_rows(X: Sequence[Sequence[Any]]) -> Any:
    """Rows of which each cell keeps its type, where numpy would make texts of all."""
    if any(isinstance(cell, str | bytes) for row in X for cell in row):
        return np.array(X, dtype=object)
    return X


def is_frame(X: Any) -> bool:
    """Whether rows have names of columns."""
    return hasattr(X, "iloc") or hasattr(X, "column_names") or hasattr(X, "get_column")


def take(X: Any, rows: IntVector) -> Any:
    """Some of the rows, as they came."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "column_names"):
        return X.take(rows)
    return X[rows] if hasattr(X, "shape") else np.asarray(X)[rows]


def length(X: Any) -> int:
    """How many rows there are."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def columns_of(
    X: Any, name: str = "X", columns: Sequence[str] | None = None
) -> tuple[dict[str, Series], tuple[Any, ...] | None]:
    """The columns of rows by their names, and the names of the rows if they have some."""
    if hasattr(X, "iloc"):
        names = tuple(str(each) for each in X.columns)
        refuse_repeated_names(names, name)
        return {each: X.iloc[:, j] for j, each in enumerate(names)}, tuple(X.index)
    if hasattr(X, "column_names"):
        refuse_repeated_names(X.column_names, name)
        return {each: X.column(each).to_pandas() for each in X.column_names}, None
    if hasattr(X, "columns") and hasattr(X, "get_column"):
        return {each: _of_polars(X.get_column(each)) for each in X.columns}, None
    import pandas as pd

    rows = np.asarray(X)
    if rows.ndim != 2 or (columns is not None and rows.shape[1] != len(columns)):
        width = "d" if columns is None else len(columns)
        raise ValueError(f"`{name}` must have shape (n, {width}), got {rows.shape}.")
    known = columns or [f"x{j}" for j in range(rows.shape[1])]
    return {each: pd.Series(rows[:, j]) for j, each in enumerate(known)}, None


def _of_polars(column: Any) -> Series:
    import pandas as pd

    if column.dtype.is_temporal() and str(column.dtype) != "Time":
        times = pd.Series(column.to_numpy())
        zone = getattr(column.dtype, "time_zone", None)
        return times.dt.tz_localize("UTC").dt.tz_convert(zone) if zone else times
    truths = str(column.dtype) == "Boolean" and not column.null_count()
    if truths or column.dtype.is_numeric():
        return pd.Series(column.to_numpy())
    return pd.Series(column.to_list(), dtype=object)


def refuse_repeated_names(names: Sequence[str], name: str) -> None:
    """Refuse columns of one name."""
    if repeated := repeated_in(names):
        raise ValueError(f"`{name}` must have distinct column names, got {repeated} repeatedly.")
