"""Cells as rows in the type of an example: a DataFrame of pandas or polars, a table, an array."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from whyflag.table.holders import columns_of, is_frame
from whyflag.table.sheet import Cells

if TYPE_CHECKING:
    from whyflag.table.holders import Series


def like(example: Any, cells: Mapping[str, Cells], n: int) -> Any:
    """Rows of these cells in the type of an example, which says what stands in other columns."""
    if hasattr(example, "iloc"):
        parts = {}
        for j, label in enumerate(example.columns):
            one = example.iloc[:, j]
            own = cells.get(str(label))
            parts[j] = (
                one.repeat(n).reset_index(drop=True) if own is None else _cast(own, one.dtype)
            )
        frame = pd.DataFrame(parts)
        frame.columns = example.columns
        return frame
    known, _ = columns_of(example)
    columns = known if is_frame(example) or len(known) > len(cells) else dict.fromkeys(cells)
    whole = {
        name: cells[name] if name in cells else np.repeat(known[name].to_numpy(), n)
        for name in columns
    }
    if hasattr(example, "column_names"):
        import pyarrow as pa

        fields = zip(whole.items(), example.schema, strict=True)
        return pa.table({name: _arrow(each, field.type) for (name, each), field in fields})
    if hasattr(example, "get_column"):
        import polars as pl

        return pl.DataFrame(
            {
                name: pl.Series(name, _listed(each), dtype=example.schema[name], strict=False)
                for name, each in whole.items()
            }
        )
    is_object = np.asarray(example).dtype.kind not in "fiub"
    return np.column_stack(list(whole.values())).astype(object if is_object else np.float64)


def _listed(cells: Cells) -> Any:
    if cells.dtype.kind == "f":
        return [None if each != each else each for each in cells.tolist()]
    # What is no time is none in a list; polars takes it for a number that it can not hold.
    return cells if cells.dtype.kind in "mM" and not np.isnat(cells).any() else cells.tolist()


def _arrow(cells: Cells, kind: Any) -> Any:
    import pyarrow as pa

    if cells.dtype.kind == "f":
        whole = pa.array(cells, from_pandas=True)
        return whole.cast(kind, safe=False) if (cells == np.round(cells)).all() else whole
    return pa.array(cells, type=kind, from_pandas=True)


def _cast(cells: Cells, dtype: Any) -> Series:
    """Cells as a column of this type, where it can hold them."""
    # pandas would take texts with None for its own type of texts, in which a gap is another.
    column: Any = pd.Series(cells, dtype=cells.dtype)
    if isinstance(dtype, pd.DatetimeTZDtype):
        return column.dt.tz_localize("UTC").dt.tz_convert(dtype.tz).astype(dtype)
    if isinstance(dtype, pd.CategoricalDtype):
        extra = [each for each in column.dropna().unique() if each not in dtype.categories]
        wider = dtype.categories.append(pd.Index(extra)) if extra else dtype.categories
        return column.astype(pd.CategoricalDtype(wider, dtype.ordered))
    if isinstance(dtype, np.dtype) and dtype.kind == "O":
        return column.astype(object)
    kind = getattr(dtype, "kind", "O")
    texts = cells.dtype.kind == "O" and any(isinstance(each, str) for each in cells)
    if kind in "iufb" and texts:
        return column  # a text among numbers, as it came
    if kind in "iu" and not (cells == np.floor(cells.astype(np.float64))).all():
        # What is no whole number, or none at all, is not made one.
        nullable = not isinstance(dtype, np.dtype)
        whole = column.isna() | (column == np.floor(column))
        return column.astype(dtype if nullable and whole.all() else np.float64)
    if kind == "b" and isinstance(dtype, np.dtype) and column.isna().any():
        return column.astype(object)
    return column.astype(dtype)
