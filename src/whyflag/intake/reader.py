"""Rows as they come, as numbers, and what numbers can not say of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from whyflag.adapters.raw import Asked
from whyflag.arrays import IntMatrix, Matrix, check_rows
from whyflag.domain import Domain
from whyflag.intake.asking import asked_of_all
from whyflag.intake.foreign import Alarm, Foreign
from whyflag.intake.normal import typical
from whyflag.score import Score
from whyflag.score.answers import rounding
from whyflag.stand_in import stand_in
from whyflag.table import Table, read_table
from whyflag.table.codec import State
from whyflag.table.holders import columns_of, in_hand, is_frame, take
from whyflag.table.number_texts import with_columns, written_numbers

if TYPE_CHECKING:
    from whyflag.table.frames import Frames


@final
@dataclass(frozen=True)
class Intake:
    """Reads rows for a score, as numbers.

    A cell that numbers can not say (a gap in a column where no normal row has one, a choice that
    none of them has) becomes one that fits the rest of the row, or a typical one, and what it adds
    to the score belongs to its feature: the difference that the detector makes between the two; or,
    where the detector takes no gaps, as much as makes an alarm of any row.

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
        values = table.values.copy()
        if rows is not None:
            each = list(map(len, frames.players.values()))
            own = np.repeat(np.eye(len(each), dtype=np.bool_), each, axis=1)  # c x d
            unknown = np.isin(states[some], (State.GAP, State.UNREADABLE)) @ own
            values[some] = stand_in(values[some], unknown, rows, domain)
        # What stands for a choice that no normal row has, a detector may refuse.
        asked = asked_of_all(self.asked, frames.frame(values[some]), len(some))
        refused = some[~np.isfinite(asked)]
        values[refused] = frames.usual(values[refused], states[refused])
        table = replace(table, values=values)
        found = Foreign(
            self.asked,
            frames,
            self.with_gaps,
            score,
            table.values[some],
            take(X, some),
            states[some],
        )
        added = np.zeros(states.shape)
        alarm = Alarm(score, rows)
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


def _name_of(table: Table, i: int) -> Any:
    return int(i) if table.index is None else table.index[i]
