"""What is known before a row is repaired: the alarm, and what is normal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from whyflag.arrays import BoolVector, Matrix, Vector, evenly
from whyflag.domain import Domain
from whyflag.nearness import distance
from whyflag.repair.expected import NEAR, Expected
from whyflag.repair.second_look import SecondLook
from whyflag.repair.values import Values
from whyflag.score import Score, evaluate
from whyflag.score.base import usual_alarm

GOAL_ROWS = 1000  # normal rows that tell the alarm, where the detector names no threshold


@final
@dataclass(frozen=True)
class Known:
    """A score and its normal rows; each figure is computed when it is asked for first.

    Attributes:
        score: The anomaly score, with its threshold.
        domain: Kinds, bounds and features.
        rows: Normal rows, (n, d); None: the typical rows of the domain stand for them.
    """

    score: Score
    domain: Domain
    rows: Matrix | None

    def quiet_near(self, x: Vector) -> Matrix:
        """The nearest normal rows that raise no alarm: (d,) -> (k, d)."""
        quiet = self.expected.rows[self.is_quiet]
        if not len(quiet):
            return quiet
        far = distance((quiet - x) / self.domain.scale).sum(axis=1)
        return quiet[np.argsort(np.round(far, 6), kind="stable")[:NEAR]]

    @cached_property
    def is_quiet(self) -> BoolVector:
        """Normal rows that raise no alarm, (n,)."""
        return self.normal_scores <= self.alarm

    @cached_property
    def normal_scores(self) -> Vector:
        """Their scores, (n,)."""
        return evaluate(self.score, self.expected.rows)

    @property
    def knows_alarm(self) -> bool:
        """Whether the detector names a threshold."""
        return self.score.threshold is not None

    @cached_property
    def alarm(self) -> float:
        """The threshold; without one, a score that 95 % of the normal rows do not exceed."""
        if self.score.threshold is not None:
            return self.score.threshold
        some = evenly(len(self.normal), GOAL_ROWS)
        return usual_alarm(evaluate(self.score, self.normal[some]))

    @cached_property
    def normal(self) -> Matrix:
        """Normal rows; without any, the typical ones of the domain, or its centre."""
        if self.rows is not None:
            return self.rows
        if len(self.domain.typical):
            return self.domain.typical
        anywhere = np.clip(0.0, self.domain.lower, self.domain.upper)
        return np.where(np.isnan(self.domain.center), anywhere, self.domain.center)[None]

    @cached_property
    def inside(self) -> Domain:
        """The domain within the range of the normal rows, where it has no bounds of its own."""
        low, high = self.normal.min(axis=0), self.normal.max(axis=0)
        lower, upper = self.domain.lower, self.domain.upper
        open_low, open_high = (np.flatnonzero(~np.isfinite(each)) for each in (lower, upper))
        return self.domain.having(
            lower={int(j): min(low[j], upper[j]) for j in open_low},
            upper={int(j): max(high[j], lower[j]) for j in open_high},
        )

    @cached_property
    def expected(self) -> Expected:
        """What the rest of a row leads one to expect."""
        return Expected(self.normal, self.domain)

    @cached_property
    def values(self) -> Values:
        """Values that may stand in."""
        return Values(self.expected, self.inside)

    @cached_property
    def second_look(self) -> SecondLook:
        """Who looks at repaired rows once more."""
        return SecondLook(self.expected, self.domain)

    @cached_property
    def patterned(self) -> BoolVector:
        """Columns whose values are tried one by one: categories, groups, 0 and 1, (d,)."""
        members = self.domain.membership
        several = (members & ~self.domain.kinds.settled).sum(axis=1) > 1  # p
        return np.asarray(several @ members | self.domain.binary)
