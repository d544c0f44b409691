"""How names and values are shown to people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whyflag.arrays import Vector

if TYPE_CHECKING:
    from whyflag.attribution.base import Attribution

LONGEST_NAME = 28
SHORT = 6  # digits of a number that is shown as it is
EXPONENT = 1e15  # numbers that are as large have one


def shorten(name: str, most: int = LONGEST_NAME) -> str:
    """A name that fits: its ends are kept, which is where long names differ.

    >>> shorten("temperature of the second bearing, 3 s earlier", 24)
    'temperature… 3 s earlier'
    """
    if len(name) <= most:
        return name
    head = (most - 1) // 2
    return f"{name[:head]}…{name[len(name) - (most - 1 - head) :]}"


def number(value: float, digits: int = 4, decimals: int = 0) -> str:
    """A number in a few characters; a whole or a short one with these decimals as it is.

    >>> number(1234.5678), number(0.00012345), number(71000.0), number(20.125, decimals=3)
    ('1235', '0.0001234', '71000', '20.125')
    """
    if abs(value) < EXPONENT and np.round(value, decimals) == value:
        text = f"{value:.15g}"
        if value == round(value) or len(text.strip("-0.").replace(".", "")) <= SHORT:
            return text
    whole = 10**digits <= abs(value) < EXPONENT
    return f"{value:.0f}" if whole else f"{value:.{digits}g}"


def held(attribution: Attribution, row: Vector, feature: int, digits: int = 4) -> str:
    """What a feature has in a row: a number, a category, or how many values."""
    columns = attribution.membership[feature]
    values = row[columns]
    if categories := categories_of(attribution, feature):
        if np.isin(values, (0.0, 1.0)).all() and values.sum() > 1:
            return "several at once"
        return categories[int(np.argmax(values))] if values.max() > 0 else "none of the known"
    if codec := attribution.codecs.get(attribution.feature_names[feature]):
        return codec.write(values)
    if len(values) > 1:
        return f"{len(values)} values"
    return number(values[0], digits, _decimals(attribution, int(np.argmax(columns))))


def observed(attribution: Attribution, i: int, feature: int, digits: int = 4) -> str:
    """What was observed of a feature, as the table had it."""
    shown = {} if attribution.shown is None else attribution.shown[i]
    name = attribution.feature_names[feature]
    return shown.get(name) or held(attribution, attribution.data[i], feature, digits)


def normal(attribution: Attribution, i: int, feature: int, digits: int = 4) -> str | None:
    """What would have been normal, with the rest of the row as it is.

    None where nothing has to change, or nothing is known.
    """
    if attribution.can_be_repaired:
        repair = attribution.repair
        changed = repair.changed[i, feature]
        return held(attribution, repair.rows[i], feature, digits) if changed else None
    reference = attribution.reference
    return None if reference is None else held(attribution, reference[i], feature, digits)


def normal_range(attribution: Attribution, i: int, feature: int) -> tuple[str, str] | None:
    """The lowest and the highest value that would have been normal of a repaired number."""
    repair, columns = attribution.repair, attribution.membership[feature]
    if columns.sum() > 1 or not np.isfinite(repair.lower[i, columns]).all():
        return None
    return (
        held(attribution, repair.lower[i], feature, digits=3),
        held(attribution, repair.upper[i], feature, digits=3),
    )


def _decimals(attribution: Attribution, column: int) -> int:
    """How many decimals a column has among the normal rows, as far as that is known."""
    source = attribution.repairer or attribution.repaired
    return 0 if source is None else max(0, int(source.domain.kinds.decimals[column]))


def categories_of(attribution: Attribution, feature: int) -> tuple[str, ...]:
    """The names of the columns of a feature that is a category; none of another."""
    return attribution.categories.get(attribution.feature_names[feature], ())
