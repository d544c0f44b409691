"""How the page says what it shows."""

from __future__ import annotations

import numpy as np

from whyflag.distribution import Place

SHARED = 0.05  # of normal rows: a value that so many have is told by their number
MIDDLE = (0.25, 0.75)  # what has as many rows below it is nothing unusual


def percent(part: float) -> str:
    """A part of a whole, as finely as its ends need it: never rounded to nothing, or to all.

    >>> [percent(part) for part in (0.0, 0.00004, 0.0012, 0.48, 0.9996, 1.0)]
    ['0 %', 'under 0.01 %', '0.1 %', '48 %', '99.96 %', '100 %']
    """
    if part <= 0 or part >= 1:
        return "100 %" if part >= 1 else "0 %"
    if part < 0.0001:
        return "under 0.01 %"
    if part > 0.9999:
        return "over 99.99 %"
    end = min(part, 1 - part)
    decimals = 0 if end >= 0.01 else 1 if end >= 0.001 else 2
    text = f"{100 * part:.{decimals}f}"
    return f"{text} %"


def lies(place: Place) -> str:
    """Where a value stands among those of normal rows.

    >>> lies(Place(0.0, 0.48)), lies(Place(0.98, 0.0)), lies(Place(1.0, 0.0))
    ('as 48 % of normal rows', 'above 98 % of normal rows', 'above every normal row')
    """
    if place.same >= SHARED:
        return f"as {percent(place.same)} of normal rows"
    if place.below >= 1:
        return "above every normal row"
    if place.below <= 0 and place.same <= 0:
        return "below every normal row"
    if MIDDLE[0] <= place.below <= MIDDLE[1]:
        return "in the middle of normal rows"
    more = place.below >= place.above
    part = place.below if more else place.above
    return f"{'above' if more else 'below'} {percent(part)} of normal rows"


def rows(count: int) -> str:
    """How many rows.

    >>> rows(1), rows(20000)
    ('1 row', '20,000 rows')
    """
    return f"{count:,} row{'' if count == 1 else 's'}"


def shortest(low: float, high: float) -> float:
    """The number with the fewest digits that is at least `low` and below `high`.

    >>> shortest(8994.2, 9120.0), shortest(0.123, 0.2), shortest(-3.0, -2.5)
    (9000.0, 0.13, -3.0)
    """
    width = high - low
    first = int(np.ceil(-np.log10(width))) - 1 if width > 0 else 15
    for decimals in range(first, first + 20):
        step = 10.0**-decimals
        found = float(np.round(np.ceil(np.round(low / step, 9)) * step, max(0, decimals)))
        if low <= found < high:
            return found
    return low
