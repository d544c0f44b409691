"""Columns of numbers, as people write them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, final

import numpy as np

from whyflag.arrays import Vector
from whyflag.table.codec import GAP, Codec, Read, State
from whyflag.table.forms import Form
from whyflag.table.sheet import Cells, texts_of

FAR = 1e9  # times the largest number that was seen: no measurement, and its square is still finite
SMALLEST = 0.01  # of the numbers are smaller than those of which minus one is an error


def negative_from(values: Vector) -> float | None:
    """How far below zero a number has a sign that none of these has; None: some have.

    As far as 99 % of them are above it at the least: a little less than the smallest is no error.
    """
    if values.min() < 0:
        return None
    return float(np.quantile(values, SMALLEST, method="lower"))


@final
@dataclass(frozen=True)
class Numbers(Codec):
    """A column of numbers.

    Attributes:
        form: How they are written.
        gaps: How a missing one was written, beside nothing at all.
        typical: Their median.
        lower: The smallest.
        upper: The largest; if it is the smallest too, any other is new.
        decimals: How many decimals they have at the most; None: as many as it takes.
        negative: A number that is as far below zero has a sign that none had; None: some had.
    """

    kind: ClassVar[str] = "number"

    form: Form
    gaps: tuple[str, ...]
    typical: float
    lower: float
    upper: float
    decimals: int | None = None
    negative: float | None = None
    _gaps: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_gaps", frozenset(self.gaps))

    @property
    def is_constant(self) -> bool:
        """Whether all numbers were the same."""
        return self.lower == self.upper

    def encoded(self, name: str) -> list[str]:
        return [name]

    def read(self, cells: Cells) -> Read:
        values = self._numbers(cells)
        states = np.zeros(len(values), dtype=np.int8)
        missing = np.isnan(values)
        if missing.any():
            states[missing] = [
                State.GAP if not text or text in self._gaps else State.UNREADABLE
                for text in (each.strip() for each in texts_of(cells[missing]))
            ]
        far = np.abs(values) > FAR * (max(abs(self.lower), abs(self.upper)) or 1.0)
        states[far] = State.FAR
        if self.is_constant:
            states[~missing & ~far & (values != self.typical)] = State.NEW
        stands_in = np.where(states == 0, values, self.typical)
        if self.negative is not None:
            turned = (states == 0) & (values < 0) & (-values >= self.negative)
            states[turned] = State.NEGATIVE
            stands_in[turned] = -values[turned]
        return Read(stands_in[:, None], states)

    def _numbers(self, cells: Cells) -> Vector:
        """What cells say; normal rows may have had no number that is large enough for thousands."""
        if cells.dtype.kind == "f":
            return cells
        texts = texts_of(cells)
        values = self.form.numbers(texts)
        for i in np.flatnonzero(np.isnan(values)):
            values[i] = self.form.grouped_number(texts[i])
        return values

    def write(self, values: Vector) -> str:
        return self.form.text(float(values[0]), self.decimals)

    def shown(self, text: str, state: State) -> str:
        return {
            State.USUAL: text,
            State.GAP: GAP,
            State.UNREADABLE: f"not a number: {text!r}",
            State.FAR: f"{text} (beyond all measure)",
            State.NEGATIVE: f"{text} (never below zero before)",
            State.NEW: f"{text} (always {self.form.text(self.typical, self.decimals)} before)",
        }[state]

    def to_json(self) -> dict[str, Any]:
        return {
            "form": asdict(self.form),
            "gaps": list(self.gaps),
            "typical": self.typical,
            "lower": self.lower,
            "upper": self.upper,
            "decimals": self.decimals,
            "negative": self.negative,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Numbers:
        rest = {**content, "form": Form(**content["form"]), "gaps": tuple(content["gaps"])}
        return cls(**rest)
