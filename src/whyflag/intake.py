"""Rows as they come, as numbers, and what numbers can not say of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from whyflag.adapters import as_score
from whyflag.adapters.raw import Asked, Uses
from whyflag.arrays import (
    BoolMatrix,
    BoolVector,
    IntMatrix,
    IntVector,
    Matrix,
    Vector,
    check_rows,
    evenly,
)
from whyflag.asking import AsTheyCame, answer, asked_of_all
from whyflag.batches import CALL, batch_size
from whyflag.domain import Domain
from whyflag.score import Score, evaluate
from whyflag.score.answers import check_answer, rounding
from whyflag.score.base import usual_alarm
from whyflag.table import Table, read_table
from whyflag.table.codec import State
from whyflag.table.holders import columns_of, in_hand, is_frame, length, take
from whyflag.table.number_texts import is_written, odd_texts, with_columns, written_numbers
from whyflag.table.originals import Originals

if TYPE_CHECKING:
    from whyflag.table.frames import Frames

FEW = 8  # normal rows that tell whether texts are numbers to a detector
LOOKED_AT = 1000  # normal rows that tell the alarm, where the detector names no threshold


def takes_raw(X: Any, uses: Uses) -> bool:
    """Whether rows hold more than numbers: texts, times, gaps, numbers that are codes."""
    if isinstance(X, Table):
        return False
    if not is_frame(X):
        rows = np.asarray(X)
        if rows.ndim != 2 or rows.dtype.kind not in "fiubOUS":
            return False
        if rows.dtype.kind in "OUS":
            try:
                rows = rows.astype(np.float64)
            except (TypeError, ValueError):
                return True
        return bool(np.isnan(rows).any() or uses.as_choices)
    columns, _ = columns_of(X, "background")
    coded = uses.as_choices.intersection(columns)
    return bool(coded) or any(
        getattr(each.dtype, "kind", "O") not in "fiub" or each.isna().any()
        for each in columns.values()
    )


def scores_of(detector: Any, X: Any, name: str = "X") -> Vector:
    """What a detector says of rows as they come, high = anomalous, each a finite number."""
    X, score = in_hand(X, name), as_score(detector)
    if takes_raw(X, Uses.of(detector).of_rows(X)):
        found = Asked.of(detector, score)(X)
        check_answer(found, X, score.name)
        if not np.isfinite(found).all():
            row = int(np.argmin(np.isfinite(found)))
            raise ValueError(f"The score must be finite, got {found[row]} at row {row}.")
        return found
    rows = read_table(X, name=name).values
    if score.n_features not in (None, rows.shape[1]):
        raise ValueError(f"`{name}` must have shape (n, {score.n_features}), got {rows.shape}.")
    return evaluate(score, rows, batch_size(rows.shape[1], CALL))


def as_numbers(detector: Any, X: Any, uses: Uses) -> Any:
    """Normal rows, with texts that say numbers as numbers, where that is what the detector takes.

    So it is if it refuses the texts and takes the numbers, or says the same of both.
    """
    if not is_written(X):
        return X
    score = as_score(detector)
    asked = Asked.of(detector, score)
    some = take(X, evenly(length(X), FEW))

    def says(numbers: dict[str, Vector]) -> Vector:
        rows = with_columns(some, numbers)
        if takes_raw(rows, uses):
            return answer(asked, rows, length(rows))
        return answer(lambda rows: score.function(read_table(rows).values), rows, length(rows))

    numbers = written_numbers(X, texts=True)
    few = {name: values[evenly(length(X), FEW)] for name, values in numbers.items()}
    before, after = says({}), says(few)
    if np.isfinite(before).any():
        known = [name for name in few if _same(before, says({name: few[name]}))]
        numbers = {name: numbers[name] for name in (few if _same(before, after) else known)}
    elif not np.isfinite(after).any():
        numbers = {}
    found = with_columns(X, numbers)
    _refuse_odd_texts(asked, found)
    return found


def _same(before: Vector, after: Vector) -> bool:
    """Whether answers are the same where there were some."""
    known = np.isfinite(before)
    before, after = before[known], after[known]
    return bool((np.abs(after - before) <= rounding(before, after, np.zeros((1, 1)))).all())


def _refuse_odd_texts(asked: Asked, X: Any) -> None:
    """Refuse a text among numbers where the detector takes the number of another row instead."""
    for name, (i, text, number) in odd_texts(X).items():
        row = take(X, np.array([i]))
        try:
            asked(row)
        except Exception as error:
            said = " ".join(str(error).split())
            instead = with_columns(row, {name: np.array([number])})
            if np.isfinite(answer(asked, instead, 1)).all():
                raise TypeError(
                    f"The detector takes numbers in column {name!r}, and `background` has texts "
                    f"there that say none, such as {text!r}: {said}. Make it numbers first: "
                    "pd.to_numeric(column, errors='coerce') leaves gaps for those."
                ) from None


def learn_frames(asked: Asked, X: Any, uses: Uses) -> Frames:
    """What the columns of normal rows are, and in which of them the detector takes gaps."""
    from whyflag.table.frames import Frames  # pandas, which takes as long as whyflag itself

    columns, _ = columns_of(X, "background")
    unused = uses.dropped
    if uses.dropped or (uses.names is not None and is_frame(X)):
        unused = uses.dropped | (set(columns) - set(uses.names or columns))
    frames = Frames.learn(X, choices=uses.as_choices, unused=unused)
    with_gaps = [
        name for name, codec in zip(frames.names, frames.codecs, strict=True) if codec.has_gaps
    ]
    if not with_gaps:
        return frames
    without = frames.without_gaps(with_gaps)
    whole = typical(without.read(X).rows.values)[None]  # a row that has no gaps
    cells = {name: without.gap_cell(X, name) for name in with_gaps}
    refused = [
        name
        for name, cell in cells.items()
        if not np.isfinite(answer(asked, without.frame(whole, cell), 1)[0])
    ]
    return frames.without_gaps(refused)


@final
@dataclass(frozen=True)
class Intake:
    """Reads rows for a score, as numbers.

    A cell that numbers can not say (a gap in a column where no normal row has one, a choice that
    none of them has) becomes a typical one, and what it adds to the score belongs to its feature:
    the difference that the detector makes between the two; or, where the detector takes no gaps,
    as much as makes an alarm of any row.

    Attributes:
        asked: What the detector says of rows as they are.
        frames: What its columns are; None: numbers, as many as the domain has.
        with_gaps: The columns in which normal rows have gaps, though the detector takes none.
    """

    asked: Asked
    frames: Frames | None = None
    with_gaps: frozenset[str] = frozenset()

    def read(self, X: Any, name: str, score: Score, domain: Domain, rows: Matrix | None) -> Table:
        """Rows as numbers, with what other cells add to their scores."""
        X = in_hand(X, name)
        if self.frames is not None and not isinstance(X, Table):
            X = with_columns(X, written_numbers(X, self.frames.of_real_numbers))
            raw = self.frames.read(X, name)
            values = check_rows(raw.rows.values, name=name, columns=self.frames.encoded)
            table = replace(raw.rows, values=values)
            self._refuse_unread(X, name, score, table, raw.states)
            return self._settled(table, raw.states, X, self.frames, score, domain, rows)
        columns = domain.columns if domain.named else None
        table = read_table(X, name=name, columns=columns, n_columns=domain.n_columns, gaps=True)
        if not np.isnan(table.values).any():
            return table
        if rows is None:
            return read_table(table, name=name)  # which says where the first gap is
        from whyflag.table.frames import Frames

        frames = Frames.of_numbers(domain.columns, typical(rows))
        raw = frames.read(table.values)
        filled = replace(table, values=raw.rows.values)
        return self._settled(filled, raw.states, table.values, frames, score, domain, rows)

    def _refuse_unread(
        self, X: Any, name: str, score: Score, table: Table, states: IntMatrix
    ) -> None:
        """Refuse a value that counts, in a column where no normal row has any."""
        if self.frames is None or not self.frames.empty:
            return
        columns = columns_of(X, name)[0] if is_frame(X) else {}
        for each in filter(columns.__contains__, self.frames.empty):
            some = np.flatnonzero(columns[each].notna().to_numpy() & ~states.any(axis=1))
            if not len(some):
                continue
            asked = asked_of_all(self.asked, take(X, some), len(some))
            seen = score(table.values[some])
            same = np.abs(asked - seen) <= rounding(asked, seen, table.values[some])
            if not same.all():
                row = int(some[np.argmin(same)])
                raise ValueError(
                    f"`{name}` has a value in column {each!r} at row {row}, which the "
                    "detector uses: normal rows with values there are needed, and `background` "
                    "has none."
                )

    def _settled(
        self,
        table: Table,
        states: IntMatrix,
        X: Any,
        frames: Frames,
        score: Score,
        domain: Domain,
        rows: Matrix | None,
    ) -> Table:
        """The table with what its foreign cells add, and what people should see of them."""
        foreign = states != State.USUAL  # n x c
        some = np.flatnonzero(foreign.any(axis=1))
        if not len(some):
            return table
        found = _Foreign(self, frames, score, table.values[some], take(X, some), states[some])
        added = np.zeros(states.shape)
        alarm = _Alarm(score, rows)
        added[some] = found.added(alarm, [_name_of(table, i) for i in some.tolist()])
        first = [frames.encoded.index(own[0]) for own in frames.players.values()]
        owner = domain.membership[:, first]  # p x c
        shown = frames.shown(X, states)
        single = {
            frames.names[np.flatnonzero(own)[0]]: player
            for player, own in zip(domain.player_names, owner, strict=True)
            if own.sum() == 1
        }
        seen = tuple(
            {single[name]: text for name, text in row.items() if name in single} for row in shown
        )
        cells = (states @ (owner & (owner.sum(axis=1) == 1)[:, None]).T).astype(np.int8)
        return replace(
            table,
            added=added @ owner.T,
            shown=seen,
            states=cells,
            originals=found.originals(owner).at(some, len(table)),
        )


@final
@dataclass(frozen=True)
class _Alarm:
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
class _Foreign:
    """Rows that have cells of which numbers know nothing."""

    intake: Intake
    frames: Frames
    score: Score
    values: Matrix  # n x d, typical values in the place of such cells
    X: Any  # n, as they came
    states: IntMatrix  # n x c

    @cached_property
    def asked(self) -> Vector:
        """What the detector says of the rows, (n,); NaN where it refuses one."""
        return asked_of_all(self.intake.asked, self.X, len(self.values))

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
            ask=AsTheyCame(self.intake.asked, self.frames),
        )

    def added(self, alarm: _Alarm, names: Sequence[Any]) -> Matrix:
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
                rare = [name not in self.intake.with_gaps for name in self.frames.names]
                added[i, cells & rare] = alarm.surcharge
                continue
            left = asked[i] - seen[i]
            if abs(left) > rounding(asked[[i]], seen[[i]], self.values[[i]])[0]:
                added[i, cells] = left * self._parts(i, np.flatnonzero(cells), float(seen[i]))
        return added

    def _is_taken_alone(self, i: int, j: int, alarm: _Alarm) -> bool:
        """Whether the detector takes a cell in a typical row: then it is not the cause."""
        if alarm.rows is None:
            return False
        own = self.frames.cells_of(take(self.X, np.array([i])), j)

        def with_cell(Z: Matrix) -> Vector:
            return self.intake.asked(self.frames.frame(Z, instead=own))

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
            alone[k] = asked_of_all(self.intake.asked, row, 1)[0] - seen
        effect = np.where(np.isfinite(alone), np.abs(alone), 0.0)
        total = effect.sum()
        return effect / total if total > 0 else np.full(len(cells), 1 / len(cells))

    def _refuse(self, i: int, j: int, name: Any) -> None:
        """Say which cell the detector does not take, and what it says of it."""
        row = take(self.X, np.array([i]))
        (cell,) = self.frames.cells_of(row, j).values()
        said = "its score is no number"
        try:
            self.intake.asked(row)
        except Exception as error:
            said = " ".join(str(error).split())
        raise ValueError(
            f"The detector refuses row {name!r}, where column {self.frames.names[j]!r} has "
            f"{cell[0]!r}, which no normal row has: {said}"
        )


def _name_of(table: Table, i: int) -> Any:
    return int(i) if table.index is None else table.index[i]


def typical(rows: Matrix) -> Vector:
    """The lower median of each column, which is a value that a row has."""
    return np.asarray(np.quantile(rows, 0.5, axis=0, method="lower"))
