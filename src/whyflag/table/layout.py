"""How a file of lines is written, and where its rows begin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from whyflag.table.dialect import (
    UNMARKED,
    encoding_of,
    records_of,
    refuse_aligned,
    separator_of,
    told_encoding,
    told_line,
)
from whyflag.table.header import Rows
from whyflag.table.sheet import refuse_repeated
from whyflag.table.told import NOTHING, Assumed, Told


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
    encoding = told_encoding(head, told.encoding) if told.encoding else encoding_of(head)
    lines = head.decode(encoding, errors="replace").splitlines(keepends=True)
    if len(lines) > 2 and not whole:
        lines.pop()
    separator = told.separator or separator_of(lines, expected)
    records, ends = records_of(lines, separator)
    if told.separator is None:
        refuse_aligned(lines, records)
    notes = [] if expected else _of_the_dialect(encoding, separator, told)
    rows = Rows(records)
    if told.header is None:
        first, above, assumed = _recognised(rows, expected)
        notes += assumed
    elif told.header == 0:
        first, above = None, 0
    else:
        above = told_line(lines, ends, separator, told.header, whole)
        rows, ends, first = Rows(records[above:]), ends[above:], 0
    ends = [0, *ends]
    if first is None:
        names, skip = [f"column {i + 1}" for i in range(rows.width)], ends[above]
    else:
        names, skip, assumed = _named(rows, ends, first, told)
        notes += assumed
    names, width = rows.fitted(names)
    if len(names) < width:
        notes.append("each line ends with a separator, which does not count")
    refuse_repeated([name for name in names if name], "the table")
    names = [name or f"column {i + 1}" for i, name in enumerate(names)]
    refuse_repeated(names, "the table")
    spaces = first is not None and any(name.startswith(" ") for name in rows.records[first][1:])
    return Layout(encoding, separator, tuple(names), width, skip, spaces, tuple(notes))


def _of_the_dialect(encoding: str, separator: str, told: Told) -> list[str]:
    """What was assumed of the encoding and of the separator."""
    notes: list[str] = []
    if told.encoding is None and encoding == UNMARKED:
        notes.append(Assumed("it is no UTF-8, and read as Windows-1252", "encoding"))
    if told.separator is None and separator != ",":
        notes.append(Assumed(f"fields are set apart by {separator!r}", "separator"))
    return notes


def _recognised(rows: Rows, expected: Sequence[str]) -> tuple[int | None, int, list[str]]:
    """Which record has the names, if one has, how many stand above it, and what was assumed."""
    notes: list[str] = []
    first, above = rows.header(expected)
    if above:
        shown = " ".join(" ".join(record) for record in rows.records[:above])
        titles = f"taken for titles above the names of columns: {shown[:80]!r}"
        notes.append(Assumed(titles, "header"))
    if first is None:
        unnamed = "it has no names of columns: they are called 'column 1' and so on"
        notes.append(Assumed(unnamed, "header"))
    return first, above, notes


def _named(
    rows: Rows, ends: Sequence[int], first: int, told: Told
) -> tuple[list[str], int, list[str]]:
    """The names in a record, the lines above the first row, and what was assumed.

    Record i begins behind line ends[i].
    """
    record = rows.records[first]
    names, skip = [name.strip() for name in record], ends[first + 1]
    if told.below is not None:
        # Names that are quoted may take several lines.
        return names, max(skip, skip - "".join(record).count("\n") + told.below), []
    if rows.has_units(first + 1):
        units = ", ".join(repr(cell) for cell in rows.records[first + 1])
        below = f"taken for units below the names of columns, not for a row: {units}"
        return names, ends[first + 2], [Assumed(below, "header")]
    return names, skip, []
