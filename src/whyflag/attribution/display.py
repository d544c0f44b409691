"""How names and values are shown to people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whyflag.arrays import Vector

if TYPE_CHECKING:
    from whyflag.attribution.base import Attribution

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
    values = row[attribution.membership[feature]]
    if categories := categories_of(attribution, feature):
        return categories[int(np.argmax(values))] if values.any() else "none of the known"
    return number(values[0], digits) if len(values) == 1 else f"{len(values)} values"


def observed(attribution: Attribution, i: int, feature: int, digits: int = 4) -> str:
    """What was observed of a feature, as the table had it."""
    shown = {} if attribution.shown is None else attribution.shown[i]
    name = attribution.feature_names[feature]
    return shown.get(name) or held(attribution, attribution.data[i], feature, digits)


def normal(attribution: Attribution, i: int, feature: int, digits: int = 4) -> str | None:
    """What would have been normal of a feature; None where the method has no such value."""
    reference = attribution.reference
    return None if reference is None else held(attribution, reference[i], feature, digits)


def categories_of(attribution: Attribution, feature: int) -> tuple[str, ...]:
    """The names of the columns of a feature that is a category; none of another."""
    return attribution.categories.get(attribution.feature_names[feature], ())
