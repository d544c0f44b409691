"""A column of a table: what its cells mean, and which of them no normal row has."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from whyflag.arrays import BoolVector
from whyflag.table.codec import Codec, State, States
from whyflag.table.sheet import Cells, texts_of


@final
@dataclass(frozen=True)
class Column:
    """A column that counts.

    Attributes:
        name: Its name.
        codec: What its cells mean.
        usual: What cells may be among normal rows, beside what the column holds: gaps, say. Any
            other such state is foreign: no normal row has it, or too few to call it normal.
        words: Texts that can not be read and are usual; any other is foreign, unless texts that
            can not be read are usual whatever they say.
    """

    name: str
    codec: Codec
    usual: frozenset[State] = frozenset()
    words: frozenset[str] = frozenset()

    @cached_property
    def foreign(self) -> BoolVector:
        """For each state whether it is foreign."""
        return np.array([state not in self.usual and state != State.USUAL for state in State])

    def foreign_among(self, cells: Cells, states: States) -> BoolVector:
        """Which cells are foreign, (n,)."""
        found: BoolVector = self.foreign[states]
        if self.words:
            unread = np.flatnonzero(found & (states == State.UNREADABLE))
            found[unread] = [text.strip() not in self.words for text in texts_of(cells[unread])]
        return found
