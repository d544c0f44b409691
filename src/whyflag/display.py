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
    if len(columns) == 1:
        return number(values[0], digits)
    name = attribution.feature_names[feature]
    own = [attribution.column_names[column] for column in columns]
    if not all(column.startswith(f"{name}=") for column in own):
        return f"{len(columns)} values"
    if not values.any():
        return "none of the known"
    return own[int(np.argmax(values))].removeprefix(f"{name}=")
