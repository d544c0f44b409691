"""Which detectors are tried in which world, and on how many rows.

All pairs would take hours. Every world has five of the ten detectors, every second of the table:
those at even positions in the first two worlds, those at odd ones in the next two, and so on. Two
worlds that follow one another are of different halves, so both halves have each detector as often.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.culprits.kinds import FEWEST, N_ROWS

WIDE = 64  # columns: beyond, a cell has fewer rows


def is_planned(world: str, detector: str, worlds: Sequence[str], detectors: Sequence[str]) -> bool:
    """Whether a detector is tried in a world, by their positions in the tables."""
    return (worlds.index(world) // 2 + detectors.index(detector)) % 2 == 0


def rows_of_cell(n_columns: int, asked: int = N_ROWS) -> int:
    """Rows of a cell: fewer in wide worlds."""
    return asked if n_columns <= WIDE else min(asked, FEWEST)
