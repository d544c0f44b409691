"""Rows of files of lines: CSV of any kind."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, final

import numpy as np
import pandas as pd

from whyflag.arrays import IntVector
from whyflag.table.layout import Layout, layout_of
from whyflag.table.sheet import Cells, Sheet
from whyflag.table.streams import Joined
from whyflag.table.told import NOTHING, Told

BLOCK = 2**22  # bytes of rows that are read at a time
CELLS = 500_000  # cells likewise
LONGEST = 2**26  # characters of a line
MOST_NAMED = 3  # lines in a message
MOST_SPANNED = 10  # lines of one row that has too few fields: more are those of an open quote
SIMPLE = ("utf-8", "utf-8-sig", "cp1252")  # encodings in which a separator is one byte
# pandas 3.1 reads numbers to the last digit; older versions do if they are told to.
_EXACT: Any = {} if pd.__version__ >= "3.1" else {"float_precision": "round_trip"}


def read_lines(
    file: io.BufferedReader,
    head: bytes,
    *,
    whole: bool,
    expected: Sequence[str] = (),
    numbers: Collection[str] = (),
    others: bool = False,
    told: Told = NOTHING,
) -> Iterator[Sheet]:
    """Read a file of lines, a block at a time.

    Args:
        file: The file.
        head: Its first bytes, which are still to be read.
        whole: Whether these are all.
        expected: Names that columns should have.
        numbers: Columns that hold numbers as programs write them.
        others: Whether columns that are not expected are read as well.
        told: How the file is written, so far as it is told.
    """
    layout = layout_of(head, expected, told=told, whole=whole)
    blank = Blank()
    last: Sheet | None = None
    for sheet in _blocks(file, layout, blank, expected, numbers, others):
        if last is not None:
            yield last
        last = sheet
    if last is not None:
        # How many lines were skipped is known at the end.
        yield replace(last, notes=(*last.notes, *blank.notes))


@final
@dataclass
class Blank:
    """Lines of separators alone, such as a spreadsheet writes below its last row: no rows."""

    lines: list[int] = field(default_factory=list)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is said of them."""
        count = len(self.lines)
        if not count:
            return ()
        if count == 1:
            return (f"line {self.lines[0]} has nothing but separators, and is skipped",)
        return (
            f"{count:,} lines from line {self.lines[0]} on have nothing but separators, and are "
            "skipped",
        )


def _blocks(
    file: io.BufferedReader,
    layout: Layout,
    blank: Blank,
    expected: Sequence[str],
    numbers: Collection[str],
    others: bool,
) -> Iterator[Sheet]:
    """The rows, a block at a time; lines that are blank are noted."""
    wanted = None if others or not expected else expected
    n_rows, end, rest = 0, layout.skip, b""
    if layout.encoding == "utf-8-sig":
        file.read(len(codecs.BOM_UTF8))
    if layout.encoding in SIMPLE:
        for _ in range(layout.skip):
            file.readline()
        while True:
            new = file.read(BLOCK)
            block, _, rest = (rest + new).rpartition(b"\n") if new else (rest, b"", b"")
            if not new and not block:
                return
            if len(rest) > LONGEST:
                raise _too_long(end)
            block = block.replace(b"\r\n", b"\n") if b"\r\n" in block else block
            if not _is_simple(block):
                break
            if block:
                sheet = _parse(block, layout, blank, wanted, numbers, n_rows, end)
                if sheet is not None:
                    yield sheet
                    n_rows += len(sheet)
                end += block.count(b"\n") + 1
        rest = block + b"\n" + rest if new else block
        text = _decoded(io.BufferedReader(Joined(rest, file)), layout.encoding, end)
    else:
        text = _decoded(file, layout.encoding, 0)
        for _ in range(layout.skip):
            text()
    yield from _records(text, layout, blank, n_rows, end)


def _is_simple(block: bytes) -> bool:
    """Whether each line of a block is a row, and each separator ends a field."""
    return not (
        b'"' in block
        or b"\r" in block
        or b"\n\n" in block
        or block.startswith(b"\n")
        or block.endswith(b"\n")
    )


