"""Array types, and the checks that rows pass once, at the boundary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Tensor = NDArray[np.float64]
BoolVector = NDArray[np.bool_]
BoolMatrix = NDArray[np.bool_]
IntVector = NDArray[np.int64]
Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True)
class Table:
    """Rows as numbers, with the names that a DataFrame gave them."""

    values: Matrix  # n x d
    columns: tuple[str, ...] | None
    index: tuple[Any, ...] | None


def read_table(
    X: Any,
    *,
    name: str = "X",
    columns: Sequence[str] | None = None,
    n_columns: int | None = None,
) -> Table:
    """Read rows from an array or a DataFrame.

    A DataFrame's columns are matched with `columns` by name, whatever their order; an array's, and
    those of a DataFrame where only the number of columns is known, by position.
    """
    width = n_columns if columns is None else len(columns)
    if not hasattr(X, "columns") or not hasattr(X, "to_numpy"):
        return Table(check_rows(X, width, name=name, columns=columns), None, None)

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
    if columns is not None:
        lacking = [column for column in columns if column not in found]
        extra = [column for column in found if column not in columns]
        if lacking or extra:
            raise ValueError(
                f"`{name}` must have the columns {_shorten(columns)}; "
                f"missing: {_shorten(lacking)}, unexpected: {_shorten(extra)}."
            )
        values = values[:, [found.index(column) for column in columns]]
        found = tuple(columns)
    index = tuple(X.index) if hasattr(X, "index") else None
    return Table(check_rows(values, width, name=name, columns=found), found, index)


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
        # Row by row, so that rounding does not depend on how the caller keeps its rows.
        if np.iscomplexobj(X):
            raise TypeError("complex numbers have no order")
        rows = np.asarray(X, dtype=np.float64, order="C")
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


def pick(array: NDArray[Scalar], which: IntVector | slice) -> NDArray[Scalar]:
    """Some rows of an array that is laid out column by column, laid out in the same way."""
    return array[which] if isinstance(which, slice) else np.take(array.T, which, axis=-1).T


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
