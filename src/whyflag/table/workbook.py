"""Rows of the first sheet of an Excel workbook."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any

from whyflag.extras import require
from whyflag.table.lines import read_lines
from whyflag.table.sheet import Sheet, text_of


def read_workbook(stream: io.BufferedReader, expected: Sequence[str]) -> Iterator[Sheet]:
    """Read the first sheet as the CSV that Excel would write of it: titles and units are known."""
    openpyxl: Any = require("openpyxl", "Reading Excel workbooks", extra="excel")
    book = openpyxl.load_workbook(io.BytesIO(stream.read()), read_only=True, data_only=True)
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    for record in book.worksheets[0].iter_rows(values_only=True):
        cells = [text_of(value) for value in record]
        if any(cells):
            writer.writerow(cells)
    content = text.getvalue().encode()
    if not content:
        raise ValueError("its first sheet is empty")
    others = len(book.worksheets) - 1
    for sheet in read_lines(
        io.BufferedReader(io.BytesIO(content)),
        content,
        whole=True,
        expected=expected,
    ):
        notes = (f"only the first of {others + 1} sheets is read",) if others else ()
        yield Sheet(sheet.cells, sheet.numbers, None, (*sheet.notes, *notes))
