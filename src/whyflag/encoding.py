"""From the columns of a table to numbers: text becomes one-hot columns, gaps are found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pandas as pd

from whyflag.arrays import BoolVector
from whyflag.records import select_rows
from whyflag.table import Table

MOST_CATEGORIES = 50
MISSING = ("error", "drop", "median")
GAP = "no value"


class MissingValuesError(ValueError):
    """There are missing values, and it was not said what to do about them."""


class TooManyCategoriesError(ValueError):
    """A column of texts has more different ones than categories have."""


@final
@dataclass(frozen=True)
class Encoded:
    """A table as numbers."""

    rows: Table  # with what people should see of unknown categories and gaps
    kept: BoolVector  # which rows of the table these are
    notes: tuple[str, ...]  # what was noticed, in sentences


@final
@dataclass(frozen=True)
class Encoding:
    """What becomes of each column of a table.

    A column of numbers stays one; a column of text, or one that is named as categorical, becomes
    one 0/1 column for each of its categories, all of them one player.

    Attributes:
        categories: The categories of each column, in their order; none for numbers.
        typical: What stands in for a missing value: the median, or the most frequent category.
        id_column: A column that names the rows, if there is one.
    """

    categories: Mapping[str, tuple[str, ...]]
    typical: Mapping[str, float | str]
    id_column: str | None = None

    @classmethod
    def of(
        cls,
        table: pd.DataFrame,
        *,
        columns: Sequence[str] = (),
        categorical: Sequence[str] = (),
        id_column: str | None = None,
        where: str = "the table",
    ) -> Encoding:
        """Read off a table of normal rows what its columns are.

        Args:
            table: Normal rows.
            columns: The columns that count; all but the id if none are named.
            categorical: Columns whose numbers are names of categories.
            id_column: A column that names the rows.
            where: What the table is called in messages.
        """
        named = [*columns, *categorical, *([id_column] if id_column else [])]
        _refuse_unknown(named, table, where)
        chosen = list(columns) or [name for name in table.columns if name != id_column]
        if id_column in chosen:
            raise ValueError(f"Column {id_column!r} names the rows, so it can not count as well.")
        chosen += [name for name in categorical if name not in chosen]
        categories: dict[str, tuple[str, ...]] = {}
        typical: dict[str, float | str] = {}
        for name in chosen:
            column = table[name]
            if column.isna().all():
                raise ValueError(f"Column {name!r} of {where} has no value at all.")
            if name in categorical or not _numeric(column):
                texts = _texts(column.dropna())
                counts = texts.value_counts(sort=True)
                if len(counts) > MOST_CATEGORIES:
                    raise TooManyCategoriesError(
                        f"Column {name!r} of {where} has {len(counts)} different texts, such as "
                        f"{counts.index[0]!r}: too many for categories ({MOST_CATEGORIES} at "
                        "most). If it names the rows, say that it is the id column; else leave it "
                        "out by naming the columns that count."
                    )
                categories[name] = tuple(sorted(counts.index))
                typical[name] = str(counts.index[0])
            else:
                categories[name] = ()
                typical[name] = float(column.median())
        return cls(categories, typical, id_column)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that count."""
        return tuple(self.categories)

    @property
    def encoded_columns(self) -> tuple[str, ...]:
        """The columns of numbers that they become."""
        return tuple(
            encoded for name, known in self.categories.items() for encoded in _encoded(name, known)
        )

    @property
    def players(self) -> dict[str, list[str]]:
        """The one-hot columns of each category, by the name of the column."""
        return {name: _encoded(name, known) for name, known in self.categories.items() if known}

    def encode(self, table: pd.DataFrame, *, missing: str = "error", where: str = "X") -> Encoded:
        """Turn a table into numbers; columns are matched by name.

        Args:
            table: Rows, named by their index.
            missing: What to do about missing values: "error", "drop" the rows, or "median".
            where: What the table is called in messages.
        """
        if missing not in MISSING:
            raise ValueError(f"`missing` must be one of {', '.join(MISSING)}, got {missing!r}.")
        known_names = [*self.columns, *([self.id_column] if self.id_column else [])]
        _refuse_unknown(known_names, table, where)
        notes = []
        extra = [name for name in table.columns if name not in known_names]
        if extra:
            notes.append(f"{where}: not in the model, so left aside: {_listed(extra)}.")
        if [name for name in table.columns if name in self.categories] != list(self.columns):
            notes.append(f"{where}: columns stand in another order; they are matched by name.")
        parts, gaps = [], np.zeros(len(table), dtype=bool)
        shown: list[dict[str, str]] = [{} for _ in range(len(table))]
        for name, known in self.categories.items():
            numbers = None if known else _numbers(table[name], where)
            gap = table[name].isna().to_numpy() if numbers is None else ~np.isfinite(numbers)
            if gap.any() and missing == "error":
                raise MissingValuesError(_first_gap(name, table, gap, where))
            gaps |= gap
            for i in np.flatnonzero(gap):
                shown[i][name] = GAP
            if numbers is not None:
                parts.append(np.where(gap, self.typical[name], numbers)[:, None])  # n x 1
                continue
            texts = _texts(table[name]).where(~gap, self.typical[name]).to_numpy()
            one_hot = texts[:, None] == np.array(known, dtype=object)  # n x categories
            parts.append(one_hot.astype(np.float64))
            new = np.flatnonzero(~one_hot.any(axis=1))
            if len(new):
                for i in new:
                    shown[i][name] = f"{texts[i]} (not seen before)"
                listed = _listed(sorted({str(text) for text in texts[new]}))
                notes.append(f"{where}: not seen before in {name!r}: {listed}.")
        kept = ~gaps if missing == "drop" else np.ones(len(table), dtype=bool)
        if gaps.any():
            done = "left out" if missing == "drop" else "filled with typical values"
            notes.append(f"{where}: rows with missing values {done}: {int(gaps.sum())}.")
        index = table.index if self.id_column is None else table[self.id_column]
        rows = Table(np.hstack(parts), self.encoded_columns, tuple(index), tuple(shown))
        return Encoded(select_rows(rows, np.flatnonzero(kept)), kept, tuple(notes))

    def to_json(self) -> dict[str, Any]:
        """The encoding as JSON would have it."""
        return {
            "categories": {name: list(known) for name, known in self.categories.items()},
            "typical": dict(self.typical),
            "id": self.id_column,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Encoding:
        """An encoding that `to_json` wrote."""
        categories = {name: tuple(known) for name, known in content["categories"].items()}
        return cls(categories, dict(content["typical"]), content["id"])


def _numeric(column: pd.Series[Any]) -> bool:
    return column.dtype.kind in "fiub" if hasattr(column.dtype, "kind") else False


def _texts(column: pd.Series[Any]) -> pd.Series[Any]:
    """Categories as texts: 3.0 and 3 are the same."""
    if _numeric(column) and column.dtype.kind == "f":
        return column.map(lambda value: f"{value:.15g}")
    return column.astype(str)


def _encoded(name: str, known: Sequence[str]) -> list[str]:
    return [f"{name}={category}" for category in known] or [name]


def _numbers(column: pd.Series[Any], where: str) -> np.ndarray:
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    wrong = np.isnan(numbers) & column.notna().to_numpy()
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"{where}: column {column.name!r} held numbers when the model was fitted, got "
            f"{column.iloc[row]!r} in row {column.index[row]}."
        )
    return numbers


def _first_gap(name: str, table: pd.DataFrame, gap: BoolVector, where: str) -> str:
    row = table.index[int(np.argmax(gap))]
    others = int(gap.sum()) - 1
    more = f" (and in {others} more rows)" if others else ""
    return (
        f"{where}: no value in row {row}, column {name!r}{more}. Such rows can be left out, or "
        "filled with typical values."
    )


def _refuse_unknown(names: Iterable[str], table: pd.DataFrame, where: str) -> None:
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise ValueError(
            f"{where} has no column {_listed(missing)}; it has {_listed(list(table.columns))}."
        )


def _listed(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(repr(str(name)) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
