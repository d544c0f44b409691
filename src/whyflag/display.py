"""How names and values are shown to people."""

from __future__ import annotations

import numpy as np

from whyflag.arrays import Vector
from whyflag.attribution import Attribution

LONGEST_NAME = 28


def shorten(name: str, most: int = LONGEST_NAME) -> str:
    """A name that fits: its ends are kept, which is where long names differ.

    >>> shorten("temperature of the second bearing, 3 s earlier", 24)
    'temperature… 3 s earlier'
    """
    if len(name) <= most:
        return name
    head = (most - 1) // 2
    return f"{name[:head]}…{name[len(name) - (most - 1 - head) :]}"


def number(value: float, digits: int = 4) -> str:
    """A number in a few characters.

    >>> number(1234.5678), number(0.00012345), number(3.0)
    ('1235', '0.0001234', '3')
    """
    return f"{value:.{digits}g}"


def held(attribution: Attribution, row: Vector, feature: int, digits: int = 4) -> str:
    """What a feature has in a row: a number, a category, or how many values."""
    columns = np.flatnonzero(attribution.membership[feature])
    values = row[columns]
    if categories := categories_of(attribution, feature):
        return categories[int(np.argmax(values))] if values.any() else "none of the known"
    return number(values[0], digits) if len(columns) == 1 else f"{len(columns)} values"


def categories_of(attribution: Attribution, feature: int) -> list[str]:
    """The categories of a feature in one-hot columns, named as in "colour=red"; else none."""
    columns = np.flatnonzero(attribution.membership[feature])
    own = [attribution.column_names[column] for column in columns]
    name = f"{attribution.feature_names[feature]}="
    if not all(column.startswith(name) for column in own):
        return []
    return [column.removeprefix(name) for column in own]
