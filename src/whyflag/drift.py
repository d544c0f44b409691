"""Whether what is normal has changed: most rows since some row are flagged for the same reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, IntMatrix, Matrix, Vector
from whyflag.distribution import LEVELS, Distribution
from whyflag.domain import Domain

BLOCK = 100  # rows that are counted together
FEWEST = 20  # rows of a run
PART = 0.1  # of all rows must be in the run
EXCESS = 8  # flagged rows above half of the run, which scattered ones do not reach by chance
TAIL = 0.1  # of normal rows are in each end of a column
SAME = 0.5  # of the flagged rows must be in the same end of a column, beyond what is normal
MOST_NAMED = 5


@final
@dataclass(frozen=True)
class Drift:
    """Rows of which most are flagged for the same reason.

    Attributes:
        since: The first of them, from 1.
        n_rows: How many there are from there on.
        n_flagged: How many of these are flagged.
        features: What is other than it was, what is so most often first.
    """

    since: int
    n_rows: int
    n_flagged: int
    features: tuple[str, ...]

    def __str__(self) -> str:
        names = ", ".join(repr(name) for name in self.features[:MOST_NAMED])
        more = len(self.features) - MOST_NAMED
        names += f" and {more} more" if more > 0 else ""
        return (
            f"Since row {self.since:,}, {self.n_flagged:,} of {self.n_rows:,} rows are flagged, "
            f"and most of them for {names}: what is normal "
            "seems to have changed. Fit a new model if it has."
        )


@final
class DriftWatch:
    """Looks at scored rows, a part at a time, and says whether normal seems to have changed.

    A run of rows goes on to the last one, and more than half of it is flagged. It is a drift if
    half of its flagged rows or more have the same cell in the highest or lowest tenth of normal
    values, have the same category (beyond how often normal rows have it), or a foreign cell in the
    same column. Memory grows by a few bytes for each row.

    Args:
        normal: How normal values are distributed.
        domain: The columns and the players.
    """

    def __init__(self, normal: Distribution, domain: Domain) -> None:
        self._domain = domain
        # A column of 0 and 1 has no ends: how often it is 1 counts, beyond how often it was.
        self._binary = np.asarray(np.isin(normal.quantiles, (0.0, 1.0)).all(axis=0))  # d
        self._usual = np.where(self._binary, normal.mean, 0.0)
        low, high = (int(np.searchsorted(LEVELS, level)) for level in (TAIL, 1 - TAIL))
        self._low, self._high = normal.quantiles[low], normal.quantiles[high]
        self._flagged: list[BoolVector] = []
        self._counts: list[IntMatrix] = []  # of each block: below, above, foreign

    def see(self, rows: Matrix, foreign: BoolMatrix | None, flagged: BoolVector) -> None:
        """Take the next rows: (n, d), (n, p), (n,)."""
        for begin in range(0, len(rows), BLOCK):
            part = slice(begin, begin + BLOCK)
            self._flagged.append(flagged[part])
            self._counts.append(self._count(rows[part], foreign, flagged[part], part))

    def _count(
        self, rows: Matrix, foreign: BoolMatrix | None, flagged: BoolVector, part: slice
    ) -> IntMatrix:
        """Of the flagged rows of a block how many are odd in each column, and how: (2 d + p,)."""
        odd = rows[flagged]
        below = (odd < self._low) & ~self._binary
        above = np.where(self._binary, odd == 1, odd > self._high)
        none = np.zeros((1, self._domain.n_players), dtype=np.bool_)
        cells = none if foreign is None else foreign[part][flagged]
        return np.concatenate([each.sum(axis=0) for each in (below, above, cells)]).astype(np.uint8)

    def found(self) -> Drift | None:
        """The drift, as far as the rows that have been seen tell."""
        if not self._flagged:
            return None
        flagged: BoolVector = np.concatenate(self._flagged)
        steps: Vector = np.where(flagged, 0.5, -0.5)
        after: Vector = np.cumsum(steps[::-1])[::-1]  # from each row to the last
        since = int(np.argmax(after))
        n_rows = len(flagged) - since
        if n_rows < max(FEWEST, PART * len(flagged)) or after[since] < EXCESS / 2:
            return None
        features = self._reasons(since)
        if not features:
            return None
        return Drift(since + 1, n_rows, int(flagged[since:].sum()), features)

    def _reasons(self, since: int) -> tuple[str, ...]:
        """What most flagged rows of a run have in common, by the blocks that it fills."""
        begins = np.concatenate([[0], np.cumsum([len(each) for each in self._flagged])[:-1]])
        first = min(int(np.searchsorted(begins, since)), len(begins) - 1)
        n = sum(int(each.sum()) for each in self._flagged[first:])
        counts: Vector = np.array(self._counts[first:], dtype=np.float64).sum(axis=0) / max(n, 1)
        d = len(self._binary)
        below, above, foreign = counts[:d], counts[d : 2 * d] - self._usual, counts[2 * d :]
        strength = np.maximum(below, above)  # d
        by_player = np.where(self._domain.membership, strength, 0.0).max(axis=1)
        most = np.maximum(by_player, foreign)  # p
        order = np.argsort(-most, kind="stable")
        return tuple(self._domain.player_names[j] for j in order if most[j] >= SAME)
