"""How names and values are shown to people."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from whyflag.arrays import Vector
from whyflag.repair.digits import most_decimals
from whyflag.table.codec import REDACTED, WORDS, State, is_hidden, redacted

if TYPE_CHECKING:
    from whyflag.attribution.base import Attribution

LONGEST_NAME = 28
SHORT = 8  # digits of a number that is shown as it is
EXPONENT = 1e15  # numbers that are as large have one
MOST_FIGURES = 3  # of a feature of several numbers
ANOTHER = "another value"  # instead of one that is not shown
MOST_DIGITS = 17
MOST_LISTED = 6  # values that a number can have


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
        figures = text.partition("e")[0].strip("-0.").replace(".", "")
        if value == round(value) or len(figures) <= SHORT:
            return text
    whole = 10**digits <= abs(value) < EXPONENT
    return f"{value:.0f}" if whole else f"{value:.{digits}g}"


def held(attribution: Attribution, row: Vector, feature: int, digits: int = 4) -> str:
    """What a feature has in a row: a number, a category, or several numbers."""
    if is_redacted(attribution, feature):
        return REDACTED
    columns = attribution.membership[feature]
    values = row[columns]
    if categories := categories_of(attribution, feature):
        if np.isin(values, (0.0, 1.0)).all() and values.sum() > 1:
            return "several at once"
        return categories[int(np.argmax(values))] if values.max() > 0 else "none of the known"
    if codec := attribution.codecs.get(attribution.feature_names[feature]):
        return codec.write(values)
    if len(values) > MOST_FIGURES:
        return f"{len(values)} values"
    return ", ".join(
        number(value, digits, _decimals(attribution, int(column)))
        for value, column in zip(values, np.flatnonzero(columns), strict=True)
    )


def observed(attribution: Attribution, i: int, feature: int, digits: int = 4) -> str:
    """What was observed of a feature, as the table had it."""
    if is_redacted(attribution, feature):
        return redacted(state_of(attribution, i, feature))
    shown = {} if attribution.shown is None else attribution.shown[i]
    name = attribution.feature_names[feature]
    said = shown.get(name) or WORDS.get(state_of(attribution, i, feature))
    return said or held(attribution, attribution.data[i], feature, digits)


def normal(attribution: Attribution, i: int, feature: int, digits: int = 4) -> str | None:
    """What would have been normal, with the rest of the row as it is.

    None where nothing has to change, or nothing is known.
    """
    if attribution.can_be_repaired:
        rows, changed = attribution.repair.told
        if not changed[i, feature]:
            return None
        if is_redacted(attribution, feature):
            return ANOTHER
        said = _instead(attribution, i, feature, rows[i])
        return said or _unlike(attribution, i, rows[i], feature, digits)
    reference = attribution.reference
    return None if reference is None else held(attribution, reference[i], feature, digits)


def _instead(attribution: Attribution, i: int, feature: int, row: Vector) -> str | None:
    """What is said in place of a cell that no normal row has; None of any other."""
    codec = attribution.codecs.get(attribution.feature_names[feature])
    if codec is None or not foreign(attribution, i, feature):
        return None
    return codec.instead(row[attribution.membership[feature]])


def _unlike(attribution: Attribution, i: int, row: Vector, feature: int, digits: int) -> str:
    """What a feature has in a row, in as many digits as tell it from what was observed."""
    seen = observed(attribution, i, feature, digits)
    while (text := held(attribution, row, feature, digits)) == seen and digits < MOST_DIGITS:
        digits += 1
    return text


def normal_range(attribution: Attribution, i: int, feature: int) -> tuple[str, str] | None:
    """The lowest and the highest value that would have been normal of a repaired number."""
    repair, columns = attribution.repair, attribution.membership[feature]
    if is_redacted(attribution, feature) or np.isfinite(repair.lower[i, columns]).sum() != 1:
        return None
    said = _instead(attribution, i, feature, repair.rows[i])
    if said not in (None, held(attribution, repair.rows[i], feature)):
        return None  # the value itself is not told, so neither is how far it can be moved
    return (
        held(attribution, repair.lower[i], feature, digits=3),
        held(attribution, repair.upper[i], feature, digits=3),
    )


def normal_span(attribution: Attribution, i: int, feature: int) -> str | None:
    """How far a repaired number can be moved: "3 to 5", or a list where it is one of few.

    >>> from whyflag import Explainer
    >>> X = np.array([[cylinders, 100.0 * cylinders] for cylinders in (4, 6, 8)] * 20)
    >>> odd = Explainer(lambda rows: abs(rows[:, 0] - 6), X, threshold=2.5)([[60.0, 600.0]])
    >>> normal_range(odd, 0, 0), normal_span(odd, 0, 0)
    (('4', '8'), '4, 6 or 8')
    """
    ends = normal_range(attribution, i, feature)
    if ends is None or ends[0] == ends[1]:
        return None
    repair, column = attribution.repair, int(np.argmax(attribution.membership[feature]))
    known = repair.domain.kinds.given[column]
    if known is not None:
        known = known[(known >= repair.lower[i, column]) & (known <= repair.upper[i, column])]
        step = repair.domain.kinds.step[column]
        has_holes = not (step and np.allclose(np.diff(known), step))
        if len(known) <= MOST_FIGURES or has_holes:
            row, texts = repair.told[0][i].copy(), []
            for value in known:
                row[column] = value
                texts.append(held(attribution, row, feature))
            return (
                in_a_list(texts, "or")
                if len(texts) <= MOST_LISTED
                else (f"one of {len(texts)} values from {texts[0]} to {texts[-1]}")
            )
    return f"{ends[0]} to {ends[1]}"


def in_a_list(texts: Sequence[str], last: str = "and") -> str:
    """Texts with commas, and a word before the last.

    >>> in_a_list(["a", "b", "c"]), in_a_list(["a"])
    ('a, b and c', 'a')
    """
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {last} {texts[-1]}"


def is_redacted(attribution: Attribution, feature: int) -> bool:
    """Whether the values of a feature are not shown."""
    columns = compress(attribution.column_names, attribution.membership[feature])
    return is_hidden(attribution.redacted, attribution.feature_names[feature], columns)


def state_of(attribution: Attribution, i: int, feature: int) -> State:
    """What a cell is: usual, or one for which another value stands in."""
    states = attribution.states
    return State.USUAL if states is None else State(int(states[i, feature]))


def foreign(attribution: Attribution, i: int, feature: int) -> State:
    """What a cell is that no normal row has; usual for all others."""
    added = attribution.added
    if added is None or not added[i, feature]:
        return State.USUAL
    return state_of(attribution, i, feature)


def _decimals(attribution: Attribution, column: int) -> int:
    """How many decimals a column has among the normal rows, as far as that is known."""
    source = attribution.repairer or attribution.repaired
    if source is None:
        return 0
    known = int(source.domain.kinds.decimals[column])
    # Of a column that can hold any number: those of a repaired one.
    return max(0, known if known >= 0 else most_decimals(float(source.domain.scale[column])))


def categories_of(attribution: Attribution, feature: int) -> tuple[str, ...]:
    """The names of the columns of a feature that is a category; none of another."""
    return attribution.categories.get(attribution.feature_names[feature], ())
