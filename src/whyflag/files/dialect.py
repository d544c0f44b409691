"""How a CSV file is written: its encoding, its separator, and its decimal mark."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

SEPARATORS = (",", ";", "\t", "|")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")


@final
@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written."""

    encoding: str
    separator: str
    decimal: str


def dialect_of(head: bytes) -> Dialect:
    """Recognise how a file is written by its first bytes."""
    encoding = _encoding(head)
    text = head.decode(encoding, errors="replace")
    lines = text.splitlines()
    if len(lines) > 2 and not text.endswith("\n"):
        lines.pop()  # it may be cut off in the middle
    separator = _separator([line for line in lines if line.strip()][:200])
    return Dialect(encoding, separator, _decimal(lines[1:200], separator))


def _encoding(head: bytes) -> str:
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    try:
        # A character of several bytes may be cut off at the end.
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _separator(lines: Sequence[str]) -> str:
    """The one that divides every line into as many fields as the first, and into the most."""

    def fields(separator: str) -> int:
        counts = {len(row) for row in csv.reader(lines, delimiter=separator) if row}
        return counts.pop() if len(counts) == 1 else 1

    best = max(SEPARATORS, key=fields)
    if fields(best) > 1:
        return best
    # Lines of different lengths, which reading will complain about: what the header has most.
    header = lines[0] if lines else ""
    most = max(SEPARATORS, key=header.count)
    return most if most in header else ","


def _decimal(lines: Sequence[str], separator: str) -> str:
    """A comma if some numbers have one, and none has a point."""
    if separator == ",":
        return "."
    cells = [cell.strip() for row in csv.reader(lines, delimiter=separator) for cell in row]
    commas = any(_DECIMAL_COMMA.fullmatch(cell) for cell in cells)
    points = any(_DECIMAL_COMMA.fullmatch(cell.replace(".", ",")) for cell in cells if "." in cell)
    return "," if commas and not points else "."
