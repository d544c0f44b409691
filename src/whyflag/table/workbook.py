"""Rows of a sheet of an Excel workbook."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from whyflag.extras import require
from whyflag.table.lines import read_lines
from whyflag.table.sheet import Sheet, text_cells, text_of
from whyflag.table.told import NOTHING, Assumed, Told


def read_workbook(
    stream: io.BufferedReader, expected: Sequence[str], told: Told = NOTHING
) -> Iterator[Sheet]:
    """Read a sheet as the CSV that Excel would write of it: titles and units are known.

    Without the name of a sheet it is the first.
    """
    openpyxl: Any = require("openpyxl", "Reading Excel workbooks", extra="excel")
    book = openpyxl.load_workbook(io.BytesIO(stream.read()), read_only=True, data_only=True)
    named = {sheet.title: sheet for sheet in book.worksheets}
    name = next(iter(named)) if told.sheet is None else told.sheet
    if name not in named:
        raise ValueError(f"it has no sheet {name!r}: it has {', '.join(map(repr, named))}")
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    # A cell may have several lines, so a line that is told is counted here.
    above = (told.header or 1) - 1
    begin = above + 1 + (told.below or 0)
    n_rows, filled = 0, False
    rows: list[tuple[Any, ...]] = []
    for i, record in enumerate(named[name].iter_rows(values_only=True)):
        n_rows = i + 1
        cells = [text_of(value) for value in record]
        if told.header and i == above and not any(cells):
            raise ValueError(f"row {n_rows} of {name!r} is told to have the names, and is empty")
        filled |= any(cells)
        if any(cells) and not (told.header and (i < above or above < i < begin)):
            rows.append(record)
    # By columns: whether a moment has a clock is seen of all cells of its column.
    columns = [text_cells(column) for column in zip_longest(*rows)]
    writer.writerows(
        texts[: len(record)] for record, texts in zip(rows, zip(*columns, strict=True), strict=True)
    )
    if not filled:
        raise ValueError(f"its sheet {name!r} is empty")
    if n_rows <= above:
        raise ValueError(f"row {above + 1} is told to have the names, and {name!r} has {n_rows}")
    if told.header:
        told = replace(told, header=1, below=None if told.below is None else 0)
    content = text.getvalue().encode()
    notes: tuple[str, ...] = ()
    if told.sheet is None and len(named) > 1:
        others = ", ".join(repr(each) for each in [*named][1:])
        only = f"only the first of {len(named)} sheets is read: {name!r}, not {others}"
        notes = (Assumed(only, "sheet"),)
    for sheet in read_lines(
        io.BufferedReader(io.BytesIO(content)),
        content,
        whole=True,
        expected=expected,
        told=replace(told, separator=",", encoding="utf-8"),
    ):
        yield Sheet(sheet.cells, sheet.numbers, None, (*sheet.notes, *notes))
        notes = ()
