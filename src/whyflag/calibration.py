"""Where an alarm lies among the scores of normal rows that the detector has not seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, final

import numpy as np

from whyflag.arrays import IntVector, Vector
from whyflag.checks import check_number

HIGHEST = 256  # scores that are kept one by one, where alarms are
SPREAD = 256  # others that are kept, evenly spread


@final
@dataclass(frozen=True, eq=False, repr=False)
class Calibration:
    """An alarm, and the scores of held-out normal rows behind it.

    Attributes:
        threshold: A higher score is an alarm.
        asked: The part of normal rows that may raise an alarm.
        promised: The part that does so at the most: (n + 1 − m) / (n + 1), where the threshold is
            the m-th lowest of n held-out scores. It is larger than `asked` where n is too small.
        n: How many rows were held out.
        scores: Their scores, from the lowest; of many rows some of them, (k,).
        ranks: Which of the n each of these is, from 1, (k,).

    >>> normal = Calibration.of(np.arange(1.0, 200.0), asked=0.01)
    >>> normal
    Calibration(alarm above 198: at most 1 % of normal rows, by 199 rows that were held out)
    >>> normal.severity(np.array([0.0, 100.0, 1e6])).round(1).tolist()
    [0.0, 49.7, 100.0]
    """

    threshold: float
    asked: float
    promised: float
    n: int
    scores: Vector
    ranks: IntVector

    @classmethod
    def of(cls, scores: Vector, asked: float = 0.01) -> Calibration:
        """Calibrate by the scores of normal rows that the detector has not seen, (n,)."""
        threshold, promised = alarm(scores, asked)
        return cls.known(scores, threshold, asked, promised)

    @classmethod
    def known(cls, scores: Vector, threshold: float, asked: float, promised: float) -> Calibration:
        """The same where the alarm is known."""
        ordered, n = np.sort(scores), len(scores)
        low = max(0, n - HIGHEST)
        spread = np.unique(np.linspace(0, low - 1, SPREAD).round()) if low else np.empty(0)
        kept = np.concatenate([spread, np.arange(low, n)]).astype(np.int64)
        return cls(threshold, asked, promised, n, ordered[kept], kept + 1)

    def __repr__(self) -> str:
        return f"Calibration(alarm above {self.threshold:.4g}: {self.promise})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Calibration) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def below(self, scores: Vector) -> IntVector:
        """How many held-out rows have lower scores than each of these: (m,) -> (m,)."""
        after = np.searchsorted(self.scores, scores, side="left")  # m
        scale = np.concatenate([[0], self.ranks, [self.n + 1]])
        ends = np.concatenate([self.scores[:1], self.scores, self.scores[-1:]])
        width = ends[after + 1] - ends[after]
        part = np.divide(scores - ends[after], width, out=np.zeros(len(scores)), where=width > 0)
        between = scale[after + 1] - 1 - scale[after]  # held-out rows between two that are kept
        return scale[after] + np.floor(np.clip(part, 0, 1) * between).astype(np.int64)

    def severity(self, scores: Vector) -> Vector:
        """In how many per cent of held-out normal rows the score is lower: (m,) -> (m,)."""
        return 100.0 * self.below(scores) / self.n

    def told(self, score: float) -> str:
        """Where a score stands among those of held-out normal rows, in words."""
        below = int(self.below(np.array([score]))[0])
        if below == self.n:
            return f"above all {self.n:,}"
        # Rounded down: what is not above all is not said to be above 100 %.
        digits = 10 if self.n <= 1000 else 100
        return f"above {int(100 * digits * below / self.n) / digits:g} %"

    @property
    def promise(self) -> str:
        """What the alarm promises, and what it is known by, in words."""
        by = f"{self.n:,} rows that were held out"
        if self.promised <= self.asked * (1 + 1e-9):
            return f"at most {_percent(self.asked)} of normal rows, by {by}"
        said = f"at most {_percent(self.promised)} of normal rows"
        needed = ceil(1 / self.asked - 1 - 1e-9)
        if self.n < needed:
            return f"{said}; for {_percent(self.asked)} it takes {needed:,} rows, not {self.n:,}"
        return (
            f"{said}, not {_percent(self.asked)}: so many of {by} have cells of a kind that no "
            "other row has"
        )

    def to_json(self) -> dict[str, Any]:
        """The calibration as JSON would have it."""
        return {
            "threshold": self.threshold,
            "asked": self.asked,
            "promised": self.promised,
            "n": self.n,
            "scores": self.scores.tolist(),
            "ranks": self.ranks.tolist(),
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Calibration:
        """A calibration that `to_json` wrote."""
        scores = np.array(content["scores"], dtype=np.float64)
        ranks = np.array(content["ranks"], dtype=np.int64)
        n = int(content["n"])
        rising = len(ranks) and ranks[0] >= 1 and ranks[-1] == n and (np.diff(ranks) > 0).all()
        if scores.shape != ranks.shape or not rising or not (np.diff(scores) >= 0).all():
            raise ValueError(f"{len(scores)} held-out scores have ranks that do not fit them")
        threshold, asked, promised = (
            float(content[name]) for name in ("threshold", "asked", "promised")
        )
        if not np.isfinite([threshold, asked, promised, *scores]).all():
            raise ValueError("a threshold or a held-out score is not finite")
        return cls(threshold, asked, promised, n, scores, ranks)


def _percent(part: float) -> str:
    return f"{100 * part:.2g} %"


def alarm(scores: Vector, asked: float) -> tuple[float, float]:
    """The threshold by held-out scores, and the part of normal rows that is above it at the most.

    A new row's score is as likely to have any rank among n others. With the m-th lowest of these as
    threshold, m = ⌈(1 − asked)(n + 1)⌉, it is above it with a probability of (n + 1 − m) / (n + 1)
    at the most. If n is below 1 / asked − 1 there is no such m: then it is the highest. An infinite
    score stands for a row that raises the alarm whatever the threshold.

    >>> alarm(np.arange(1.0, 50.0), 0.01)
    (49.0, 0.02)
    """
    check_number("asked", asked, above=0, at_most=0.5)
    ordered = np.sort(scores[np.isfinite(scores)])
    n = len(scores)
    if not len(ordered):
        raise ValueError(f"There must be held-out rows with finite scores, got {n} scores.")
    m = min(ceil((1 - asked) * (n + 1) - 1e-9), len(ordered))
    return float(ordered[m - 1]), (n + 1 - m) / (n + 1)
