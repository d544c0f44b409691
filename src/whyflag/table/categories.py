"""Columns of categories: one 0/1 column for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np

from whyflag.arrays import Vector
from whyflag.table.codec import GAP, Codec, Read, State
from whyflag.table.sheet import Cells, texts_of

YES_NO = {"true": "yes", "false": "no"}


@final
@dataclass(frozen=True)
class Categories(Codec):
    """A column of categories.

    A gap is a category like any other, if the rows that were learnt from have gaps. A category that
    was never seen takes the place of the rarest.

    Attributes:
        known: The categories, in their order; "" is a gap.
        frequent: The most frequent of them.
        rare: The rarest of them.
    """

    kind: ClassVar[str] = "category"

    known: tuple[str, ...]
    frequent: str
    rare: str
    _position: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_position", {text: i for i, text in enumerate(self.known)})

    @property
    def categories(self) -> tuple[str, ...]:
        return tuple(self._told(text) for text in self.known)

    def encoded(self, name: str) -> list[str]:
        return [f"{name}={text}" for text in self.known]

    def read(self, cells: Cells) -> Read:
        texts = [text.strip() for text in texts_of(cells)]
        find = self._position
        found = np.array([find.get(text, -1) for text in texts], dtype=np.int64)
        states = np.zeros(len(texts), dtype=np.int8)
        for i in np.flatnonzero(found < 0):
            states[i] = State.NEW if texts[i] else State.GAP
        found[states == State.GAP] = find[self.frequent]
        found[states == State.NEW] = find[self.rare]
        return Read(np.eye(len(self.known))[found], states)

    def write(self, values: Vector) -> str:
        return self.categories[int(np.argmax(values))]

    def shown(self, text: str, state: State) -> str:
        return f"{text} (not seen before)" if state == State.NEW else self._told(text.strip())

    def _told(self, text: str) -> str:
        """A category in the words of people."""
        known = [each.lower() for each in self.known if each]
        is_yes_or_no = set(known) <= YES_NO.keys() and len(set(known)) == len(known)
        return (YES_NO.get(text.lower(), text) if is_yes_or_no else text) or GAP

    def to_json(self) -> dict[str, Any]:
        return {"known": list(self.known), "frequent": self.frequent, "rare": self.rare}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Categories:
        return cls(tuple(content["known"]), content["frequent"], content["rare"])
