"""Two halves: one to choose methods by, one to report.

Every second world and every second kind, in the order of their tables, is of the half "choose"; the
others are of the half "report". The order of the tables was written before any result, and what is
new goes to their ends. A cell belongs to a half if its world and its kind do: the others, in which
one of the two was there when methods were chosen, are in neither.
"""

from __future__ import annotations

from collections.abc import Iterable

CHOOSE, REPORT = "choose", "report"
HALVES = (CHOOSE, REPORT)


def half_of(name: str, table: Iterable[str]) -> str:
    """The half of a world or a kind, by its position in the table."""
    return HALVES[list(table).index(name) % 2]


def members(half: str, table: Iterable[str]) -> list[str]:
    """The worlds or kinds of a half."""
    names = list(table)
    return [name for name in names if half_of(name, names) == half]
