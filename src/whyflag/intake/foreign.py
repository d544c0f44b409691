"""Rows with cells that no normal row has, and what these add to the score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from whyflag.adapters.raw import Asked
from whyflag.arrays import BoolMatrix, BoolVector, IntMatrix, IntVector, Matrix, Vector, evenly
from whyflag.intake.asking import AsTheyCame, answer, asked_of_all
from whyflag.intake.normal import typical
from whyflag.score import Score, evaluate
from whyflag.score.answers import check_answer, rounding
from whyflag.score.base import usual_alarm
from whyflag.table.codec import State
from whyflag.table.holders import take
from whyflag.table.originals import Originals

if TYPE_CHECKING:
    from whyflag.table.frames import Frames

LOOKED_AT = 1000  # normal rows that tell the alarm, where the detector names no threshold


@final
@dataclass(frozen=True)
class Alarm:
    """What raises an alarm, and how much is far above it."""

    score: Score
    rows: Matrix | None

    @cached_property
    def surcharge(self) -> float:
        """As far again as from the most normal row to the alarm."""
        if self.rows is None:
            return 0.0
        some = evenly(len(self.rows), LOOKED_AT)
        scores = evaluate(self.score, self.rows[some])
        threshold = self.score.threshold
        alarm = usual_alarm(scores) if threshold is None else threshold
        return 2 * (alarm - float(scores.min())) or 1.0


@final
@dataclass(frozen=True)
class Foreign:
    """Rows that have cells of which numbers know nothing."""

    ask: Asked
    frames: Frames
    with_gaps: frozenset[str]  # columns in which normal rows have gaps
    score: Score
    values: Matrix  # n x d, typical values in the place of such cells
    X: Any  # n, as they came
    states: IntMatrix  # n x c

    @cached_property
    def asked(self) -> Vector:
        """What the detector says of the rows, (n,); NaN where it refuses one."""
        return asked_of_all(self.ask, self.X, len(self.values))

    @property
    def is_taken(self) -> BoolVector:
        """Whether the detector takes a row, (n,)."""
        return np.isfinite(self.asked)

    def originals(self, owner: BoolMatrix) -> Originals:
        """The cells of rows that the detector takes, as they came; `owner` says whose they are."""
        foreign = self.is_taken[:, None] & (self.states != State.USUAL)
        is_new = self.states == State.NEW
        return Originals(
            cells=self.frames.cells_at(self.X, foreign & ~is_new),
            told=self.frames.cells_at(self.X, foreign & is_new),
            players=dict(zip(self.frames.names, owner.argmax(axis=0).tolist(), strict=True)),
            ask=AsTheyCame(self.ask, self.frames),
        )

    def added(self, alarm: Alarm, names: Sequence[Any]) -> Matrix:
        """What each such cell adds to the score of its row: (n, c)."""
        foreign = self.states != State.USUAL
        asked = self.asked
        refused = ~self.is_taken[:, None] & foreign & (self.states != State.GAP)
        for i, j in np.argwhere(refused).tolist():
            if not self._is_taken_alone(i, j, alarm):
                self._refuse(i, j, names[i])
        seen = self._seen(names)
        for i, j in np.argwhere(refused).tolist():
            self._refuse(i, j, names[i])
        added = np.zeros(foreign.shape)
        for i, cells in enumerate(foreign):
            if not self.is_taken[i]:
                rare = [name not in self.with_gaps for name in self.frames.names]
                added[i, cells & rare] = alarm.surcharge
                continue
            left = asked[i] - seen[i]
            if abs(left) > rounding(asked[[i]], seen[[i]], self.values[[i]])[0]:
                added[i, cells] = left * self._parts(i, np.flatnonzero(cells), float(seen[i]))
        return added

    def _is_taken_alone(self, i: int, j: int, alarm: Alarm) -> bool:
        """Whether the detector takes a cell in a typical row: then it is not the cause."""
        if alarm.rows is None:
            return False
        own = self.frames.cells_of(take(self.X, np.array([i])), j)

        def with_cell(Z: Matrix) -> Vector:
            return self.ask(self.frames.frame(Z, instead=own))

        return bool(np.isfinite(answer(with_cell, typical(alarm.rows)[None], 1)[0]))

    def _seen(self, names: Sequence[Any]) -> Vector:
        """Scores with typical values in the place of such cells, (n,)."""
        found = self.score(self.values)
        check_answer(found, self.values, self.score.name)
        if not np.isfinite(found).all():
            i = int(np.argmin(np.isfinite(found)))
            raise ValueError(
                f"The score must be finite, got {found[i]} at row {names[i]!r}, even with "
                "typical values in the place of cells that no normal row has."
            )
        return found

    def _parts(self, i: int, cells: IntVector, seen: float) -> Vector:
        """What part of what is left belongs to each cell, by what it does alone."""
        if len(cells) == 1:
            return np.ones(1)
        alone = np.empty(len(cells))
        for k, j in enumerate(cells):
            own = self.frames.cells_of(take(self.X, np.array([i])), int(j))
            row = self.frames.frame(self.values[[i]], instead=own)
            alone[k] = asked_of_all(self.ask, row, 1)[0] - seen
        effect = np.where(np.isfinite(alone), np.abs(alone), 0.0)
        total = effect.sum()
        return effect / total if total > 0 else np.full(len(cells), 1 / len(cells))

    def _refuse(self, i: int, j: int, name: Any) -> None:
        """Say which cell the detector does not take, and what it says of it."""
        row = take(self.X, np.array([i]))
        (cell,) = self.frames.cells_of(row, j).values()
        said = "its score is no number"
        try:
            self.ask(row)
        except Exception as error:
            said = " ".join(str(error).split())
        raise ValueError(
            f"The detector refuses row {name!r}, where column {self.frames.names[j]!r} has "
            f"{cell[0]!r}, which no normal row has: {said}"
        )
