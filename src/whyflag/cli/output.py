"""Where results go: a table in the terminal, or a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any

from whyflag.cli.console import say
from whyflag.cli.terminal import Lines
from whyflag.files.atomic import atomically, to_standard_output

STDIO = "-"
Records = Any  # a sequence of mappings, or a DataFrame


class Format(StrEnum):
    """How results can be written."""

    TABLE = "table"
    CSV = "csv"
    PARQUET = "parquet"
    JSONL = "jsonl"
    HTML = "html"


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


def file_of(output: Path | None) -> Path | None:
    """The file to write to; None for standard output, which goes by "-" as input does."""
    return None if output is None or str(output) == STDIO else output


def refuse_input(output: Path | None, rows: str) -> None:
    """Refuse an output that is the file of rows, or a folder that holds it."""
    if output is None or rows == STDIO or not output.exists() or not Path(rows).exists():
        return
    if output.samefile(rows):
        raise ValueError(f"{output} is the file of rows itself: name another with -o.")
    if output.is_dir() and Path(rows).resolve().is_relative_to(output.resolve()):
        raise ValueError(f"{output} holds the file of rows, {rows}: name another folder with -o.")


@contextmanager
def output_of(
    path: Path | None,
    kind: Format,
    columns: Mapping[str, type],
    told: Callable[[float], str],
    *,
    raw: bool = False,
) -> Iterator[Callable[[Records], None]]:
    """A function that writes records; all of them get where they should, or none.

    Args:
        path: The file; standard output if there is none.
        kind: How records are written.
        columns: Their columns and the types of these.
        told: Where a score stands among those of normal rows, in words.
        raw: Whether texts are written as they are, even those that look like formulas.
    """
    from whyflag.table.writing import Writer

    if kind == Format.PARQUET and path is None:
        raise ValueError("Parquet is written to a file: name one with -o.")
    if kind == Format.TABLE:
        shown = Lines(columns, told)
        yield shown.write
        shown.print(path)
    else:
        place = to_standard_output() if path is None else atomically(path)
        with place as whole, Writer(whole, kind, columns, raw=raw) as writer:
            yield writer.write
        if writer.n_quoted:
            n = writer.n_quoted
            cells = "1 cell begins" if n == 1 else f"{n:,} cells begin"
            say(
                f"{cells} as a formula does, and got an apostrophe in front for spreadsheets; "
                "--raw writes all as they are."
            )
        if path is not None:
            say(f"Written: {path}")
