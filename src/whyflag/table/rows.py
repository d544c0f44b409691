"""Rows as numbers, read once, with their names and what people should see of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np

from whyflag.arrays import Matrix, check_rows
from whyflag.records import per_row
from whyflag.table.codec import Codec, States
from whyflag.table.holders import columns_of, in_hand, is_frame
from whyflag.table.number_texts import written_numbers
from whyflag.table.originals import Originals

MOST_TOLD = 8  # names of columns in a message


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
    originals: Originals | None = per_row(default=None)  # what these cells are, as they came
    codecs: Mapping[str, Codec] = field(default_factory=dict)  # how values are written, by player
    redacted: frozenset[str] = frozenset()  # columns whose values are shown to nobody

    def __len__(self) -> int:
        return len(self.values)

    def matched(self, columns: Sequence[str], name: str) -> Table:
        """The same rows with their columns in this order; they must be these."""
        found = self.columns or ()
        refuse_other_names(columns, found, name)
        values = self.values[:, [found.index(column) for column in columns]]
        return replace(self, values=values, columns=tuple(columns))


def read_table(
    X: Any,
    *,
    name: str = "X",
    columns: Sequence[str] | None = None,
    n_columns: int | None = None,
    gaps: bool = False,
) -> Table:
    """Read rows from an array, a sparse matrix or a DataFrame; a `Table` is one already.

    A DataFrame's columns are matched with `columns` by name, whatever their order; an array's, and
    those of a DataFrame where only the number of columns is known, by position. With `gaps`, values
    may be missing, as NaN.
    """
    if isinstance(X, Table):
        table = X
    else:
        X = in_hand(X, name)
        table = _read_frame(X, name) if is_frame(X) else Table(X)
    if columns is not None and table.columns is not None:
        table = table.matched(columns, name)
    width = n_columns if columns is None else len(columns)
    known = table.columns or columns
    values = check_rows(table.values, width, name=name, columns=known, gaps=gaps)
    return replace(table, values=values)


def _read_frame(X: Any, name: str) -> Table:
    columns, index = columns_of(X, name)
    written = written_numbers(X)
    for column, cells in columns.items():
        if column in written:
            continue
        kind = getattr(cells.dtype, "kind", "O")
        if kind not in "fiub":
            raise TypeError(
                f"`{name}` must hold numbers, got dtype {cells.dtype} in column {column!r}. Where "
                "a detector takes texts, an Explainer takes them too; else encode them first "
                "(one-hot columns can be grouped into one player with `Domain(players=...)`)."
            )
    # pandas marks a missing number of its own types with an object that is no number.
    values = [
        written[column] if column in written else cells.to_numpy(dtype=np.float64, na_value=np.nan)
        for column, cells in columns.items()
    ]
    return Table(np.column_stack(values) if values else np.zeros((0, 0)), tuple(columns), index)


def refuse_other_names(
    columns: Sequence[str], found: Sequence[str], name: str, *, only_lacking: bool = False
) -> None:
    """Refuse rows that lack some of these columns, or have others."""
    lacking = [column for column in columns if column not in found]
    extra = [column for column in found if column not in columns]
    if lacking or (extra and not only_lacking):
        raise ValueError(
            f"`{name}` must have the columns {_shorten(columns)}; "
            f"missing: {_shorten(lacking)}, unexpected: {_shorten(extra)}."
        )


def _shorten(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:MOST_TOLD])
    rest = len(names) - MOST_TOLD
    return f"[{shown}, … {rest} more]" if rest > 0 else f"[{shown}]"
