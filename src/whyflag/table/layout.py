"""How a file of lines is written: its encoding, its separator, and where its rows begin."""

from __future__ import annotations

import codecs
import csv
import re
import string
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import final

from whyflag.table.codec import MARKS
from whyflag.table.sheet import refuse_repeated
from whyflag.table.told import NOTHING, Assumed, Told

SEPARATORS = (",", ";", "\t", "|")
MOST_ABOVE = 30  # records above the names of columns
TELLING = 1000  # records by which a file is recognised
NEARLY_ALL = 0.9
UNMARKED = "cp1252"  # what is no UTF-8 is taken for
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins as UTF-16 does
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# What is possessive is not given back: long runs would be tried in all ways to divide them.
_NUMBER = re.compile(
    r"\s*+[-+(]?\s*+[$€£¥]?\s*+[-+]?(?:[.,'\u00a0 ]*+\d[\d.,]*+)++([eE][-+]?\d+)?\s*+[%€]?\)?\s*"
)

Record = Sequence[str]


@final
@dataclass(frozen=True)
class Layout:
    """How a file of lines is written.

    Attributes:
        encoding: Its encoding.
        separator: What stands between fields.
        names: The names of the columns.
        width: The fields of a row; one more than there are names where each line has an empty one
            at its end.
        skip: Lines above the first row.
        spaces: Whether spaces after separators do not count.
        notes: What was assumed, in sentences.
    """

    encoding: str
    separator: str
    names: tuple[str, ...]
    width: int
    skip: int
    spaces: bool = False
    notes: tuple[str, ...] = ()


def layout_of(
    head: bytes, expected: Sequence[str] = (), *, told: Told = NOTHING, whole: bool = True
) -> Layout:
    """Recognise how a file is written by its first bytes.

    Args:
        head: The first bytes.
        expected: Names that columns should have: the line that has them all is that of the names.
        told: How the file is written, so far as it is told.
        whole: Whether these are all bytes of the file; otherwise the last line may be cut off.
    """
    encoding = _told_encoding(head, told.encoding) if told.encoding else encoding_of(head)
    lines = head.decode(encoding, errors="replace").splitlines(keepends=True)
    if len(lines) > 2 and not whole:
        lines.pop()
    separator = told.separator or _separator(lines, expected)
    records, ends = _records(lines, separator)
    notes: list[str] = []
    if told.encoding is None and encoding == UNMARKED and not expected:
        notes.append(Assumed("it is no UTF-8, and read as Windows-1252", "encoding"))
    if told.separator is None:
        _refuse_aligned(lines, records)
        if separator != "," and not expected:
            notes.append(Assumed(f"fields are set apart by {separator!r}", "separator"))
    rows = Rows(records)
    if told.header is None:
        first, above = rows.header(expected)
        if above:
            shown = " ".join(" ".join(record) for record in records[:above])
            titles = f"taken for titles above the names of columns: {shown[:80]!r}"
            notes.append(Assumed(titles, "header"))
        if first is None:
            unnamed = "it has no names of columns: they are called 'column 1' and so on"
            notes.append(Assumed(unnamed, "header"))
    elif told.header == 0:
        first, above = None, 0
    else:
        above = _told_line(lines, ends, separator, told.header, whole)
        records, ends, first = records[above:], ends[above:], 0
        rows = Rows(records)
    ends = [0, *ends]
    if first is None:
        names, skip = [f"column {i + 1}" for i in range(rows.width)], ends[above]
    else:
        names, skip = [name.strip() for name in records[first]], ends[first + 1]
        if told.below is not None:
            # Names that are quoted may take several lines.
            skip = max(skip, skip - "".join(records[first]).count("\n") + told.below)
        elif rows.has_units(first + 1):
            units = ", ".join(repr(cell) for cell in records[first + 1])
            below = f"taken for units below the names of columns, not for a row: {units}"
            notes.append(Assumed(below, "header"))
            skip = ends[first + 2]
    names, width = rows.fitted(names)
    if len(names) < width:
        notes.append("each line ends with a separator, which does not count")
    refuse_repeated([name for name in names if name], "the table")
    names = [name or f"column {i + 1}" for i, name in enumerate(names)]
    refuse_repeated(names, "the table")
    spaces = first is not None and any(name.startswith(" ") for name in records[first][1:])
    return Layout(encoding, separator, tuple(names), width, skip, spaces, tuple(notes))


