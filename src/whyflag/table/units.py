"""What is assumed of marks, signs and units of numbers, to be told."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from whyflag.table.codec import MARKS
from whyflag.table.forms import affix_of
from whyflag.table.numbers import Numbers
from whyflag.table.sheet import Cells, number_text, spread, texts_of

SOME = 2000  # cells that tell units
NEARLY_ALL = 0.9  # of the texts must be numbers with units
FEWEST = 3  # different numbers in each of two units; "1st" and "2nd" are none
MOST = 6  # units; more are codes
ORDINALS = {"st", "nd", "rd", "th"}


def example(cells: Cells, codec: Numbers) -> str | None:
    """A number as no program writes it, with as many marks as one has: as it stands, and read."""
    form = codec.form
    if cells.dtype.kind == "f" or form.is_plain_above_zero:
        return None
    texts = texts_of(cells)
    some = [*spread(texts, SOME), max(texts, key=len)]  # few may have thousands, and are long
    read = [text for text in some if np.isfinite(form.number(text))]
    text = max(read, key=form.marks_in, default="")
    if not form.marks_in(text):
        return None
    return f"{' '.join(text.split())!r} for {number_text(form.number(text))}"


def odd_minus(cells: Cells, codec: Numbers) -> str | None:
    """A negative number with its sign behind it, or in parentheses: as it stands, and as read."""
    if cells.dtype.kind == "f":
        return None
    texts = np.strings.rstrip(cells.astype(np.dtypes.StringDType()))
    behind: Any = np.strings.endswith(texts, "-") | np.strings.endswith(texts, "−")
    closed: Any = np.strings.endswith(texts, ")")
    for text in texts[behind | closed].tolist():
        value = codec.form.number(text)
        if value < 0:
            return f"{text.strip()!r} for {number_text(value)}"
    return None


def several_units(cells: Cells, codec: Any) -> str | None:
    """What units the numbers of a column have, and what becomes of them, if these differ."""
    if cells.dtype.kind == "f":
        return None
    texts = {text.strip() for text in texts_of(spread(cells, SOME))} - MARKS - {""}
    units = {text: unit for text in texts if (unit := affix_of(text)) is not None}
    if isinstance(codec, Numbers):
        own = (codec.form.prefix + codec.form.suffix).strip()
        if not own:
            others = {unit for text, unit in units.items() if unit and _unread(codec, text)}
            return f"numbers without one; not read: {_listed(others)}" if others else None
        others = {unit for text, unit in units.items() if unit != own and unit}
        said = [f"not read: {_listed(others)}"] if others else []
        if "" in units.values():
            said.append("those without one count as such")
        return "; ".join([f"numbers in {own!r}", *said]) if said else None
    often = Counter(units.values())
    enough = [unit for unit, count in often.items() if count >= FEWEST]
    if len(units) < NEARLY_ALL * len(texts) or len(enough) < 2 or len(often) > MOST:
        return None
    if often.keys() & ORDINALS:
        return None
    none = " and none" if "" in often else ""
    return f"{_listed(set(often) - {''})}{none}: not read as numbers"


def _unread(codec: Numbers, text: str) -> bool:
    return bool(np.isnan(codec.form.number(text)))


def _listed(units: set[str]) -> str:
    return ", ".join(map(repr, sorted(units)))
