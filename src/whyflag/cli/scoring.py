"""Rows of a file with their scores, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from tqdm.auto import tqdm

from whyflag.arrays import BoolVector, Matrix, Vector
from whyflag.cli.console import say
from whyflag.files.reading import name_of, read_chunks
from whyflag.model import Model
from whyflag.score import evaluate


@final
@dataclass(frozen=True)
class Scored:
    """Some rows of a file."""

    values: Matrix  # n x d, encoded
    scores: Vector  # n
    flagged: BoolVector  # n
    numbers: tuple[int, ...]  # of the rows in the file, from 1
    names: tuple[Any, ...] | None  # what the id column calls them

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, chosen: Any) -> Scored:
        at = np.arange(len(self))[chosen]
        return Scored(
            self.values[at],
            self.scores[at],
            self.flagged[at],
            tuple(self.numbers[i] for i in at),
            None if self.names is None else tuple(self.names[i] for i in at),
        )

    @property
    def row_names(self) -> tuple[Any, ...]:
        """What the rows are called: by the id column, or else by their numbers."""
        return self.numbers if self.names is None else self.names

    def record(self, i: int) -> dict[str, Any]:
        """What a table says of a row."""
        name = {} if self.names is None else {"id": str(self.names[i])}
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
        unseen: Categories that the model does not know, by name of the row and of the column.
    """

    def __init__(self, model: Model, rows: str, *, missing: str, only_flagged: bool) -> None:
        self.model = model
        self.name = name_of(rows)
        self.n_rows = self.n_flagged = 0
        self.unseen: dict[tuple[Any, str], str] = {}
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
        ids = self.model.encoding.id_column
        # Shown only in a terminal, and only if it takes more than two seconds.
        with tqdm(desc=self.name, unit="row", delay=2, disable=None) as bar:
            for chunk in read_chunks(self._rows):
                encoded = self.model.encoding.encode(chunk, missing=self._missing, where=self.name)
                for note in encoded.notes:
                    if note not in told:
                        say(note)
                        told.add(note)
                bar.update(len(chunk))
                kept = chunk[encoded.kept]
                if not len(kept):
                    continue
                scores = evaluate(score, encoded.values)
                part = Scored(
                    encoded.values,
                    scores,
                    scores > self.model.threshold,
                    tuple(kept.index.tolist()),
                    None if ids is None else tuple(kept[ids].tolist()),
                )
                for (row, column), text in encoded.unseen.items():
                    self.unseen[row if ids is None else chunk[ids][row], column] = text
                self.n_rows += len(part)
                self.n_flagged += int(part.flagged.sum())
                chosen = part[part.flagged] if self._only_flagged else part
                if len(chosen):
                    yield chosen


def highest(parts: Sequence[Scored], most: int) -> Scored:
    """The rows with the highest scores, from the highest."""
    whole = Scored(
        np.vstack([part.values for part in parts]),
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.flagged for part in parts]),
        tuple(number for part in parts for number in part.numbers),
        None
        if parts[0].names is None
        else tuple(name for part in parts for name in part.names or ()),
    )
    return whole[np.argsort(-whole.scores, kind="stable")[:most]]
