"""Options that several commands have."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whyflag.cli.output import Format

if TYPE_CHECKING:
    from whyflag.table.told import Told

RowsFile = Annotated[
    str,
    typer.Argument(
        help="CSV, JSON, Parquet, Arrow or Excel; - is standard input. Or the address of a "
        "database, such as sqlite:///sales.db.",
        metavar="ROWS",
    ),
]
Query = Annotated[
    str | None, typer.Option("--query", help="SQL that finds the rows, if they are in a database.")
]
SheetName = Annotated[
    str | None,
    typer.Option(
        "--sheet", metavar="NAME", help="Sheet of a workbook; if none is told, the first."
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--separator", metavar="MARK", help="What stands between fields, such as ';', or 'tab'."
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option("--encoding", metavar="NAME", help="Of a file of text, such as utf-8 or cp1252."),
]
Header = Annotated[
    str | None,
    typer.Option(
        "--header",
        metavar="LINE",
        help="Line of the names of columns, such as 3; rows begin in the next. 3-4 if line 4 is no "
        "row either, but units, say; none if the first line is a row.",
    ),
]
ModelFolder = Annotated[
    Path, typer.Argument(help="Folder that `whyflag fit` made.", metavar="MODEL")
]
OnlyFlagged = Annotated[bool, typer.Option("--only-flagged", help="Only rows that raise an alarm.")]
OutputFormat = Annotated[
    Format | None, typer.Option("--format", help="By the name of the output, or else a table.")
]
Redact = Annotated[
    list[str] | None,
    typer.Option(
        "--redact",
        metavar="COLUMN",
        help="Column, or pattern, whose values are shown nowhere, only its shares; may be given "
        "several times.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Do not tell how far the work has come.")]
RawTexts = Annotated[
    bool, typer.Option("--raw", help="CSV: texts as they are, even those that look like formulas.")
]


def told_of(
    separator: str | None, encoding: str | None, header: str | None, sheet: str | None
) -> Told:
    """How a file is written, by these options."""
    from whyflag.table.told import Told

    first: int | None = None
    below: int | None = None
    if header is not None:
        found = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", header)
        if header == "none":
            first = below = 0
        elif found:
            first, last = int(found[1]), int(found[2] or found[1])
            below = last - first
        if first is None or below is None or below < 0 or (first == 0 and header != "none"):
            raise ValueError(
                f"--header is given as a line (3), as lines (3-4) or as none, got {header!r}."
            )
    mark = {"tab": "\t", "\\t": "\t"}.get(separator or "", separator)
    try:
        return Told(mark, first, below, sheet, encoding)
    except ValueError as error:
        raise ValueError(f"{error}.") from None
