"""Where results go: a table in the terminal, or a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from whyflag.cli.console import console, plain, say
from whyflag.files.atomic import atomically, to_standard_output

MOST_LINES = 200  # of a table in the terminal

Records = Any  # a sequence of mappings, or a DataFrame


class Format(StrEnum):
    """How results can be written."""

    TABLE = "table"
    CSV = "csv"
    PARQUET = "parquet"
    JSONL = "jsonl"
    HTML = "html"


_OF_THE_ROW = ("row", "id", "score")
_SUFFIXES = {
    ".csv": Format.CSV,
    ".parquet": Format.PARQUET,
    ".jsonl": Format.JSONL,
    ".ndjson": Format.JSONL,
    ".html": Format.HTML,
    ".htm": Format.HTML,
    ".txt": Format.TABLE,
}


def chosen_format(asked: Format | None, output: Path | None) -> Format:
    """The format asked for, or that of the file's name; a table in a terminal, CSV in a pipe."""
    if asked is not None:
        return asked
    if output is None:
        return Format.TABLE if sys.stdout.isatty() else Format.CSV
    if output.suffix.lower() not in _SUFFIXES:
        raise ValueError(
            f"{output} does not say by its name how to write it: give --format, one of "
            f"{', '.join(Format)}."
        )
    return _SUFFIXES[output.suffix.lower()]


@contextmanager
def output_of(
    path: Path | None, kind: Format, columns: Mapping[str, type], *, raw: bool = False
) -> Iterator[Callable[[Records], None]]:
    """A function that writes records; all of them get where they should, or none."""
    from whyflag.table.writing import Writer

    if kind == Format.PARQUET and path is None:
        raise ValueError("Parquet is written to a file: name one with -o.")
    if kind == Format.TABLE:
        shown = _Lines(columns)
        yield shown.write
        shown.print(path)
    else:
        place = to_standard_output() if path is None else atomically(path)
        with place as whole, Writer(whole, kind, columns, raw=raw) as writer:
            yield writer.write
        if path is not None:
            say(f"Written: {path}")


class _Lines:
    """The first lines of a table for people: narrow, and each row named once."""

    def __init__(self, columns: Mapping[str, type]) -> None:
        hidden = ("rank", "error", "flagged", "lower", "upper", "remark", "sentence")
        self._columns = [name for name in columns if name not in hidden]
        self._table = Table(box=SIMPLE, pad_edge=False)
        for name in self._columns:
            self._table.add_column(name, justify="left" if columns[name] is str else "right")
        self._sentences: list[str] = []
        self._remarks: list[str] = []
        self._left_out = 0

    def write(self, records: Records) -> None:
        for record in records if isinstance(records, list) else records.to_dict("records"):
            if self._table.row_count >= MOST_LINES:
                self._left_out += 1
                continue
            first = record.get("rank", 1) == 1
            if first and "rank" in record and self._table.row_count:
                self._table.add_section()
            name = record.get("id", record["row"])
            if first and record.get("sentence"):
                self._sentences.append(f"{name}: {record['sentence']}")
            if first and record.get("remark"):
                self._remarks.append(f"! {name}: {record['remark']}")
            self._table.add_row(
                *(
                    self._text(name, record) if first or name not in _OF_THE_ROW else ""
                    for name in self._columns
                )
            )

    def print(self, path: Path | None) -> None:
        if path is None:
            self._print(console)
        else:
            with atomically(path) as beside, beside.open("w", encoding="utf-8") as file:
                self._print(Console(file=file, width=160))
            say(f"Written: {path}")
        if self._left_out:
            say(f"{self._left_out} more lines; -o FILE.csv writes them all.")

    def _print(self, where: Console) -> None:
        for sentence in self._sentences:
            where.print(escape(plain(sentence)), highlight=False, soft_wrap=True)
        where.print(self._table)
        for remark in self._remarks:
            where.print(escape(plain(remark)), highlight=False, soft_wrap=True)

    def _text(self, name: str, record: Mapping[str, Any]) -> str:
        value = record[name]
        if value is None:
            return "as it is" if name == "normal" else ""
        text = f"{value:.4g}" if isinstance(value, float) else plain(str(value))
        if name == "score" and record["flagged"]:
            text += " ⚑"
        if name == "score" and record.get("remark"):
            text += " !"
        if name == "normal" and record["lower"] not in (None, record["upper"]):
            text += f" ({plain(record['lower'])} to {plain(record['upper'])})"
        if name == "attribution" and record["error"]:
            text += f" ± {2 * record['error']:.2g}"
        return escape(text)
