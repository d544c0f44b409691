"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whyflag.cli.output import Format

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
