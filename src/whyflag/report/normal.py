"""What a page knows of normal rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from whyflag.arrays import Matrix, Vector, evenly
from whyflag.attribution import Attribution
from whyflag.calibration import Calibration
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
        calibration: Their scores.
        origin: What rows these scores are of.
    """

    distribution: Distribution | None = None
    rows: Matrix | None = None
    calibration: Calibration | None = None
    origin: str = "normal rows"

    @classmethod
    def of(cls, attribution: Attribution, distribution: Distribution | None = None) -> Normal:
        """What an attribution knows of them, by its calibration and by what repairs its rows."""
        repairer, calibration = attribution.repairer, attribution.calibration
        rows = None if repairer is None else repairer.rows
        if distribution is None and rows is not None:
            distribution = Distribution.of(rows)
        if calibration is not None:
            held_out = f"{calibration.n:,} normal rows that were held out"
            return cls(distribution, rows, calibration, held_out)
        if repairer is None or rows is None:
            return cls(distribution, rows)
        some = evenly(len(rows), SCORED)
        alarm = np.nan if attribution.threshold is None else attribution.threshold
        scores = evaluate(repairer.score, rows[some])
        calibration = Calibration.known(scores, alarm, np.nan, np.nan)
        return cls(distribution, rows, calibration, f"{len(scores):,} normal rows")

    @cached_property
    def scores(self) -> Vector | None:
        """Scores of normal rows, in rising order: all, or evenly spread ones."""
        known = self.calibration
        if known is None:
            return None
        ranks = np.linspace(1, known.n, min(known.n, SCORED))
        return np.interp(ranks, known.ranks, known.scores)

    def stands(self, score: float) -> str:
        """Where a score stands among those of normal rows, in words."""
        if self.calibration is None:
            return ""
        told, of = self.calibration.told(score), self.origin.split(" ", 1)[1]
        return f"{told} {of}" if told.startswith("above all") else f"{told} of {self.origin}"

    def is_near(self, score: float, alarm: float | None) -> bool:
        """Whether a score is so close to the alarm that little more, or less, would cross it."""
        if alarm is None or self.scores is None:
            return False
        return bool(abs(score - alarm) <= NEAR * (alarm - float(np.median(self.scores))))
