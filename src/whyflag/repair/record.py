"""What would have been normal: repaired rows, checked by scoring them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntFlag
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any, final

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix, Vector
from whyflag.domain import Domain
from whyflag.records import per_row, positions, select_rows
from whyflag.repair.context import Context
from whyflag.table.codec import REDACTED, Codec, cell, is_hidden

if TYPE_CHECKING:
    import pandas as pd


@final
class Doubt(IntFlag):
    """What is to be known of a repair before it is used."""

    NONE = 0
    STILL_ALARMING = 1
    STILL_ODD = 2
    AT_THE_EDGE = 4
    NO_THRESHOLD = 8

    @property
    def sentences(self) -> tuple[str, ...]:
        """What people are told of it."""
        return tuple(_SENTENCES[doubt] for doubt in Doubt if doubt and doubt in self)


_SENTENCES = {
    Doubt.STILL_ALARMING: "No change that was tried ends the alarm: this is the best one found.",
    Doubt.STILL_ODD: "The repaired row is still unlike the normal rows.",
    Doubt.AT_THE_EDGE: "A repaired value is at the edge of what was seen among the normal rows.",
    Doubt.NO_THRESHOLD: "The detector has no threshold: normal is a score that 95 % of the normal "
    "rows do not exceed.",
}


@final
@dataclass(frozen=True)
class Alternative:
    """What a feature could be instead, and the score that the row would have."""

    feature: int
    values: tuple[float, ...]
    score: float


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Repair:
    """The smallest change of each row after which the detector raises no alarm, all else held.

    Rows that raise no alarm are left as they are. Of those that are unlike the normal rows all the
    same, `usual` has what would change that. Slices like the rows do.

    Attributes:
        rows: The repaired rows, (n, d). Values that are repaired are of their column's kind, and
            within its bounds; the others are those of the row.
        changed: Which features are repaired, (n, p).
        scores: The scores of the repaired rows, (n,).
        silenced: Whether the score is at or below the alarm, (n,).
        lower: The lowest value around each repaired one that raises no alarm, the rest of the
            repaired row held, (n, d). NaN where a column is not repaired, or nothing is silenced.
            Around each value of `usual`: the lowest one with which the row is like normal ones.
        upper: The highest one.
        choices: Of repaired categories all those that raise no alarm, by feature, n: as values of
            the feature's columns.
        alternatives: Other features that end the alarm by themselves, n.
        usual: Of rows that raise no alarm but are unlike the normal rows: what a few features would
            have to be so that they are like them, n. None of other rows, or where no few do.
        contexts: Which features make the first repaired value odd, n; None where nothing is.
        doubts: What is to be known before a repair is used, as a `Doubt`, (n,).
        evaluations: Score evaluations spent on each row, (n,).
        data: The rows as they were, (n, d).
        before: Their scores, (n,).
        row_names: Their names, n.
        gaps: Which features had no value, so that another stands in, (n, p); None: none.
        alarm: The score to come down to.
        domain: The columns, features and kinds.
        codecs: How values are written, by feature, where that is not as plain numbers.
        redacted: Columns whose values `to_frame` does not show.
    """

    rows: Matrix = per_row()
    changed: BoolMatrix = per_row()
    scores: Vector = per_row()
    silenced: BoolVector = per_row()
    lower: Matrix = per_row()
    upper: Matrix = per_row()
    choices: tuple[Mapping[int, Matrix], ...] = per_row()
    alternatives: tuple[tuple[Alternative, ...], ...] = per_row()
    usual: tuple[tuple[Alternative, ...], ...] = per_row()
    contexts: tuple[Context | None, ...] = per_row()
    doubts: IntVector = per_row()
    evaluations: IntVector = per_row()
    data: Matrix = per_row()
    before: Vector = per_row()
    row_names: tuple[Any, ...] = per_row()
    gaps: BoolMatrix | None = per_row(default=None)
    alarm: float
    domain: Domain
    codecs: Mapping[str, Codec] = field(default_factory=dict)
    redacted: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: Any) -> Repair:
        return select_rows(self, positions(rows, len(self)))

    @cached_property
    def told(self) -> tuple[Matrix, BoolMatrix]:
        """What people are told would be normal: rows, (n, d), and the features that differ, (n, p).

        The repaired rows; of a row that raises no alarm, what would be like normal rows.
        """
        rows, changed = self.rows.copy(), self.changed.copy()
        for i, each in enumerate(self.usual):
            for other in each:
                rows[i, self.domain.membership[other.feature]] = other.values
                changed[i, other.feature] = True
        return rows, changed

    def __repr__(self) -> str:
        needed = int((self.before > self.alarm).sum())
        ended = int((self.silenced & (self.before > self.alarm)).sum())
        return f"Repair({len(self)} rows, {needed} with an alarm, which ends in {ended})"

    def to_frame(self) -> pd.DataFrame:
        """One line for each repaired feature: observed, normal, the range, and the scores."""
        import pandas as pd

        names = ("row", "feature", "observed", "normal", "lower", "upper", "score", "after")
        records = [
            (
                self.row_names[i],
                self.domain.player_names[j],
                self._observed(i, j),
                self._held(self.rows[i], j),
                self._held(self.lower[i], j),
                self._held(self.upper[i], j),
                self.before[i],
                self.scores[i],
                bool(self.silenced[i]),
            )
            for i, j in zip(*np.nonzero(self.changed), strict=True)
        ]
        return pd.DataFrame.from_records(records, columns=[*names, "silenced"])

    def _observed(self, i: int, feature: int) -> Any:
        is_gap = self.gaps is not None and self.gaps[i, feature]
        return np.nan if is_gap else self._held(self.data[i], feature)

    def _held(self, row: Vector, feature: int) -> Any:
        name = self.domain.player_names[feature]
        columns = self.domain.membership[feature]
        if is_hidden(self.redacted, name, compress(self.domain.columns, columns)):
            return REDACTED
        values = row[columns]
        return cell(values, self.codecs.get(name), self.domain.categories.get(name, ()))
