"""How the lines of a file are written: their encoding, their separator, their records."""

from __future__ import annotations

import codecs
import csv
import string
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

from whyflag.table.header import MOST_ABOVE, Record, count_fields, has_names, mostly_numbers

SEPARATORS = (",", ";", "\t", "|")
TELLING = 1000  # records by which a file is recognised
UNMARKED = "cp1252"  # what is no UTF-8 is taken for
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins as UTF-16 does
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


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


def told_encoding(head: bytes, told: str) -> str:
    """The encoding that is told, by its usual name, and without the mark that may come first."""
    name = codecs.lookup(told).name
    return "utf-8-sig" if name == "utf-8" and head.startswith(codecs.BOM_UTF8) else name


def separator_of(lines: Sequence[str], expected: Sequence[str] = ()) -> str:
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
        named = len(expected) > 1 and any(has_names(row, expected) for row in rows[:MOST_ABOVE])
        # By the part of the rows: a wrong one makes more of them, of quoted fields of many lines.
        return (named, count / len(rows), width)

    best = max(SEPARATORS, key=alike)
    if alike(best) > (False, 0.5, 1):
        return best
    # Lines of different lengths, which reading will complain about: what the first has most.
    most = max(SEPARATORS, key=some[0].count) if some else ","
    return most if some and most in some[0] else ","


def records_of(lines: Sequence[str], separator: str) -> tuple[list[Record], list[int]]:
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


def told_line(
    lines: Sequence[str], ends: Sequence[int], separator: str, header: int, whole: bool
) -> int:
    """The record of a line that is told to have the names of the columns."""
    if header > len(lines) or header > (ends or [0])[-1]:
        few = f"it has {len(lines)} lines" if whole else "it should be one of the first"
        raise ValueError(f"line {header:,} is told to have the names of the columns, and {few}")
    if not lines[header - 1].strip(f"{separator}{string.whitespace}"):
        raise ValueError(f"line {header} is told to have the names of the columns, and is empty")
    return bisect_left(ends, header)


def refuse_aligned(lines: Sequence[str], records: Sequence[Record]) -> None:
    """Refuse fields that spaces set apart, as many in each line, most of them numbers."""
    head, *some = [line.split() for line in lines if line.strip()][:200] or [[]]
    width = len(head)
    if any(len(record) > 1 for record in records) or {len(parts) for parts in some} != {width}:
        return
    numbers = sum(mostly_numbers(column) for column in zip(*some, strict=True))
    if numbers >= 2 or (numbers and width > 2):
        raise ValueError(
            f"its lines have {count_fields(width)} that spaces set apart: write it with commas, "
            "semicolons or tabs between them"
        )
