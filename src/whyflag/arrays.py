"""Array types, and the checks that rows pass once, at the boundary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Tensor = NDArray[np.float64]
FloatMatrix = NDArray[np.float32]
BoolVector = NDArray[np.bool_]
BoolMatrix = NDArray[np.bool_]
IntVector = NDArray[np.int64]
IntMatrix = NDArray[np.int64]
Scalar = TypeVar("Scalar", bound=np.generic)


def check_rows(
    X: ArrayLike,
    n_features: int | None = None,
    *,
    name: str = "X",
    columns: Sequence[str] | None = None,
    gaps: bool = False,
) -> Matrix:
    """Return `X` as a finite float64 matrix that is not empty, or say why it is none.

    With `gaps`, NaN is a value that is missing.
    """
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
    finite = ~np.isinf(rows) if gaps else np.isfinite(rows)
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


def evenly(n: int, most: int) -> IntVector:
    """Up to so many of n positions, evenly spread; the first and the last are among them."""
    return np.unique(np.linspace(0, n - 1, most).astype(int))


def check_coalitions(coalitions: Any, n_players: int) -> BoolMatrix:
    """Return `coalitions` as a bool matrix of shape (m, `n_players`), or say why they are none."""
    z = np.asarray(coalitions)
    if z.dtype != np.bool_ or z.ndim != 2 or z.shape[1] != n_players:
        raise ValueError(
            f"`coalitions` must be bool of shape (m, {n_players}), "
            f"got {z.dtype} of shape {z.shape}."
        )
    return z
