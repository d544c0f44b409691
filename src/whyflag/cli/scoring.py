"""Rows of a file with their scores, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from tqdm.auto import tqdm

from whyflag.arrays import BoolVector, Matrix, Vector
from whyflag.cli.console import say
from whyflag.files import read_chunks
from whyflag.files.reading import name_of
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


def score_file(model: Model, rows: str, missing: str) -> Iterator[Scored]:
    """Score a file, telling on the way what is to be noticed, once."""
    name, told = name_of(rows), set()
    score = model.detector.to_score()
    # Shown only in a terminal, and only if it takes more than two seconds.
    with tqdm(desc=name, unit="row", delay=2, disable=None) as bar:
        for chunk in read_chunks(rows):
            encoded = model.encoding.encode(chunk, missing=missing, where=name)
            for note in encoded.notes:
                if note not in told:
                    say(note)
                    told.add(note)
            kept = chunk[encoded.kept]
            if len(kept):
                scores = evaluate(score, encoded.values)
                ids = model.encoding.id_column
                yield Scored(
                    encoded.values,
                    scores,
                    scores > model.threshold,
                    tuple((kept.index + 1).tolist()),
                    None if ids is None else tuple(kept[ids].tolist()),
                )
            bar.update(len(chunk))


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
