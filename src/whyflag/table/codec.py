"""What is learnt of a column, whatever its kind: from texts to numbers, and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from whyflag.arrays import Matrix, Vector
from whyflag.table.sheet import Cells

States = NDArray[np.int8]

GAP = "no value"  # what people see of a cell that has none
REDACTED = "redacted"  # what they see of one that is nobody's business

# What people write where there is no value. An empty cell is a gap in any column; these are gaps
# where numbers or times are expected and the rows that were learnt from have them.
MARKS = frozenset(
    {
        *("NA", "N/A", "n/a", "na", "NaN", "nan", "NAN", "<NA>", "NaT", "#N/A", "#NA"),
        *("null", "NULL", "Null", "None", "none", "nil", "-", "--", "?", "."),
    }
)


@final
class State(IntEnum):
    """What a cell is, beside what a column usually holds."""

    USUAL = 0
    GAP = 1
    UNREADABLE = 2
    FAR = 3
    NEW = 4
    NEGATIVE = 5


WORDS = {  # for cells whose text is not at hand; numbers stand in for these
    State.GAP: GAP,
    State.UNREADABLE: "unreadable",
    State.FAR: "far from all that was seen",
    State.NEW: "not seen before",
}


def redacted(state: State) -> str:
    """What people see of a cell of a column whose values are not shown."""
    if state in (State.USUAL, State.GAP):
        return WORDS.get(state, REDACTED)
    return f"{WORDS.get(state, 'below zero')} ({REDACTED})"


def is_hidden(hidden: frozenset[str], name: str, columns: Iterable[str]) -> bool:
    """Whether values of a feature are not shown: it, or one of its columns, is named so."""
    return name in hidden or not hidden.isdisjoint(columns)


@final
@dataclass(frozen=True)
class Read:
    """The cells of a column as numbers."""

    values: Matrix  # n x k: something typical where a cell has no value
    states: States  # n


class Codec(ABC):
    """How the cells of one column become numbers, and what is shown of them.

    A cell that has no place among these numbers (a gap, a word among numbers, a category that was
    never seen) gets typical ones, and its state says what it is.
    """

    kind: ClassVar[str]

    @abstractmethod
    def encoded(self, name: str) -> list[str]:
        """The names of the columns of numbers."""

    @abstractmethod
    def read(self, cells: Cells) -> Read:
        """Cells as numbers."""

    @abstractmethod
    def write(self, values: Vector) -> str:
        """What people would have written for these numbers, (k,)."""

    @abstractmethod
    def shown(self, text: str, state: State) -> str:
        """What people should see of a cell."""

    def instead(self, values: Vector) -> str:
        """What would have been normal in place of a cell that no normal row has."""
        return self.write(values)

    def remark(self, cells: Cells) -> str:
        """What is to be said of cells that are read otherwise than it may seem; "" if nothing."""
        return ""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """What was learnt, as JSON would have it."""

    @classmethod
    @abstractmethod
    def from_json(cls, content: Mapping[str, Any]) -> Codec:
        """What `to_json` wrote."""

    @property
    def categories(self) -> tuple[str, ...]:
        """The names of the columns of numbers where these are 0/1 columns of a category."""
        return ()


def cell(values: Vector, codec: Codec | None, categories: Sequence[str] = ()) -> Any:
    """What a program should see of the numbers of a feature, (k,): the cell that they stand for.

    A number, a category's name, what a detector's own column holds; else a tuple of numbers.
    """
    if (categories or codec is not None) and np.isnan(values).all():
        return np.nan
    if codec is not None and hasattr(codec, "raw"):
        return codec.raw(values)
    if categories and np.isin(values, (0.0, 1.0)).all() and values.sum() == 1:
        return categories[int(np.argmax(values))]
    held = tuple(values.tolist())
    return held[0] if len(held) == 1 else held


def marks_in(texts: Sequence[str]) -> tuple[str, ...]:
    """The ways to write a gap that are among the texts."""
    return tuple(sorted(MARKS.intersection(texts)))
