"""Array types, and the checks that rows pass once, at the boundary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Tensor = NDArray[np.float64]
BoolVector = NDArray[np.bool_]
BoolMatrix = NDArray[np.bool_]
IntVector = NDArray[np.int64]


@dataclass(frozen=True)
class Table:
    """Rows as numbers, with the names that a DataFrame gave them."""

    values: Matrix  # n x d
    columns: tuple[str, ...] | None
    index: tuple[Any, ...] | None


def read_table(
    X: Any, *, name: str = "X", columns: Sequence[str] | None = None, by_name: bool = True
) -> Table:
    """Read rows from an array or a DataFrame.

    With `columns`, a DataFrame's columns are matched by name, whatever their order (unless
    `by_name` is off: then, as with an array's, by position).
    """
    if not hasattr(X, "columns") or not hasattr(X, "to_numpy"):
        width = None if columns is None else len(columns)
        return Table(check_rows(X, width, name=name, columns=columns), None, None)

    found = tuple(str(column) for column in X.columns)
    if len(set(found)) < len(found):
        repeated = sorted({column for column in found if found.count(column) > 1})
        raise ValueError(f"`{name}` must have distinct column names, got {repeated} repeatedly.")
    order = list(range(len(found)))
    if columns is not None and by_name:
        missing = [column for column in columns if column not in found]
        extra = [column for column in found if column not in columns]
        if missing or extra:
            raise ValueError(
                f"`{name}` must have the columns {_shorten(columns)}; "
                f"missing: {_shorten(missing)}, unexpected: {_shorten(extra)}."
            )
        order = [found.index(column) for column in columns]
    for position in order:
        series = X[X.columns[position]]
        if not np.issubdtype(np.asarray(series).dtype, np.number) and series.dtype != bool:
            raise TypeError(
                f"`{name}` must hold numbers, got dtype {series.dtype} in column "
                f"{found[position]!r}. Encode text and categories first (one-hot columns can be "
                "grouped into one player with `Domain(players=...)`)."
            )
    names = tuple(found[position] for position in order)
    ordered = X[[X.columns[position] for position in order]]
    values = check_rows(ordered.to_numpy(dtype=np.float64), name=name, columns=names)
    index = tuple(X.index) if hasattr(X, "index") else None
    return Table(values, names, index)


def check_rows(
    X: ArrayLike,
    n_features: int | None = None,
    *,
    name: str = "X",
    columns: Sequence[str] | None = None,
) -> Matrix:
    """Return `X` as a finite float64 matrix that is not empty, or say why it is none."""
    width = "d" if n_features is None else str(n_features)
    try:
        rows = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"`{name}` must hold numbers in shape (n, {width}), got {type(X).__name__}: {error}"
        ) from None
    if rows.ndim != 2 or (n_features is not None and rows.shape[1] != n_features):
        hint = f" For a single row pass {name}[None, :]." if rows.ndim == 1 else ""
        raise ValueError(f"`{name}` must have shape (n, {width}), got {rows.shape}.{hint}")
    if rows.size == 0:
        raise ValueError(f"`{name}` must have at least one row and one column, got {rows.shape}.")
    finite = np.isfinite(rows)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        label = f"{column}" if columns is None else f"{column} ({columns[column]!r})"
        raise ValueError(
            f"`{name}` must be finite, got {rows[row, column]} at row {row}, column {label} "
            f"({int((~finite).sum())} such values in all)."
        )
    return rows


def check_coalitions(coalitions: Any, n_players: int) -> BoolMatrix:
    """Return `coalitions` as a bool matrix of shape (m, `n_players`), or say why they are none."""
    z = np.asarray(coalitions)
    if z.dtype != np.bool_ or z.ndim != 2 or z.shape[1] != n_players:
        raise ValueError(
            f"`coalitions` must be bool of shape (m, {n_players}), "
            f"got {z.dtype} of shape {z.shape}."
        )
    return z


def _shorten(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    rest = len(names) - most
    return f"[{shown}, … {rest} more]" if rest > 0 else f"[{shown}]"
