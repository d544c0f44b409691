"""Rows of a file with their scores, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, final

import numpy as np

from whyflag.arrays import BoolVector, IntVector, Vector
from whyflag.cli.console import Notes
from whyflag.drift import Drift, DriftWatch
from whyflag.model import Model
from whyflag.records import join_rows, per_row, select_rows
from whyflag.table import Table
from whyflag.table.reading import name_of, read_sheets
from whyflag.table.schema import Schema, listed
from whyflag.table.sheet import Sheet, texts_of
from whyflag.table.told import NOTHING, Told


@final
@dataclass(frozen=True)
class Scored:
    """Some rows of a file."""

    rows: Table = per_row()
    scores: Vector = per_row()  # n
    severity: Vector = per_row()  # n
    flagged: BoolVector = per_row()  # n
    numbers: IntVector = per_row()  # of the rows in the file, from 1
    named: bool = False  # whether an id column names them
    cells: tuple[Mapping[str, str], ...] | None = per_row(default=None)  # n: all of each row

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def columns(self) -> dict[str, Any]:
        """What a table says of the rows, by its columns."""
        names = {"id": [str(name) for name in self.rows.index or ()]} if self.named else {}
        told = {"score": self.scores, "severity": self.severity, "flagged": self.flagged}
        return {"row": self.numbers, **names, **told}

    def records(self) -> list[dict[str, Any]]:
        """The same, row by row."""
        lists = {name: np.asarray(each).tolist() for name, each in self.columns.items()}
        return [
            dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)
        ]


@final
class ScoredFile:
    """A file of rows, scored as it is read.

    Args:
        model: The model.
        rows: The file, or - for standard input.
        only_flagged: Whether to leave out rows that raise no alarm.
        shown: Whether people see the cells.
        most: Of each part of the file, the rows with the highest scores, at most so many.
        query: What a database is asked.
        told: How the file is written; where nothing is told, as that of the model was.
        redact: Columns, or patterns, whose values are shown nowhere.

    Attributes:
        n_rows: Rows read so far.
        n_flagged: Those among them that raise an alarm.
    """

    def __init__(
        self,
        model: Model,
        rows: str,
        *,
        only_flagged: bool,
        shown: bool = False,
        most: int | None = None,
        query: str | None = None,
        told: Told = NOTHING,
        redact: Sequence[str] | None = None,
    ) -> None:
        self.model = model
        self.name = name_of(rows)
        self.n_rows = self.n_flagged = 0
        self._rows, self._only_flagged, self._shown, self._most = rows, only_flagged, shown, most
        self._query, self._redact = query, redact or ()
        self._told = told.over(model.told)
        self._watch: DriftWatch | None = None

    @property
    def drift(self) -> Drift | None:
        """Whether what is normal seems to have changed, by the rows read so far."""
        return None if self._watch is None else self._watch.found()

    @property
    def columns(self) -> dict[str, type]:
        """The columns of a table of its rows, as in `Scored.columns`."""
        name = {} if self.model.schema.id_column is None else {"id": str}
        return {"row": int, **name, "score": float, "severity": float, "flagged": bool}

    def __iter__(self) -> Iterator[Scored]:
        schema = self.model.schema
        sheets = read_sheets(
            self._rows,
            expected=schema.needed,
            numbers=schema.plain_numbers,
            others=self._most is not None,
            query=self._query,
            told=self._told,
        )
        watch, said = DriftWatch(self.model.normal, self.model.domain), False
        self._watch = watch
        with Notes() as notes:
            for sheet in sheets:
                if self._redact and not self.model.schema.redacted:
                    schema = self._redacting(sheet)
                encoded = self.model.read(sheet, where=self.name)
                notes.tell(encoded.notes)
                scores = self.model.score(encoded.rows)
                flagged = scores > self.model.threshold
                self.n_rows += len(sheet)
                self.n_flagged += int(flagged.sum())
                added = encoded.rows.added
                watch.see(encoded.rows.values, None if added is None else added > 0, flagged)
                if not said and (drift := watch.found()):
                    notes.tell([f"{self.name}: {drift}"])
                    said = True
                chosen = np.flatnonzero(flagged | (not self._only_flagged))
                if self._most is not None:
                    # In the order of the file: rows and their cells are taken by the same places.
                    best = np.argsort(-scores[chosen], kind="stable")[: self._most]
                    chosen = np.sort(chosen[best])
                if not len(chosen):
                    continue
                part = Scored(
                    encoded.rows,
                    scores,
                    self.model.calibration.severity(scores),
                    flagged,
                    sheet.numbers,
                    schema.id_column is not None,
                )
                part = select_rows(part, chosen) if len(chosen) < len(part) else part
                if self._shown:
                    some = sheet.take(chosen)
                    part = replace(part, rows=replace(part.rows, shown=schema.shown(some)))
                    if self._most is not None:  # a page, which has room for whole rows
                        part = replace(part, cells=_cells(some))
                yield part

    def _redacting(self, sheet: Sheet) -> Schema:
        """The schema, now that it is known which columns there are to be redacted."""
        named = {
            pattern: [name for name in sheet.columns if fnmatchcase(name, pattern)]
            + [name for name in sheet.columns if name == pattern]
            for pattern in self._redact
        }
        if lacking := [pattern for pattern, found in named.items() if not found]:
            raise ValueError(
                f"{self.name} has no column {listed(lacking)} to redact; it has "
                f"{listed(sheet.columns)}."
            )
        redacted = frozenset(name for found in named.values() for name in found)
        schema = replace(self.model.schema, redacted=redacted)
        self.model = replace(self.model, schema=schema)
        return schema


def highest(parts: Sequence[Scored], most: int) -> Scored:
    """The rows with the highest scores, from the highest."""
    whole = join_rows(parts)
    return select_rows(whole, np.argsort(-whole.scores, kind="stable")[:most])


def _cells(sheet: Sheet) -> tuple[Mapping[str, str], ...]:
    """All cells of each row."""
    columns = {name: texts_of(cells) for name, cells in sheet.cells.items()}
    return tuple(
        {name: str(texts[i]) for name, texts in columns.items()} for i in range(len(sheet))
    )
