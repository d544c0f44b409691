"""What the columns of a table mean, learnt once; tables are read by it ever after."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any, final

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector
from whyflag.records import per_row
from whyflag.table.codec import Codec, State, States, redacted
from whyflag.table.codecs import codec_from_json, codec_to_json
from whyflag.table.column import Column
from whyflag.table.numbers import Numbers
from whyflag.table.rows import Table
from whyflag.table.sheet import Sheet, texts_of
from whyflag.table.told import Assumed

MOST_NAMED = 3  # cells of a column that a note names


@final
@dataclass(frozen=True)
class Encoded:
    """A table as numbers."""

    rows: Table = per_row()
    foreign: BoolMatrix = per_row()  # n x columns: cells of a kind that normal rows have not
    notes: tuple[str, ...] = ()  # what was noticed, in sentences


@final
@dataclass(frozen=True)
class Schema:
    """What the columns of a table mean: learnt from normal rows, and kept with the model.

    Attributes:
        columns: The columns that count.
        id_column: The column that names the rows, if there is one.
        left_out: Columns that do not count, and why.
        assumed: What was taken for granted when it was learnt, in sentences.
        redacted: Columns whose values are shown to nobody; this is not kept with a model.
    """

    columns: tuple[Column, ...]
    id_column: str | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    assumed: tuple[str, ...] = field(default=(), compare=False)
    redacted: frozenset[str] = field(default=frozenset(), compare=False)

    @classmethod
    def of(
        cls,
        table: Any,
        *,
        columns: Sequence[str] = (),
        exclude: Sequence[str] = (),
        types: Mapping[str, str] | None = None,
        id_column: str | None = None,
        rare: float = 0.01,
        where: str = "the table",
    ) -> Schema:
        """Learn from a table of normal rows what its columns mean.

        Args:
            table: Normal rows: a DataFrame of pandas or polars, or a table of pyarrow.
            columns: The columns that count, by name or pattern ("sensor*"); all that can be read
                if none are named.
            exclude: Columns that do not count, by name or pattern.
            types: What a column is, by its name, where that is not to be learnt: "number",
                "category", "time" or "id"; "number:.,": thousands have a point, decimals a comma;
                "time:%d/%m/%Y".
            id_column: The column that names the rows.
            rare: The part of normal rows that may be alarms. Gaps, and whatever else a column
                does not usually hold, are foreign if fewer rows than this have any.
            where: What the table is called in messages.
        """
        from whyflag.table.learning import learn

        return learn(
            Sheet.of(table),
            columns=columns,
            exclude=exclude,
            types=types or {},
            id_column=id_column,
            rare=rare,
            where=where,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns that count."""
        return tuple(column.name for column in self.columns)

    @property
    def needed(self) -> tuple[str, ...]:
        """The names of all columns that are read."""
        named = () if self.id_column in (None, *self.names) else (self.id_column,)
        return (*named, *self.names)

    @property
    def plain_numbers(self) -> frozenset[str]:
        """Columns of numbers that are written as programs write them."""
        return frozenset(
            each.name
            for each in self.columns
            if isinstance(each.codec, Numbers)
            and each.codec.form.is_plain
            and each.name != self.id_column
        )

    @property
    def encoded_columns(self) -> tuple[str, ...]:
        """The columns of numbers that they become."""
        return tuple(name for encoded in self._encoded for name in encoded)

    @cached_property
    def _encoded(self) -> list[list[str]]:
        """The columns of numbers of each column, no two of one name.

        Beside a category "color" with the value red there may be a column "color=red", which keeps
        its name.
        """
        taken, found = set(self.names), []
        for each in self.columns:
            encoded = each.codec.encoded(each.name)
            if encoded != [each.name]:
                encoded = [_free(name, taken) for name in encoded]
                taken.update(encoded)
            found.append(encoded)
        return found

    @property
    def membership(self) -> BoolMatrix:
        """Which columns of numbers each column becomes, bool (p, d)."""
        widths = [len(encoded) for encoded in self._encoded]
        return np.repeat(np.eye(len(widths), dtype=np.bool_), widths, axis=1)

    @property
    def players(self) -> dict[str, list[str]]:
        """The columns of numbers of each column that becomes others than itself, by its name."""
        return {
            each.name: encoded
            for each, encoded in zip(self.columns, self._encoded, strict=True)
            if encoded != [each.name]
        }

    @property
    def categories(self) -> dict[str, tuple[str, ...]]:
        """The names of the 0/1 columns of each category."""
        return {each.name: found for each in self.columns if (found := each.codec.categories)}

    @property
    def written(self) -> dict[str, Codec]:
        """The columns whose values are written otherwise than as plain numbers or categories."""
        plain = self.plain_numbers
        return {
            each.name: each.codec
            for each in self.columns
            if not each.codec.categories and each.name not in plain
        }

    def encode(self, table: Any, *, where: str = "X") -> Encoded:
        """Turn a table into numbers; columns are matched by name.

        Args:
            table: Rows.
            where: What the table is called in messages.
        """
        sheet = Sheet.of(table)
        self._refuse_lacking(sheet, where)
        known = {*self.needed, *self.left_out}
        notes: list[str] = [Assumed.of(note, where) for note in sheet.notes]
        if extra := [name for name in sheet.columns if name not in known]:
            notes.append(f"{where}: not in the model, so left aside: {listed(extra)}.")
        if self.id_column is not None and self.id_column not in sheet.cells:
            notes.append(
                f"{where}: there is no column {self.id_column!r}, so rows go by their numbers."
            )
        parts, states = [], np.zeros((len(sheet), len(self.columns)), dtype=np.int8)
        foreign = np.zeros(states.shape, dtype=np.bool_)
        for j, column in enumerate(self.columns):
            cells = sheet.cells[column.name]
            read = column.codec.read(cells)
            parts.append(read.values)
            states[:, j] = read.states
            foreign[:, j] = column.foreign_among(cells, read.states)
            notes += self._odd(column, sheet, read.states, foreign[:, j], where)
            if said := column.codec.remark(cells):
                notes.append(f"{where}: {column.name!r}: {said}.")
        rows = Table(
            np.hstack(parts),
            self.encoded_columns,
            self._names_of(sheet),
            states=states,
            codecs=self.written,
            redacted=self.redacted,
        )
        return Encoded(rows, foreign, tuple(notes))

    def shown(self, table: Any) -> tuple[dict[str, str], ...]:
        """What people should see of the cells of each row, by the name of the column."""
        sheet = Sheet.of(table)
        said: list[dict[str, str]] = [{} for _ in range(len(sheet))]
        for column in self.columns:
            cells = sheet.cells[column.name]
            states = column.codec.read(cells).states
            for row, text, state in zip(said, texts_of(cells), states, strict=True):
                row[column.name] = self._shown(column, text, State(state))
        return tuple(said)

    def _shown(self, column: Column, text: str, state: State) -> str:
        return redacted(state) if column.name in self.redacted else column.codec.shown(text, state)

    def to_json(self) -> dict[str, Any]:
        """The schema as JSON would have it."""
        return {
            "columns": [
                {
                    "name": each.name,
                    "usual": sorted(each.usual),
                    "words": sorted(each.words),
                    "codec": codec_to_json(each.codec),
                }
                for each in self.columns
            ],
            "id": self.id_column,
            "left out": dict(self.left_out),
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Schema:
        """A schema that `to_json` wrote."""
        columns = [
            Column(
                each["name"],
                codec_from_json(each["codec"]),
                frozenset(map(State, each["usual"])),
                frozenset(each.get("words", ())),
            )
            for each in content["columns"]
        ]
        schema = cls(tuple(columns), content["id"], dict(content["left out"]))
        schema._try()
        return schema

    def _try(self) -> None:
        """Read some cells, so that what does not fit together shows itself now."""
        cells = np.array(["", "1", "-1e99", "x", "2024-01-01"], dtype=object)
        sheet = Sheet({str(name): cells for name in self.needed}, np.arange(1, len(cells) + 1))
        rows = self.encode(sheet).rows.values
        if not np.isfinite(rows).all():
            raise ValueError("a column stands for numbers that are none")
        begin = 0
        for column, said in zip(self.columns, self.shown(sheet)[0].values(), strict=True):
            end = begin + len(column.codec.encoded(column.name))
            if not isinstance(said, str) or not isinstance(
                column.codec.write(rows[0, begin:end]), str
            ):
                raise ValueError(f"what stands for column {column.name!r} can not be written")
            begin = end

    def _names_of(self, sheet: Sheet) -> tuple[Any, ...]:
        named = sheet.cells.get(self.id_column or "")
        if named is not None and self.id_column not in self.redacted:
            return tuple(texts_of(named).tolist())
        return tuple(sheet.numbers.tolist()) if sheet.index is None else sheet.index

    def _refuse_lacking(self, sheet: Sheet, where: str) -> None:
        lacking = [name for name in self.names if name not in sheet.cells]
        if lacking:
            raise ValueError(
                f"{where} has no column {listed(lacking)}; it has {listed(sheet.columns)}."
            )

    def _odd(
        self, column: Column, sheet: Sheet, states: States, foreign: BoolVector, where: str
    ) -> list[str]:
        """What is odd in a column, in a sentence for each kind of cell; foreign cells first."""
        notes = []
        for state in (State.UNREADABLE, State.FAR, State.NEW, State.NEGATIVE):
            rows = np.flatnonzero(states == state)
            if not len(rows):
                continue
            rows = rows[np.argsort(~foreign[rows], kind="stable")]
            cells = texts_of(sheet.cells[column.name][rows])
            said = dict.fromkeys(self._shown(column, text, state) for text in cells[:1000])
            places = ", ".join(sheet.place(i) for i in rows[:MOST_NAMED])
            more = f" and {len(rows) - MOST_NAMED} more" if len(rows) > MOST_NAMED else ""
            notes.append(
                f"{where}: {column.name!r}: {'; '.join([*said][:MOST_NAMED])} ({places}{more})."
            )
        return notes


def _free(name: str, taken: Collection[str]) -> str:
    """This name, or if it is taken the first of "name (2)", "name (3)", … that is not."""
    others = (f"{name} ({i})" for i in count(2))
    return name if name not in taken else next(each for each in others if each not in taken)


def listed(names: Collection[str], most: int = 8) -> str:
    """Names in a sentence."""
    shown = ", ".join(repr(str(name)) for name in list(names)[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
