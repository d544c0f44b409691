"""How the work behind a row ended, and what people are told of it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import final

import numpy as np

from whyflag.arrays import BoolVector, IntVector


@final
class Outcome(IntEnum):
    """Why a computation ended; of several, the worst is the highest."""

    ARRIVED = 0
    OUT_OF_BUDGET = 1
    NO_BOTTOM = 2
    NOT_FINITE = 3
    BROKEN_AVERAGE = 4

    @property
    def sentence(self) -> str:
        """What people are told of it; nothing if all is well."""
        return _SENTENCES[self]


_SENTENCES = {
    Outcome.ARRIVED: "",
    Outcome.OUT_OF_BUDGET: "The computation stopped at its limit before it reached its goal on "
    "this row: take its figures with care.",
    Outcome.NO_BOTTOM: "The score falls without end, so that this row has no normal counterpart: "
    "take its figures with care.",
    Outcome.NOT_FINITE: "The score has no finite value near this row: take its figures with care.",
    Outcome.BROKEN_AVERAGE: "The fast definition does not hold on this row, and the exact one "
    "takes too long with so many features: take its figures with care.",
}


def ended_if(arrived: BoolVector, otherwise: Outcome) -> IntVector:
    """Arrived, or else for this reason: bool (n,) -> (n,)."""
    return np.where(arrived, Outcome.ARRIVED, otherwise).astype(np.int64)


def worst(ended: Iterable[IntVector | None]) -> IntVector | None:
    """The worst outcome of each row over several computations; None if nothing can fail."""
    known = [each for each in ended if each is not None]
    return np.max(known, axis=0) if known else None
