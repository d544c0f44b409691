"""Columns as a detector takes them: numbers, choices and times, with their gaps."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from numbers import Real
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from whyflag.arrays import IntVector, Matrix, Vector
from whyflag.table.codec import GAP, Codec, Read, State
from whyflag.table.numbers import PLAIN, decimals_of
from whyflag.table.sheet import Cells, number_text

NEW = "(not seen before)"
OTHER = "another value"
MOST_CHOICES = 200  # with a 0/1 column each; what is rarer shares one
TYPICAL = 1001  # numbers that tell how they are written
UNITS = (("D", 86_400), ("h", 3600), ("m", 60), ("s", 1), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))


class RawColumn(Codec):
    """A column of values that are no texts, or texts that a detector takes as they are.

    Cells are an array of numbers, of times, or of objects, where None is a gap.
    """

    has_gaps: bool

    @abstractmethod
    def cells(self, values: Matrix) -> Cells:
        """Cells with these numbers: (n, k) -> (n,)."""

    @abstractmethod
    def raw(self, values: Vector) -> Any:
        """The one cell with these numbers, (k,)."""

    @abstractmethod
    def without_gaps(self) -> RawColumn:
        """The same, but for gaps, which have no place of their own any more."""

    def gap(self, name: str) -> str:
        """The name of the 0/1 column that says that there is no value."""
        return f"{name}: {GAP}"


@final
@dataclass(frozen=True)
class RawNumbers(RawColumn):
    """A column of numbers.

    Attributes:
        typical: The lower of their medians.
        decimals: How many decimals they have at the most; None: as many as it takes.
        has_gaps: Whether a 0/1 column says where there is none.
        is_whole: Whether the column holds whole numbers only; any other is foreign.
    """

    kind: ClassVar[str] = "raw number"

    typical: float
    decimals: int | None = None
    has_gaps: bool = False
    is_whole: bool = False

    @classmethod
    def of(cls, cells: Cells, *, is_whole: bool) -> RawNumbers:
        """What is learnt of a column."""
        values, is_number = numbers_in(cells)
        known = np.sort(values[is_number])
        some = known[np.unique(np.linspace(0, len(known) - 1, TYPICAL).astype(int))]
        decimals = decimals_of([number_text(value) for value in some], PLAIN)
        typical = float(known[(len(known) - 1) // 2])
        return cls(typical, decimals, bool(gaps_in(cells).any()), is_whole)

    def encoded(self, name: str) -> list[str]:
        return [name, self.gap(name)] if self.has_gaps else [name]

    def read(self, cells: Cells) -> Read:
        values, is_number = numbers_in(cells)
        states = _states(is_number, gaps_in(cells))
        if self.is_whole:
            states[is_number & np.isfinite(values) & (values != np.round(values))] = State.NEW
        return _with_gaps(np.where(is_number, values, self.typical), states, self.has_gaps)

    def cells(self, values: Matrix) -> Cells:
        numbers = np.round(values[:, 0]) if self.is_whole else values[:, 0]
        return np.where(values[:, 1] >= 0.5, np.nan, numbers) if self.has_gaps else numbers

    def raw(self, values: Vector) -> float:
        return float(self.cells(values[None])[0])

    def without_gaps(self) -> RawNumbers:
        return replace(self, has_gaps=False)

    def write(self, values: Vector) -> str:
        value = self.raw(values)
        return GAP if np.isnan(value) else PLAIN.text(value, self.decimals)

    def shown(self, text: str, state: State) -> str:
        if state == State.GAP:
            return GAP
        return f"{text} (not whole)" if state == State.NEW else f"not a number: {text!r}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> RawNumbers:
        return cls(**content)


@final
@dataclass(frozen=True)
class RawTimes(RawColumn):
    """A column of moments, or of spans of time, counted in the longest unit that fits all.

    Attributes:
        unit: "D" for days, "h" for hours, … "ns".
        typical: The lower of their medians, in this unit.
        is_span: Whether they are spans.
        has_gaps: Whether a 0/1 column says where there is none.
    """

    kind: ClassVar[str] = "raw time"

    unit: str
    typical: float
    is_span: bool = False
    has_gaps: bool = False

    @classmethod
    def of(cls, cells: Cells) -> RawTimes:
        """What is learnt of a column."""
        gaps = np.isnat(cells)
        kind = cells.dtype.kind
        known = np.sort(cells[~gaps])
        fits = (unit for unit, _ in UNITS if (known.astype(f"{kind}8[{unit}]") == known).all())
        unit = next(fits)
        typical = known[(len(known) - 1) // 2].astype(f"{kind}8[{unit}]")
        return cls(unit, float(typical.astype(np.int64)), kind == "m", bool(gaps.any()))

    def encoded(self, name: str) -> list[str]:
        return [name, self.gap(name)] if self.has_gaps else [name]

    def read(self, cells: Cells) -> Read:
        gaps = np.isnat(cells)
        # As a part of the unit, so that a time between two of them stays what it is.
        fine = np.where(gaps, np.array(0, dtype=cells.dtype), cells)
        per = dict(UNITS)[self.unit] / dict(UNITS)[np.datetime_data(cells.dtype)[0]]
        values = np.where(gaps, self.typical, fine.astype(np.int64) / per)
        return _with_gaps(values, _states(~gaps, gaps), self.has_gaps)

    def cells(self, values: Matrix) -> Cells:
        kind = "m8" if self.is_span else "M8"
        per = dict(UNITS)[self.unit] / 1e-6
        moments = np.round(values[:, 0] * per).astype(np.int64).astype(f"{kind}[us]")
        if self.has_gaps:
            moments[values[:, 1] >= 0.5] = "NaT"
        return moments

    def raw(self, values: Vector) -> Any:
        import pandas as pd

        (cell,) = self.cells(values[None])
        return pd.Timedelta(cell) if self.is_span else pd.Timestamp(cell)

    def without_gaps(self) -> RawTimes:
        return replace(self, has_gaps=False)

    def write(self, values: Vector) -> str:
        raw = self.raw(values)
        return GAP if raw != raw else str(raw).removesuffix(" 00:00:00")

    def shown(self, text: str, state: State) -> str:
        return GAP if state == State.GAP else f"not a time: {text!r}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> RawTimes:
        return cls(**content)


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
    def categories(self) -> tuple[str, ...]:
        return (*(GAP if each is None else str(each) for each in self.values), OTHER)

    def encoded(self, name: str) -> list[str]:
        return [f"{name}={text}" for text in self.categories]

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


def numbers_in(cells: Cells) -> tuple[Vector, NDArray[np.bool_]]:
    """The numbers among cells, and where there are some."""
    if cells.dtype.kind in "fiub":
        values = cells.astype(np.float64)
        return values, ~np.isnan(values)
    is_number = np.array(
        [isinstance(each, Real) and not isinstance(each, bool) for each in cells.tolist()]
    )
    values = np.full(len(cells), np.nan)
    values[is_number] = cells[is_number].astype(np.float64)
    return values, is_number & ~np.isnan(values)


def gaps_in(cells: Cells) -> NDArray[np.bool_]:
    """Where cells have no value."""
    if cells.dtype.kind in "iub":
        return np.zeros(len(cells), dtype=np.bool_)
    if cells.dtype.kind == "f":
        return np.isnan(cells)
    return np.array([each is None or each != each for each in cells.tolist()], dtype=np.bool_)


def _states(known: NDArray[np.bool_], gaps: NDArray[np.bool_]) -> NDArray[np.int8]:
    return np.where(known, State.USUAL, np.where(gaps, State.GAP, State.UNREADABLE)).astype(np.int8)


def _with_gaps(values: Vector, states: NDArray[np.int8], has_gaps: bool) -> Read:
    """Values, and a column that says where there are none if gaps have a place."""
    if not has_gaps:
        return Read(values[:, None], states)
    gaps = states == State.GAP
    return Read(
        np.column_stack([values, gaps]), np.where(gaps, State.USUAL, states).astype(np.int8)
    )


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
