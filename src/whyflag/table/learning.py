"""From all normal rows: what each column of a table is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import final

import numpy as np

from whyflag.arrays import Vector
from whyflag.table.categories import Categories
from whyflag.table.codec import MARKS, Codec, State, marks_in
from whyflag.table.numbers import PLAIN, Form, Numbers, decimals_of, form_of
from whyflag.table.schema import Column, Schema, listed
from whyflag.table.sheet import EXACT, Cells, Sheet, text_cells, texts_of
from whyflag.table.times import Times, forms_of, seconds

MOST_CATEGORIES = 50  # of a column of texts
MOST_TOLD = 1000  # of a column that is told to be a category
NEARLY_ALL = 0.9  # of its cells must be numbers for a column to be one of numbers
FEWEST_NAMES = 10  # rows from which different values are taken for names
SOME = 2000  # different texts that tell how numbers and times are written
NOT_CHOSEN = "not chosen"
KINDS = ("number", "category", "time", "id")
_NAME = re.compile(
    r"(^|[^a-zA-Z])(id|nr|no|num|number|key|index|uuid|guid|code)$|[a-z]I[Dd]$", re.I
)
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,(\d{1,2}|\d{4,})|[-+]?\d{1,3}(\.\d{3})+,\d+")
_COMMA = re.compile(r"[-+]?\d+,\d+")
_GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+")


class TooManyCategoriesError(ValueError):
    """A column that is told to be a category has more different texts than categories have."""


@final
@dataclass(frozen=True)
class Left:
    """A column that does not count."""

    reason: str
    is_name: bool = False  # whether it names the rows


def learn(
    sheet: Sheet,
    *,
    columns: Sequence[str],
    exclude: Sequence[str],
    types: Mapping[str, str],
    id_column: str | None,
    rare: float,
    where: str,
) -> Schema:
    """Learn what the columns of a sheet are; the arguments are those of `Schema.of`."""
    chosen = _chosen(sheet, columns, exclude, types, id_column, where)
    named = [name for name, told in types.items() if told == "id"]
    id_column = id_column or next(iter(named), None)
    told_id = id_column is not None
    commas = _has_decimal_commas(sheet)
    found = {
        name: _codec_of(name, sheet.cells[name], types.get(name, ""), commas, where)
        for name in sheet.columns
        if name in chosen and name != id_column
    }
    if id_column is None:
        id_column = _first_name(found, sheet)
    codecs = {name: each for name, each in found.items() if isinstance(each, Codec)}
    left = {name: each.reason for name, each in found.items() if isinstance(each, Left)}
    if id_column is not None:
        left.pop(id_column, None)
    if not codecs:
        why = "; ".join(f"{name!r}: {reason}" for name, reason in left.items())
        raise ValueError(f"{where} has no column that counts: {why or 'all are left out'}.")
    limit = rare * len(sheet) / len(codecs)
    described = tuple(
        Column(name, codec, usual_states(codec, sheet.cells[name], limit))
        for name, codec in codecs.items()
    )
    left |= {name: NOT_CHOSEN for name in sheet.columns if name not in (*chosen, id_column)}
    schema = Schema(described, id_column, left)
    return replace(schema, assumed=_assumed(sheet, schema, found, commas, told_id))


def _chosen(
    sheet: Sheet,
    columns: Sequence[str],
    exclude: Sequence[str],
    types: Mapping[str, str],
    id_column: str | None,
    where: str,
) -> list[str]:
    """The names of the columns that may count; all that is wrong with the choice in one message."""
    wrong = [
        f"it has no column {pattern!r}"
        for pattern in (*columns, *exclude, *types, *([id_column] if id_column else []))
        if not _matching(pattern, sheet.columns)
    ]
    wrong += [
        f"the type of {name!r} must be one of {', '.join(KINDS)}, got {told!r}"
        for name, told in types.items()
        if told.partition(":")[0] not in KINDS
    ]
    picked = [name for name in sheet.columns if any(_matches(name, each) for each in columns)]
    if id_column in picked:
        wrong.append(f"{id_column!r} names the rows, so it can not count as well")
    if wrong:
        raise ValueError(f"{where}: {'; '.join(wrong)}. It has {listed(sheet.columns)}.")
    return [
        name
        for name in (picked or sheet.columns)
        if not any(_matches(name, each) for each in exclude)
    ]


def _matching(pattern: str, names: Sequence[str]) -> bool:
    return any(_matches(name, pattern) for name in names)


def _matches(name: str, pattern: str) -> bool:
    return name == pattern or fnmatchcase(name, pattern)


def _codec_of(name: str, cells: Cells, told: str, commas: bool, where: str) -> Codec | Left:
    """What a column is."""
    kind, _, how = told.partition(":")
    texts = [text.strip() for text in texts_of(cells)]
    counts = Counter(texts)
    present = [text for text in counts if text and text not in MARKS]
    if kind == "category":
        return _told_category(name, counts, where)
    if not present and not any(counts[mark] for mark in MARKS):
        return Left("no value at all")
    if kind in ("", "number"):
        form = Form(how[:1].strip("_"), how[1:2] or ".") if how else None
        numbers = _numbers_of(counts, present, commas, form, told=bool(kind))
        if numbers is not None:
            return numbers if kind else _name_or_number(name, texts, numbers)
        if kind:
            raise ValueError(
                f"{where}: column {name!r} is told to hold numbers, got {listed(present, 3)}."
            )
    if kind in ("", "time"):
        times = _times_of(counts, present, how)
        if times is not None:
            return times
        if kind:
            raise ValueError(
                f"{where}: column {name!r} is told to hold times, got {listed(present, 3)}."
            )
    return _category_or_text(texts, counts)


def _numbers_of(
    counts: Counter[str], present: Sequence[str], commas: bool, form: Form | None, *, told: bool
) -> Numbers | None:
    """What is learnt of a column of numbers; None if it is none."""
    some = present[:SOME]
    if form is None:
        form = form_of(some, commas_are_decimal=commas)
        if commas and form == PLAIN and _all_grouped(some):
            form = Form(".", ",")
    if not told and not np.isfinite(form.numbers(text_cells(some))).mean() >= NEARLY_ALL / 2:
        return None
    values = form.numbers(text_cells(present))
    often = np.array([counts[text] for text in present], dtype=np.float64)
    finite = np.isfinite(values)
    if not finite.any() or not (told or often[finite].sum() >= NEARLY_ALL * often.sum()):
        return None
    if not told and form.is_plain and _are_codes(counts, present):
        return None
    read = [text for text, is_number in zip(some, finite, strict=False) if is_number]
    return Numbers(
        form,
        marks_in(list(counts)),
        _median(values[finite], often[finite]),
        float(values[finite].min()),
        float(values[finite].max()),
        decimals_of(read, form),
    )


def _all_grouped(texts: Sequence[str]) -> bool:
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
    whole = numbers.form.is_plain and numbers.decimals == 0
    if not whole or n < FEWEST_NAMES or len(set(texts)) < n:
        return numbers
    values = numbers.form.numbers(text_cells(texts))
    if (np.diff(values) > 0).all():
        return Left("whole numbers that rise from row to row", is_name=True)
    if np.isfinite(values).all() and (_NAME.search(name) or np.ptp(values) < 1.1 * n):
        return Left("a different whole number in each row", is_name=True)
    return numbers


def _times_of(counts: Counter[str], present: Sequence[str], how: str) -> Times | None:
    """What is learnt of a column of times; None if it is none."""
    forms = [how] if how else forms_of(present[:SOME])
    if not forms:
        return None
    since = seconds(present, forms[0])
    read = np.isfinite(since)
    often = np.array([counts[text] for text in present])
    if often[read].sum() < NEARLY_ALL * often.sum():
        return None
    return Times.of(np.repeat(since[read], often[read]), forms[0], marks_in(list(counts)))


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


def _first_name(found: Mapping[str, Codec | Left], sheet: Sheet) -> str | None:
    """The first column whose values name the rows; without one, times that all differ."""
    for name, each in found.items():
        if isinstance(each, Left) and each.is_name:
            return name
    for name, each in found.items():
        if isinstance(each, Times) and len(set(texts_of(sheet.cells[name]))) == len(sheet):
            return name
    return None


def usual_states(codec: Codec, cells: Cells, limit: float) -> frozenset[State]:
    """The states that more normal rows have than may be foreign."""
    states = codec.read(cells).states
    rows = {state: int((states == state).sum()) for state in State}
    if isinstance(codec, Categories) and len(codec.known) > 1:
        # As many rows have a category of their own as will have one that is new (Good and Turing).
        often = codec.read(cells).values.sum(axis=0)
        rows[State.NEW] = int((often == 1).sum())
    return frozenset(state for state in State if state != State.USUAL and rows[state] > limit)


def _has_decimal_commas(sheet: Sheet) -> bool:
    """Whether numbers of the table have a decimal comma: some have it for sure, or all may."""
    sure = _DECIMAL_COMMA if sheet.separator in (None, ",") else _COMMA
    return any(
        any(sure.fullmatch(text.strip()) for text in texts_of(cells[:SOME]))
        for cells in sheet.cells.values()
        if cells.dtype.kind != "f"
    )


def _assumed(
    sheet: Sheet, schema: Schema, found: Mapping[str, Codec | Left], commas: bool, told: bool
) -> tuple[str, ...]:
    """What was taken for granted and could be otherwise, in sentences."""
    said = []
    name = schema.id_column
    if name is not None and not told:
        each = found.get(name)
        reason = each.reason if isinstance(each, Left) else "a different time in each row"
        said.append(f"{name!r} names the rows: {reason}.")
    out = [f"{name!r} ({why})" for name, why in schema.left_out.items() if why != NOT_CHOSEN]
    if out:
        said.append(f"Left out: {_some(out)}.")
    codecs = {each.name: each.codec for each in schema.columns}
    times = [
        f"{name!r} ({each.described})" for name, each in codecs.items() if isinstance(each, Times)
    ]
    if times:
        said.append(f"Times: {_some(times)}.")
    numbers = {name: each for name, each in codecs.items() if isinstance(each, Numbers)}
    written = [f"{name!r} ({each.assumed})" for name, each in numbers.items() if each.assumed]
    if written:
        said.append(f"Read as numbers: {_some(written)}.")
    unsure = [
        repr(name)
        for name, each in numbers.items()
        if each.form.is_plain
        and not commas
        and sheet.separator == ";"
        and _all_grouped([*texts_of(sheet.cells[name][:SOME])])
    ]
    if unsure:
        said.append(
            f"The point in {_some(unsure)} is taken for that of decimals, not of thousands."
        )
    same = [
        f"{name!r} ({each.write(np.array([each.typical]))})"
        for name, each in numbers.items()
        if each.is_constant
    ]
    same += [
        f"{name!r} ({each.categories[0]})"
        for name, each in codecs.items()
        if isinstance(each, Categories) and len(each.known) == 1
    ]
    if same:
        said.append(f"Always the same: {_some(same)}; any other value raises the alarm.")
    return tuple(said)


def _some(parts: Sequence[str], most: int = 8) -> str:
    more = f" and {len(parts) - most} more" if len(parts) > most else ""
    return ", ".join(parts[:most]) + more
