"""Rows as numbers, read once, with their names and what people should see of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np

from whyflag.arrays import Matrix, check_rows
from whyflag.records import per_row
from whyflag.table.codec import Codec, States


@final
@dataclass(frozen=True)
class Table:
    """Rows as numbers, with their names, and what people should see of them."""

    values: Matrix = per_row()  # n x d
    columns: tuple[str, ...] | None = None
    index: tuple[Any, ...] | None = per_row(default=None)  # n: the names of the rows
    # n: what people should see in place of a value, by player
    shown: tuple[Mapping[str, str], ...] | None = per_row(default=None)
    # n x p: what values add to the score that the detector can not see
    added: Matrix | None = per_row(default=None)
    # n x p: what cells are, as `State`s; other values stand in for those that are not usual
    states: States | None = per_row(default=None)
    codecs: Mapping[str, Codec] = field(default_factory=dict)  # how values are written, by player

    def __len__(self) -> int:
        return len(self.values)

    def matched(self, columns: Sequence[str], name: str) -> Table:
        """The same rows with their columns in this order; they must be these."""
        found = self.columns or ()
        lacking = [column for column in columns if column not in found]
        extra = [column for column in found if column not in columns]
        if lacking or extra:
            raise ValueError(
                f"`{name}` must have the columns {_shorten(columns)}; "
                f"missing: {_shorten(lacking)}, unexpected: {_shorten(extra)}."
            )
        values = self.values[:, [found.index(column) for column in columns]]
        return replace(self, values=values, columns=tuple(columns))


def read_table(
    X: Any,
    *,
    name: str = "X",
    columns: Sequence[str] | None = None,
    n_columns: int | None = None,
) -> Table:
    """Read rows from an array or a DataFrame; a `Table` is one already.

    A DataFrame's columns are matched with `columns` by name, whatever their order; an array's, and
    those of a DataFrame where only the number of columns is known, by position.
    """
    if isinstance(X, Table):
        table = X
    elif hasattr(X, "columns") and hasattr(X, "to_numpy"):
        table = _read_frame(X, name)
    else:
        table = Table(X)
    if columns is not None and table.columns is not None:
        table = table.matched(columns, name)
    width = n_columns if columns is None else len(columns)
    values = check_rows(table.values, width, name=name, columns=table.columns or columns)
    return replace(table, values=values)


def _read_frame(X: Any, name: str) -> Table:
    found = tuple(str(column) for column in X.columns)
    if len(set(found)) < len(found):
        repeated = sorted({column for column in found if found.count(column) > 1})
        raise ValueError(f"`{name}` must have distinct column names, got {repeated} repeatedly.")
    for column in X.columns:
        dtype = X[column].dtype
        kind = getattr(dtype, "kind", None) or np.asarray(X[column]).dtype.kind
        if kind not in "fiub":
            raise TypeError(
                f"`{name}` must hold numbers, got dtype {dtype} in column {str(column)!r}. Encode "
                "text and categories first (one-hot columns can be grouped into one player with "
                "`Domain(players=...)`)."
            )
    # pandas marks a missing number of its own types with an object that is no number.
    missing = {"na_value": np.nan, "dtype": np.float64} if hasattr(X, "index") else {}
    values = np.asarray(X.to_numpy(**missing), dtype=np.float64)
    return Table(values, found, tuple(X.index) if hasattr(X, "index") else None)


def _shorten(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    rest = len(names) - most
    return f"[{shown}, … {rest} more]" if rest > 0 else f"[{shown}]"
