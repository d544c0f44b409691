"""Which of several candidates serves held-out rows best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


@final
@dataclass(frozen=True)
class Candidate:
    """One of the candidates, and what became of it."""

    settings: Mapping[str, int]
    held_out_loss: float  # NaN: it has none
    outcome: str


@final
@dataclass(frozen=True, repr=False)
class Selection:
    """The candidates of a choice by the loss of held-out rows; the lowest wins.

    Prints as a table. A candidate that failed has no loss, and does not end the search.

    Attributes:
        criterion: What the loss is.
        candidates: The candidates, in the order in which they were given.
    """

    criterion: str
    candidates: tuple[Candidate, ...]

    @property
    def best(self) -> Candidate:
        """The chosen one."""
        return self.candidates[self._best_position()]

    def to_frame(self) -> pd.DataFrame:
        """One row for each candidate."""
        import pandas as pd

        records = [
            {**candidate.settings, "held-out loss": candidate.held_out_loss}
            | {"outcome": candidate.outcome}
            for candidate in self.candidates
        ]
        frame = pd.DataFrame.from_records(records)
        frame["chosen"] = [i == self._best_position() for i in range(len(records))]
        return frame

    def __repr__(self) -> str:
        return f"{self.criterion}, the lowest wins:\n{self.to_frame().to_string(index=False)}"

    def to_json(self) -> dict[str, Any]:
        """The selection as JSON would have it."""
        return {
            "criterion": self.criterion,
            "candidates": [
                {
                    "settings": dict(candidate.settings),
                    "held_out_loss": _finite_or_none(candidate.held_out_loss),
                    "outcome": candidate.outcome,
                }
                for candidate in self.candidates
            ],
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Selection:
        """The selection that `to_json` made this of."""
        candidates = [
            Candidate(
                dict(entry["settings"]),
                np.nan if entry["held_out_loss"] is None else float(entry["held_out_loss"]),
                str(entry["outcome"]),
            )
            for entry in content["candidates"]
        ]
        return cls(str(content["criterion"]), tuple(candidates))

    def _best_position(self) -> int:
        losses = [candidate.held_out_loss for candidate in self.candidates]
        return int(np.argmin(np.where(np.isfinite(losses), losses, np.inf)))


def choose(criterion: str, candidates: Sequence[Candidate]) -> Selection:
    """Make the choice; an error tells what became of every candidate if none is left."""
    if not any(np.isfinite(candidate.held_out_loss) for candidate in candidates):
        became = "; ".join(
            f"{dict(candidate.settings)} {candidate.outcome}" for candidate in candidates
        )
        raise ValueError(f"None of the {len(candidates)} candidates could be fitted: {became}.")
    return Selection(criterion, tuple(candidates))


def _finite_or_none(value: float) -> float | None:
    return value if np.isfinite(value) else None
