"""Rows of a file with their scores, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from tqdm.auto import tqdm

from whyflag.arrays import BoolVector, Vector
from whyflag.cli.console import say
from whyflag.files.reading import name_of, read_chunks
from whyflag.model import Model
from whyflag.records import join_rows, per_row, select_rows
from whyflag.score import evaluate
from whyflag.table import Table


@final
@dataclass(frozen=True)
class Scored:
    """Some rows of a file."""

    rows: Table = per_row()
    scores: Vector = per_row()  # n
    flagged: BoolVector = per_row()  # n
    numbers: tuple[int, ...] = per_row()  # of the rows in the file, from 1
    named: bool = False  # whether an id column names them

    def __len__(self) -> int:
        return len(self.rows)

    def record(self, i: int) -> dict[str, Any]:
        """What a table says of a row."""
        name = {"id": str((self.rows.index or ())[i])} if self.named else {}
        score, flagged = float(self.scores[i]), bool(self.flagged[i])
        return {"row": self.numbers[i], **name, "score": score, "flagged": flagged}


@final
class ScoredFile:
    """A file of rows, scored as it is read.

    Args:
        model: The model.
        rows: The file, or - for standard input.
        missing: What to do about missing values.
        only_flagged: Whether to leave out rows that raise no alarm.

    Attributes:
        n_rows: Rows read so far.
        n_flagged: Those among them that raise an alarm.
    """

    def __init__(self, model: Model, rows: str, *, missing: str, only_flagged: bool) -> None:
        self.model = model
        self.name = name_of(rows)
        self.n_rows = self.n_flagged = 0
        self._rows, self._missing, self._only_flagged = rows, missing, only_flagged

    @property
    def n_chosen(self) -> int:
        """Rows read so far that were not left out."""
        return self.n_flagged if self._only_flagged else self.n_rows

    @property
    def columns(self) -> dict[str, type]:
        """The columns of a table of its rows, as in `Scored.record`."""
        name = {} if self.model.encoding.id_column is None else {"id": str}
        return {"row": int, **name, "score": float, "flagged": bool}

    def __iter__(self) -> Iterator[Scored]:
        told: set[str] = set()
        score = self.model.detector.to_score()
        # Shown only in a terminal, and only if it takes more than two seconds.
        with tqdm(desc=self.name, unit="row", delay=2, disable=None) as bar:
            for chunk in read_chunks(self._rows):
                encoded = self.model.encoding.encode(chunk, missing=self._missing, where=self.name)
                for note in encoded.notes:
                    if note not in told:
                        say(note)
                        told.add(note)
                bar.update(len(chunk))
                if not len(encoded.rows):
                    continue
                scores = evaluate(score, encoded.rows.values)
                part = Scored(
                    encoded.rows,
                    scores,
                    scores > self.model.threshold,
                    tuple(chunk.index[encoded.kept].tolist()),
                    self.model.encoding.id_column is not None,
                )
                self.n_rows += len(part)
                self.n_flagged += int(part.flagged.sum())
                if self._only_flagged:
                    part = select_rows(part, np.flatnonzero(part.flagged))
                if len(part):
                    yield part


def highest(parts: Sequence[Scored], most: int) -> Scored:
    """The rows with the highest scores, from the highest."""
    whole = join_rows(parts)
    return select_rows(whole, np.argsort(-whole.scores, kind="stable")[:most])
