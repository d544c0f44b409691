"""From all normal rows: what each column of a table is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

import numpy as np

from whyflag.table.categories import Categories
from whyflag.table.codec import Codec, State
from whyflag.table.column import Column
from whyflag.table.numbers import Numbers
from whyflag.table.recognition import SOME, Left, all_grouped, recognise
from whyflag.table.schema import Schema, listed
from whyflag.table.sheet import Cells, Sheet, spread, texts_of
from whyflag.table.times import Times
from whyflag.table.told import Assumed
from whyflag.table.units import example, odd_minus, several_units

NOT_CHOSEN = "not chosen"
FEWEST_WORDS = 3  # that stand in one row each, for others to be expected
MOST_COLUMNS = 10_000  # that count: what is known of columns is a matrix of them
MOST_TOLD = 8  # columns that a sentence names
KINDS = ("number", "category", "time", "id")
# Three decimals may be thousands, unless an exponent or a point that groups digits says otherwise.
_DECIMAL_COMMA = re.compile(r"[-+]?(\d+,(\d{1,2}|\d{4,}|\d+[eE][-+]?\d+)|\d{1,3}(\.\d{3})+,\d+)")
_COMMA = re.compile(r"[-+]?\d+,\d+([eE][-+]?\d+)?")


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
    if len(chosen) > MOST_COLUMNS:
        raise ValueError(
            f"{where} has {len(chosen):,} columns, and {MOST_COLUMNS:,} can count at the most: "
            "choose some by name or pattern."
        )
    named = [name for name, told in types.items() if told == "id"]
    id_column = id_column or next(iter(named), None)
    told_id = id_column is not None
    commas = _has_decimal_commas(sheet)
    counting: set[str | None] = set(chosen)
    found = {
        name: recognise(name, sheet.cells[name], types.get(name, ""), commas, where)
        for name in sheet.columns
        if name in counting and name != id_column
    }
    if id_column is None:
        id_column = _first_name(found, sheet)
    codecs = {name: each for name, each in found.items() if isinstance(each, Codec)}
    left = {name: each.reason for name, each in found.items() if isinstance(each, Left)}
    if id_column is not None:
        left.pop(id_column, None)
    if not codecs:
        if id_column is not None:
            left[id_column] = "it names the rows"
        why = "; ".join(f"{name!r}: {reason}" for name, reason in left.items())
        raise ValueError(f"{where} has no column that counts: {why or 'all are left out'}.")
    limit = rare * len(sheet) / len(codecs)
    described = tuple(
        column_of(name, codec, sheet.cells[name], limit) for name, codec in codecs.items()
    )
    counting.add(id_column)
    left |= {name: NOT_CHOSEN for name in sheet.columns if name not in counting}
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


def _first_name(found: Mapping[str, Codec | Left], sheet: Sheet) -> str | None:
    """The first column whose values name the rows; without one, times that all differ."""
    for name, each in found.items():
        if isinstance(each, Left) and each.is_name:
            return name
    for name, each in found.items():
        if not (isinstance(each, Times) and each.has_days):
            continue
        if len(set(texts_of(sheet.cells[name]))) == len(sheet):
            return name
    return None


def column_of(name: str, codec: Codec, cells: Cells, limit: float) -> Column:
    """A column, with what more normal rows have than may be foreign.

    As many rows have a category or a word of their own as will have one that is new (Good and
    Turing).
    """
    read = codec.read(cells)
    rows = {state: int((read.states == state).sum()) for state in State}
    if isinstance(codec, Categories) and len(codec.known) > 1:
        rows[State.NEW] = int((read.values.sum(axis=0) == 1).sum())
    unread = texts_of(cells[read.states == State.UNREADABLE])
    often = Counter(text.strip() for text in unread)
    single = sum(count == 1 for count in often.values())
    rows[State.UNREADABLE] = single if single >= FEWEST_WORDS else 0
    usual = frozenset(state for state in State if state != State.USUAL and rows[state] > limit)
    words = frozenset() if State.UNREADABLE in usual else _usual_words(often, limit)
    return Column(name, codec, usual, words)


def _usual_words(often: Counter[str], limit: float) -> frozenset[str]:
    """All but the rarest words, which together stand in as few rows as may be foreign."""
    rows = 0
    for count, words in sorted(Counter(often.values()).items()):
        rows += count * words
        if rows > limit:
            return frozenset(word for word, its in often.items() if its >= count)
    return frozenset()


def _has_decimal_commas(sheet: Sheet) -> bool:
    """Whether numbers of the table have a decimal comma: some have it for sure, or all may."""
    sure = _DECIMAL_COMMA if sheet.separator in (None, ",") else _COMMA
    return any(
        any(sure.fullmatch(text.strip()) for text in texts_of(spread(cells, SOME)))
        for cells in sheet.cells.values()
        if cells.dtype.kind != "f"
    )


def _assumed(
    sheet: Sheet, schema: Schema, found: Mapping[str, Codec | Left], commas: bool, told: bool
) -> tuple[str, ...]:
    """What was taken for granted and could be otherwise, in sentences."""
    said: list[str] = []
    name = schema.id_column
    if name is not None and not told:
        each = found.get(name)
        reason = each.reason if isinstance(each, Left) else "a different time in each row"
        said.append(Assumed(f"{name!r} names the rows: {reason}.", "id"))
    out = [f"{name!r} ({why})" for name, why in schema.left_out.items() if why != NOT_CHOSEN]
    if out:
        said.append(Assumed(f"Left out: {_some(out)}.", "type"))
    codecs = {each.name: each.codec for each in schema.columns}
    times = [
        f"{name!r} ({each.described})" for name, each in codecs.items() if isinstance(each, Times)
    ]
    if times:
        said.append(Assumed(f"Times: {_some(times)}.", "type"))
    numbers = {name: each for name, each in codecs.items() if isinstance(each, Numbers)}
    written = [
        f"{name!r} ({as_read})"
        for name, each in numbers.items()
        if (as_read := example(sheet.cells[name], each))
    ]
    if written:
        said.append(Assumed(f"Read as numbers: {_some(written)}.", "type"))
    negative = [
        f"{name!r} ({minus})"
        for name, each in numbers.items()
        if (minus := odd_minus(sheet.cells[name], each))
    ]
    if negative:
        said.append(Assumed(f"Negative numbers: {_some(negative)}.", "type"))
    mixed = [
        f"{name!r} ({units})"
        for name in found
        if not isinstance(codecs.get(name), Times)
        and (units := several_units(sheet.cells[name], codecs.get(name)))
    ]
    if mixed:
        said.append(f"Units differ: {_some(mixed)}. Write a column of numbers in one unit.")
    unsure = [
        repr(name)
        for name, each in numbers.items()
        if each.form.is_plain_above_zero
        and not commas
        and sheet.separator == ";"
        and all_grouped([*texts_of(spread(sheet.cells[name], SOME))])
    ]
    if unsure:
        point = f"The point in {_some(unsure)} is taken for that of decimals, not of thousands."
        said.append(Assumed(point, "type"))
    usual = [
        f"{each.name!r} ({listed(sorted(each.words), 3) if each.words else 'any'})"
        for each in schema.columns
        if each.words or State.UNREADABLE in each.usual
    ]
    if usual:
        rest = "; any other raises the alarm" if any(each.words for each in schema.columns) else ""
        said.append(f"Texts that can not be read, and are usual: {_some(usual)}{rest}.")
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


def _some(parts: Sequence[str]) -> str:
    more = f" and {len(parts) - MOST_TOLD} more" if len(parts) > MOST_TOLD else ""
    return ", ".join(parts[:MOST_TOLD]) + more