def _parse(
    block: bytes,
    layout: Layout,
    blank: Blank,
    names: Sequence[str] | None,
    numbers: Collection[str],
    n_rows: int,
    end: int,
) -> Sheet | None:
    """These columns of a simple block: as pandas reads them if it can, and that is faster.

    None if all of its lines are blank.
    """
    _check_widths(block, layout, end)
    wanted = [i for i, name in enumerate(layout.names) if names is None or name in names]
    plain = [i for i in wanted if layout.names[i] in numbers]
    if plain and not layout.spaces:
        try:
            table = pd.read_csv(
                io.BytesIO(block),
                header=None,
                names=range(layout.width),
                usecols=wanted,
                dtype={i: np.float64 if i in plain else object for i in wanted},
                sep=layout.separator,
                encoding=layout.encoding.removesuffix("-sig"),
                na_filter=False,
                quoting=csv.QUOTE_NONE,
                **_EXACT,
            )
        except (ValueError, OverflowError):
            pass  # some cell is no number: it is found below
        else:
            if np.isfinite(table[plain].to_numpy()).all():
                cells = {layout.names[i]: table[i].to_numpy() for i in wanted}
                cells |= {name: _nothing(len(table)) for name in layout.names if name not in cells}
                return _sheet(cells, layout, n_rows, end + np.arange(1, len(table) + 1))
    lines = iter(io.StringIO(block.decode(layout.encoding.removesuffix("-sig")), newline=""))
    found = _records(lambda: next(lines, ""), layout, blank, n_rows, end, most=len(block) + 1)
    return next(found, None)


def _nothing(n: int) -> Cells:
    cells = np.empty(n, dtype=object)
    cells[:] = ""
    return cells


def _check_widths(block: bytes, layout: Layout, end: int) -> None:
    """Refuse rows with another number of fields than the header has."""
    data = np.frombuffer(block, dtype=np.uint8)
    ends = np.append(np.flatnonzero(data == ord("\n")), len(data))
    separators = np.flatnonzero(data == ord(layout.separator))
    widths = np.diff(np.searchsorted(separators, ends), prepend=0) + 1
    wrong = np.flatnonzero(widths != layout.width)
    if len(wrong):
        raise _ragged(layout, [(int(end + i + 1), int(widths[i])) for i in wrong])


def _records(
    line: Callable[[], str],
    layout: Layout,
    blank: Blank,
    n_rows: int,
    end: int,
    most: int | None = None,
) -> Iterator[Sheet]:
    """Rows whose fields may be quoted."""
    reader = csv.reader(iter(line, ""), delimiter=layout.separator, skipinitialspace=layout.spaces)
    rows_at_once = max(1, (most or CELLS) // layout.width)
    while True:
        rows, lines, wrong = [], [], []
        first = begin = reader.line_num
        for record in _told(islice(reader, rows_at_once), reader, end):
            before, begin = begin, reader.line_num
            if not record or (len(record) == 1 and layout.width > 1 and not record[0].strip()):
                continue  # an empty line
            if len(record) != layout.width:
                if begin - before > MOST_SPANNED:
                    raise _open_quote(end + before + 1)
                wrong.append((end + reader.line_num, len(record)))
            elif len(layout.names) > 1 and not record[0].strip() and not "".join(record).strip():
                blank.lines.append(end + reader.line_num)
                continue
            rows.append(record)
            lines.append(end + reader.line_num)
        if wrong:
            raise _ragged(layout, wrong)
        if reader.line_num == first:
            return
        if not rows:
            continue
        # An array of lists of strings: one object for each cell, and no copy of any.
        cells = np.array(rows, dtype=object).reshape(len(rows), layout.width)
        named = {name: cells[:, i] for i, name in enumerate(layout.names)}
        yield _sheet(named, layout, n_rows, np.array(lines))
        n_rows += len(rows)


def _told(records: Iterator[list[str]], reader: Any, end: int) -> Iterator[list[str]]:
    """The records, and where one is that can not be."""
    begin = reader.line_num
    try:
        for record in records:
            yield record
            begin = reader.line_num
    except csv.Error:
        raise _open_quote(end + begin + 1) from None


def _open_quote(line: int) -> ValueError:
    return ValueError(f"line {line} has a quote that is opened and not closed")


def _sheet(cells: dict[str, Cells], layout: Layout, n_rows: int, lines: IntVector) -> Sheet:
    numbers = np.arange(n_rows + 1, n_rows + len(lines) + 1)
    notes = layout.notes if n_rows == 0 else ()
    return Sheet(cells, numbers, lines, notes, separator=layout.separator)


def _ragged(layout: Layout, wrong: Sequence[tuple[int, int]]) -> ValueError:
    said = ", ".join(f"line {line} has {width}" for line, width in wrong[:MOST_NAMED])
    more = f", and so have {len(wrong) - MOST_NAMED} more" if len(wrong) > MOST_NAMED else ""
    return ValueError(
        f"each row should have {layout.width} fields, as the names of the columns have; "
        f"{said}{more}."
    )


def _too_long(end: int) -> ValueError:
    return ValueError(f"line {end + 1} has more than {LONGEST:,} characters.")


def _decoded(file: Any, encoding: str, end: int) -> Callable[[], str]:
    """A function that gives the next line of a file, and "" at its end."""
    stream = io.TextIOWrapper(file, encoding=encoding.removesuffix("-sig"), newline="")

    def line() -> str:
        text = stream.readline(LONGEST)
        if len(text) == LONGEST:
            raise _too_long(end)
        return text

    return line
