"""What a page knows of normal rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from whyflag.arrays import Matrix, Vector
from whyflag.attribution import Attribution
from whyflag.distribution import Distribution
from whyflag.score import evaluate

SCORED = 1000  # normal rows, at most, where the scores of held-out ones are not known
NEAR = 0.1  # of the way from a usual normal row to the alarm: a score that close is near it


@final
@dataclass(frozen=True)
class Normal:
    """Normal rows, as far as they are known.

    Attributes:
        distribution: How their values are distributed.
        rows: The rows, (m, d).
        scores: Their scores, in rising order.
        origin: What rows these scores are of.
    """

    distribution: Distribution | None = None
    rows: Matrix | None = None
    scores: Vector | None = None
    origin: str = "normal rows"

    @classmethod
    def of(cls, attribution: Attribution, distribution: Distribution | None = None) -> Normal:
        """What an attribution knows of them, by what repairs its rows."""
        repairer = attribution.repairer
        rows = None if repairer is None else repairer.rows
        scores = None
        if repairer is not None and rows is not None:
            some = np.unique(np.linspace(0, len(rows) - 1, SCORED).astype(int))
            scores = np.sort(evaluate(repairer.score, rows[some]))
        if distribution is None and rows is not None:
            distribution = Distribution.of(rows)
        count = 0 if scores is None else len(scores)
        return cls(distribution, rows, scores, f"{count:,} normal rows")

    @cached_property
    def of_scores(self) -> Distribution | None:
        """How the scores are distributed."""
        return None if self.scores is None else Distribution.of(self.scores[:, None])

    def stands(self, score: float) -> str:
        """Where a score stands among those of normal rows, in words."""
        if self.scores is None:
            return ""
        below = int(np.searchsorted(self.scores, score, side="left"))
        if below == len(self.scores):
            return f"above all {self.origin}"
        return f"above {np.floor(1000 * below / len(self.scores)) / 10:g} % of {self.origin}"

    def is_near(self, score: float, alarm: float | None) -> bool:
        """Whether a score is so close to the alarm that little more, or less, would cross it."""
        if alarm is None or self.scores is None:
            return False
        return bool(abs(score - alarm) <= NEAR * (alarm - float(np.median(self.scores))))
