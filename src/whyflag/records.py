"""Records whose fields hold an entry for each row: fields say so themselves, in their metadata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from whyflag.arrays import IntVector

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    R = TypeVar("R", bound=DataclassInstance)


def per_row(**options: Any) -> Any:
    """A field of a dataclass with an entry for each row: an array, a tuple, a record, or None."""
    return field(metadata={"per_row": True}, **options)


def positions(rows: Any, n: int) -> IntVector:
    """Which of n rows are chosen: by a position, a slice, several positions, or bools."""
    if isinstance(rows, str):
        raise IndexError(f"Rows are chosen by position, got {rows!r}.")
    chosen = np.atleast_1d(np.arange(n)[rows])
    if chosen.ndim > 1:
        raise IndexError(f"Rows are chosen by positions or one bool for each, got {rows!r}.")
    return chosen


def select_rows(record: R, rows: IntVector) -> R:
    """The record of some rows."""
    return replace(
        record, **{name: _select(getattr(record, name), rows) for name in _names(record)}
    )


def join_rows(records: Sequence[R]) -> R:
    """Records of the same kind under one another; what is not per row is the first one's."""
    return replace(
        records[0],
        **{
            name: _join(name, [getattr(each, name) for each in records])
            for name in _names(records[0])
        },
    )


def _names(record: DataclassInstance) -> list[str]:
    return [each.name for each in fields(record) if each.metadata.get("per_row")]


def _select(value: Any, rows: IntVector) -> Any:
    if value is None:
        return None
    if is_dataclass(value) and not isinstance(value, type):
        return select_rows(value, rows)
    return tuple(value[i] for i in rows) if isinstance(value, tuple) else value[rows]


def _join(name: str, values: Sequence[Any]) -> Any:
    known = [value is not None for value in values]
    if not any(known):
        return None
    if not all(known):
        raise ValueError(f"Records can be joined if all have `{name}`, or none has.")
    if is_dataclass(values[0]) and not isinstance(values[0], type):
        return join_rows(values)
    if isinstance(values[0], tuple):
        return tuple(entry for value in values for entry in value)
    return np.concatenate(values)