@final
class Rows:
    """The first records of a file, by which it is seen what they are."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = records
        body = records[1:] or records
        widths = Counter(len(record) for record in body)
        self.width = max(widths, key=lambda width: (widths[width], width))
        self.regular = [record for record in body if len(record) == self.width]

    def header(self, expected: Sequence[str]) -> tuple[int | None, int]:
        """Which record has the names of columns, if one has, and how many stand above it."""
        few = self.records[:MOST_ABOVE]
        for i, record in enumerate(few):
            if expected and _has_names(record, expected):
                return i, i
        # A line of names may lack that of the row names, or the separator at the end.
        if self._is_full(few[0]) or self._lacks_one(few):
            above = 0
        else:
            above = next((i for i, record in enumerate(few) if self._is_full(record)), 0)
            if above and any(map(is_number, few[above])) and len(few[0]) == self.width:
                above = 0  # some of the names are missing
            elif above and any(map(is_number, few[above])):
                raise ValueError(
                    f"the first line has {_fields(len(few[0]))}, and rows have {self.width}: the "
                    "first line should have the names of the columns (a header)."
                )
        return (None if self._is_row(few[above]) else above), above

    def fitted(self, names: list[str]) -> tuple[list[str], int]:
        """The names for rows that have one field more or one name less than they should."""
        last = [record[-1].strip() for record in self.regular]
        if self.width > 1 and not any(last):
            if len(names) == self.width and not names[-1]:
                return names[:-1], self.width
            if len(names) == self.width - 1:
                return names, self.width
        if len(names) == self.width - 1 and len({record[0] for record in self.regular}) == len(
            self.regular
        ):
            return ["", *names], self.width
        return names, len(names)

    def has_units(self, i: int) -> bool:
        """Whether a record has words in each of several columns of numbers."""
        if len(self.records) < i + 4 or len(self.records[i]) != self.width:
            return False
        rest = [record for record in self.records[i + 1 :] if len(record) == self.width]
        if not rest:
            return False
        cells = [
            cell.strip()
            for cell, column in zip(self.records[i], zip(*rest, strict=True), strict=True)
            if _mostly_numbers(column)
        ]
        words = [cell for cell in cells if cell and cell not in MARKS and not is_number(cell)]
        return len(words) > 1 and len(words) == len(cells) and max(map(len, words)) <= 12

    def _is_full(self, record: Record) -> bool:
        """Whether a record has as many fields as rows have, and something in half of them."""
        filled = sum(bool(cell.strip()) for cell in record)
        return len(record) == self.width and 2 * filled >= self.width

    def _lacks_one(self, few: Sequence[Record]) -> bool:
        """Whether the first line has names, one less than rows have fields."""
        if len(few[0]) != self.width - 1 or len(few) < 2:
            return self.width == 1
        return self._is_row(few[1]) or not any(record[-1].strip() for record in self.regular)

    def _is_row(self, record: Record) -> bool:
        """Whether a record has numbers where all others have, so that it is no line of names."""
        if len(record) != self.width or len(self.regular) < 2:
            return False
        numbers = [
            cell.strip()
            for cell, column in zip(record, zip(*self.regular, strict=True), strict=True)
            if _mostly_numbers(column)
        ]
        if not numbers or not all(map(is_number, numbers)):
            return False
        return not _count_on(numbers)


def _has_names(record: Record, names: Sequence[str]) -> bool:
    return {name.strip() for name in record} >= set(names)


def is_number(text: str) -> bool:
    """Whether a text looks like a number, however it is written."""
    return _NUMBER.fullmatch(text) is not None


def encoding_of(head: bytes) -> str:
    """The encoding of a text by its first bytes."""
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    if b"\x00" in head[:1000] and len(head) > 3:
        # Every other byte of a text in Latin letters: UTF-16 without a mark.
        for start, encoding in ((0, "utf-16-be"), (1, "utf-16-le")):
            if not any(head[start:400:2]):
                return encoding
    try:
        # A character of several bytes may be cut off at the end.
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return UNMARKED
    return "utf-8"


def _told_encoding(head: bytes, told: str) -> str:
    """The encoding that is told, by its usual name, and without the mark that may come first."""
    name = codecs.lookup(told).name
    return "utf-8-sig" if name == "utf-8" and head.startswith(codecs.BOM_UTF8) else name


def _separator(lines: Sequence[str], expected: Sequence[str] = ()) -> str:
    """The one that divides most rows into the same number of fields, and into the most.

    One that makes the expected names is the one.
    """
    some = [line for line in lines if line.strip()][:200]

    def alike(separator: str) -> tuple[bool, float, int]:
        try:
            rows = [row for row in csv.reader(some, delimiter=separator) if row]
        except csv.Error:  # a field longer than csv reads: not divided by this one
            return (False, 0.0, 0)
        widths = Counter(map(len, rows))
        width, count = max(widths.items(), key=lambda each: (each[1], each[0]), default=(1, 0))
        if width == 1:
            return (False, 0.0, 0)
        named = len(expected) > 1 and any(_has_names(row, expected) for row in rows[:MOST_ABOVE])
        # By the part of the rows: a wrong one makes more of them, of quoted fields of many lines.
        return (named, count / len(rows), width)

    best = max(SEPARATORS, key=alike)
    if alike(best) > (False, 0.5, 1):
        return best
    # Lines of different lengths, which reading will complain about: what the first has most.
    most = max(SEPARATORS, key=some[0].count) if some else ","
    return most if some and most in some[0] else ","


def _records(lines: Sequence[str], separator: str) -> tuple[list[Record], list[int]]:
    """The records that are not empty, and at which line each ends."""
    records: list[Record] = []
    ends = []
    reader = csv.reader(lines, delimiter=separator)
    for record in reader:
        if any(cell.strip() for cell in record):
            records.append(record)
            ends.append(reader.line_num)
        if len(records) == TELLING:
            break
    return records, ends


def _told_line(
    lines: Sequence[str], ends: Sequence[int], separator: str, header: int, whole: bool
) -> int:
    """The record of a line that is told to have the names of the columns."""
    if header > len(lines) or header > (ends or [0])[-1]:
        few = f"it has {len(lines)} lines" if whole else "it should be one of the first"
        raise ValueError(f"line {header:,} is told to have the names of the columns, and {few}")
    if not lines[header - 1].strip(f"{separator}{string.whitespace}"):
        raise ValueError(f"line {header} is told to have the names of the columns, and is empty")
    return bisect_left(ends, header)


def _refuse_aligned(lines: Sequence[str], records: Sequence[Record]) -> None:
    """Refuse fields that spaces set apart, as many in each line, most of them numbers."""
    head, *some = [line.split() for line in lines if line.strip()][:200] or [[]]
    width = len(head)
    if any(len(record) > 1 for record in records) or {len(parts) for parts in some} != {width}:
        return
    numbers = sum(_mostly_numbers(column) for column in zip(*some, strict=True))
    if numbers >= 2 or (numbers and width > 2):
        raise ValueError(
            f"its lines have {_fields(width)} that spaces set apart: write it with commas, "
            "semicolons or tabs between them"
        )


def _mostly_numbers(cells: Sequence[str]) -> bool:
    filled = [cell.strip() for cell in cells if cell.strip() and cell.strip() not in MARKS]
    return bool(filled) and sum(map(is_number, filled)) >= NEARLY_ALL * len(filled)


def _count_on(texts: Sequence[str]) -> bool:
    """Whether texts are years, or 0, 1, 2, …: numbers that name columns."""
    if not all(text.isdecimal() for text in texts):
        return False
    numbers = [int(text[:20]) for text in texts]
    steps = {b - a for a, b in pairwise(numbers)}
    years = all(1500 <= number <= 2200 for number in numbers)
    return (len(set(numbers)) == len(numbers) and years) or (steps == {1} and numbers[0] in (0, 1))


def _fields(n: int) -> str:
    return f"{n} field" if n == 1 else f"{n} fields"
