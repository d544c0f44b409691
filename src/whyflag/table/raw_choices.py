"""Columns of choices as a detector takes them: texts, truths, numbers that are names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from whyflag.arrays import IntVector, Matrix, Vector
from whyflag.table.codec import GAP, Read, State
from whyflag.table.raw import RawColumn, gaps_in, object_cells
from whyflag.table.sheet import Cells

if TYPE_CHECKING:
    from whyflag.table.holders import Series

NEW = "(not seen before)"
OTHER = "another value"
MOST_CHOICES = 200  # with a 0/1 column each; what is rarer shares one


@final
@dataclass(frozen=True)
class RawChoices(RawColumn):
    """A column of choices: texts, truths, numbers that are names.

    Each has a 0/1 column; the most frequent stands first, so that a search that tries columns one
    by one moves towards it. The last 0/1 column is for all that have none of their own.

    Attributes:
        values: The choices, the most frequent first; None: a gap.
        other: What stands for any other: the most frequent of those that have no column, or
            something that no row has.
        many: Whether there were more choices than have columns.
        missing: How a gap is written.
    """

    kind: ClassVar[str] = "raw choice"

    values: tuple[Any, ...]
    other: Any
    many: bool = False
    missing: Any = None
    _position: Mapping[Any, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_position", {_key(each): i for i, each in enumerate(self.values)})

    @classmethod
    def of(cls, cells: Cells, missing: Any = None) -> RawChoices:
        """What is learnt of a column, in which a gap is written so."""
        counts = Counter(map(_key, cells.tolist()))
        values = {_key(each): each for each in cells.tolist()}
        ranked = sorted(counts, key=lambda each: (-counts[each], str(each)))
        first, rest = ranked[:MOST_CHOICES], ranked[MOST_CHOICES:]
        other = values[rest[0]] if rest else _unseen([values[each] for each in first])
        return cls(tuple(values[each] for each in first), other, bool(rest), missing)

    @property
    def has_gaps(self) -> bool:  # type: ignore[override]
        return None in self.values

    @property
    def usual(self) -> Vector | None:
        """Those of the most frequent choice: what stands for any other may be refused."""
        first = next((i for i, each in enumerate(self.values) if each is not None), None)
        return None if first is None else np.eye(len(self.values) + 1)[first]

    @property
    def categories(self) -> tuple[str, ...]:
        return (*(GAP if each is None else str(each) for each in self.values), OTHER)

    def encoded(self, name: str) -> list[str]:
        return [f"{name}={text}" for text in self.categories]

    def cells_in(self, name: str, column: Series) -> Cells:
        return object_cells(column)

    def read(self, cells: Cells) -> Read:
        find, none = self._position, len(self.values)
        found = np.array([find.get(_key(each), none) for each in cells.tolist()], dtype=np.int64)
        gaps = gaps_in(cells)
        states = np.where(found < none, State.USUAL, np.where(gaps, State.GAP, State.NEW))
        found[states == State.GAP] = 0  # the most frequent: None is not among them
        return Read(np.eye(none + 1)[found], states.astype(np.int8))

    def codes(self, values: Matrix) -> IntVector:
        """Which choice rows have, `len(self.values)` for any other: (n, k) -> (n,)."""
        return np.asarray(values.argmax(axis=1))

    def cells(self, values: Matrix) -> Cells:
        known = np.empty(len(self.values) + 1, dtype=object)
        known[:] = [*(self.missing if each is None else each for each in self.values), self.other]
        return known[self.codes(values)]

    def raw(self, values: Vector) -> Any:
        return self.cells(values[None])[0]

    def without_gaps(self) -> RawChoices:
        return replace(self, values=tuple(each for each in self.values if each is not None))

    def write(self, values: Vector) -> str:
        return self.categories[int(self.codes(values[None])[0])]

    def shown(self, text: str, state: State) -> str:
        if state == State.GAP:
            return GAP
        return text if self.many else f"{text} {NEW}"

    def to_json(self) -> dict[str, Any]:
        return {
            "values": [_plain(each) for each in self.values],
            "other": _plain(self.other),
            "many": self.many,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> RawChoices:
        return cls(tuple(content["values"]), content["other"], content["many"])


def _key(value: Any) -> Any:
    """What tells choices apart: True is not 1."""
    return (bool, value) if isinstance(value, bool) else value


def _unseen(values: Sequence[Any]) -> Any:
    """A choice that is none of these."""
    known = [each for each in values if each is not None]
    if known and all(isinstance(each, bool) for each in known):
        return not known[0] if len(known) == 1 else None
    if known and all(isinstance(each, Real) for each in known):
        return max(known) + 1
    text = NEW
    while text in known:
        text += "?"
    return text


def _plain(value: Any) -> Any:
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
