"""What a column of texts is: numbers, times, categories, or what does not count."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from whyflag.arrays import Vector
from whyflag.table.categories import Categories
from whyflag.table.codec import MARKS, Codec, marks_in
from whyflag.table.forms import PLAIN, Form, decimals_of, form_of, minus_of
from whyflag.table.numbers import FAR, Numbers, negative_from
from whyflag.table.schema import listed
from whyflag.table.sheet import EXACT, Cells, spread, text_cells, texts_of
from whyflag.table.times import DAY_IN_DIGITS, Times, forms_of, seconds, zones_of

CLOCK = (1e9, 4.2e9)  # seconds since 1970: from 2001 to 2103
MOST_CATEGORIES = 50  # of a column of texts
MOST_TOLD = 1000  # of a column that is told to be a category
NEARLY_ALL = 0.9  # of its cells must be numbers for a column to be one of numbers
MOSTLY = 0.5  # of a column's values are numbers: that is worth saying where it is left out
FEWEST_NAMES = 10  # rows from which different values are taken for names
SOME = 2000  # different texts that tell how numbers and times are written
_GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+")
_DAY = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])([0-2]\d|3[01])")
_NAME = re.compile(
    r"(^|[^a-zA-Z])(id|nr|no|num|number|key|index|uuid|guid|code)$|[a-z]I[Dd]$", re.I
)


class TooManyCategoriesError(ValueError):
    """A column that is told to be a category has more different texts than categories have."""


@final
@dataclass(frozen=True)
class Left:
    """A column that does not count."""

    reason: str
    is_name: bool = False  # whether it names the rows


def recognise(name: str, cells: Cells, told: str, commas: bool, where: str) -> Codec | Left:
    """What a column is."""
    kind, _, how = told.partition(":")
    texts = [text.strip() for text in texts_of(cells)]
    counts = Counter(texts)
    present = [text for text in counts if text and text not in MARKS]
    if kind == "category":
        return _told_category(name, counts, where)
    if not present and not any(counts[mark] for mark in MARKS):
        return Left("no value at all")
    if kind in ("number", "time") and not present:
        raise ValueError(f"{where}: column {name!r} is told to hold {kind}s, and has none.")
    if not kind and present and all(map(_DAY.fullmatch, present)):
        kind, how = "time", DAY_IN_DIGITS
    if kind in ("", "number") and present:
        form = Form(how[:1].strip("_"), how[1:2] or ".") if how else None
        numbers = _numbers_of(counts, present, commas, form, told=bool(kind))
        if numbers is not None:
            return numbers if kind else _name_or_number(name, texts, numbers)
        if kind:
            raise ValueError(
                f"{where}: column {name!r} is told to hold numbers, got {listed(present, 3)}."
            )
    if kind in ("", "time") and present:
        times = _times_of(counts, present, how, told=bool(kind))
        if times is not None:
            return times
        if kind:
            raise ValueError(
                f"{where}: column {name!r} is told to hold times, got {listed(present, 3)}."
            )
    found = _category_or_text(texts, counts)
    if isinstance(found, Left) and not found.is_name:
        part = _part_of_numbers(counts, present, commas)
        if MOSTLY <= part < NEARLY_ALL:
            return Left(
                f"{found.reason}; {100 * part:.0f} % of its values are numbers, and as a column "
                "of type number it would count"
            )
    return found


def _part_of_numbers(counts: Counter[str], present: Sequence[str], commas: bool) -> float:
    """What part of the values of a column are numbers."""
    is_number = np.isfinite(_form_of(spread(present, SOME), commas).numbers(text_cells(present)))
    often = np.array([counts[text] for text in present])
    return float(often[is_number].sum() / often.sum())


def _numbers_of(
    counts: Counter[str], present: Sequence[str], commas: bool, form: Form | None, *, told: bool
) -> Numbers | None:
    """What is learnt of a column of numbers; None if it is none."""
    cells = text_cells(present)
    if form is None:
        some = spread(present, SOME)
        form = _form_of(some, commas)
        if not told and not np.isfinite(form.numbers(text_cells(some))).mean() >= NEARLY_ALL / 2:
            return None
        form = _form_of_rest(form, cells, commas)
    values = form.numbers(cells)
    often = np.array([counts[text] for text in present], dtype=np.float64)
    finite = np.isfinite(values)
    finite &= np.abs(values) <= _measure(np.abs(values[finite]), often[finite])
    if not finite.any() or not (told or often[finite].sum() >= NEARLY_ALL * often.sum()):
        return None
    if not told and form.is_plain and _are_codes(counts, present):
        return None
    return Numbers(
        replace(form, minus=minus_of(spread(cells[finite & (values < 0)], SOME), form)),
        marks_in(list(counts)),
        _median(values[finite], often[finite]),
        float(values[finite].min()),
        float(values[finite].max()),
        decimals_of(spread(cells[finite], SOME), form),
        negative_from(np.repeat(values[finite], often[finite].astype(np.int64))),
    )


def _form_of(some: Sequence[str], commas: bool) -> Form:
    """How numbers among some of the different texts are written."""
    form = form_of(some, commas_are_decimal=commas)
    return Form(".", ",") if commas and form == PLAIN and all_grouped(some) else form


def _form_of_rest(form: Form, cells: Cells, commas: bool) -> Form:
    """A form that reads more of the different texts, if those that stay unread tell one."""
    read = np.isfinite(form.numbers(cells))
    if len(cells) <= SOME or read.all():
        return form
    other = _form_of([*spread(cells, SOME), *spread(cells[~read], SOME)], commas)
    return other if np.isfinite(other.numbers(cells)).sum() > read.sum() else form


def _measure(sizes: Vector, often: Vector) -> float:
    """The largest size, but for a few that are beyond all measure: nothing lies between."""
    order = np.argsort(sizes)
    sizes, above = sizes[order], often[order][::-1].cumsum()[::-1]
    few = above <= (1 - NEARLY_ALL) * often.sum()
    jumps = few[1:] & (sizes[1:] / FAR > sizes[:-1]) & (sizes[:-1] > 0)
    last = int(np.argmax(jumps)) if jumps.any() else len(sizes) - 1
    return float(sizes[last]) if len(sizes) else 0.0


def all_grouped(texts: Sequence[str]) -> bool:
    """Whether each point in texts may be one of thousands: "1.234", and never "1.5"."""
    pointed = [text for text in texts if "." in text]
    return bool(pointed) and all(_GROUPED.fullmatch(text) for text in pointed)


def _are_codes(counts: Counter[str], present: Sequence[str]) -> bool:
    """Whether digits are names: they begin with 0, or are more than a number can hold."""
    digits = [text for text in present if text.lstrip("-").isdecimal()]
    if any(len(text) > 15 and abs(int(text[:400])) > EXACT for text in digits):
        return True
    led = [text for text in digits if len(text) > 1 and text[0] == "0"]
    same = len({len(text) for text in present}) == 1
    part = sum(counts[text] for text in led) / sum(counts[text] for text in present)
    return bool(led) and (same or part > 0.01)


def _median(values: Vector, often: Vector) -> float:
    order = np.argsort(values)
    half = np.searchsorted(np.cumsum(often[order]), often.sum() / 2)
    return float(values[order[half]])


def _name_or_number(name: str, texts: Sequence[str], numbers: Numbers) -> Numbers | Left:
    """A column of whole numbers that rise from row to row, or differ and are called an id."""
    n = len(texts)
    whole = numbers.form.is_plain_above_zero and numbers.decimals == 0
    if not whole or n < FEWEST_NAMES:
        return numbers
    values = numbers.form.numbers(text_cells(texts))
    if _is_clock(values[np.isfinite(values)]):
        # Whatever comes later would be beyond all that was seen.
        return Left("seconds since 1970 that never fall from row to row")
    if len(set(texts)) < n:
        return numbers
    if (np.diff(values) > 0).all():
        return Left("whole numbers that rise from row to row", is_name=True)
    if np.isfinite(values).all() and (_NAME.search(name) or np.ptp(values) < 1.1 * n):
        return Left("a different whole number in each row", is_name=True)
    return numbers


def _is_clock(values: Vector) -> bool:
    """Whether numbers are seconds of these times, or thousandths, in the order of time."""
    rises = len(values) > 1 and bool((np.diff(values) >= 0).all()) and values[0] < values[-1]
    return rises and any(
        low <= values[0] and values[-1] < high for low, high in (CLOCK, 1000 * np.array(CLOCK))
    )


def _times_of(
    counts: Counter[str], present: Sequence[str], how: str, *, told: bool
) -> Times | None:
    """What is learnt of a column of times; None if it is none."""
    if not told and all(text.isdecimal() for text in spread(present, SOME)):
        return None  # codes: 0059 is a year to none but programs
    forms = [how] if how else forms_of(spread(present, SOME))
    if not forms:
        return None
    since = seconds(present, forms[0])
    read = np.isfinite(since)
    often = np.array([counts[text] for text in present])
    if often[read].sum() < NEARLY_ALL * often.sum():
        return None
    zones = zones_of(text for text, is_time in zip(present, read, strict=True) if is_time)
    marks = marks_in(list(counts))
    return Times.of(np.repeat(since[read], often[read]), forms[0], marks, zones)


def _category_or_text(texts: Sequence[str], counts: Counter[str]) -> Categories | Left:
    different = len(counts) - ("" in counts)
    filled = len(texts) - counts[""]
    if different == filled >= FEWEST_NAMES:
        return Left("a different text in each row", is_name=True)
    if different > MOST_CATEGORIES or 2 * different > max(filled, 2):
        return Left(f"{different} different texts")
    return categories_of(counts)


def _told_category(name: str, counts: Counter[str], where: str) -> Categories:
    if len(counts) > MOST_TOLD:
        raise TooManyCategoriesError(
            f"Column {name!r} of {where} has {len(counts)} different texts: too many for "
            f"categories ({MOST_TOLD} at most)."
        )
    return categories_of(counts)


def categories_of(counts: Counter[str]) -> Categories:
    """What is learnt of a column of these texts, if they are categories."""
    known = tuple(sorted(counts))
    by_count = sorted(known, key=lambda text: -counts[text])
    return Categories(known, by_count[0], by_count[-1])
