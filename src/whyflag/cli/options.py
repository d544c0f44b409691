"""Options that several commands have."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from whyflag.cli.output import Format

RowsFile = Annotated[
    str, typer.Argument(help="CSV, Parquet or JSON Lines; - is standard input.", metavar="ROWS")
]
ModelFolder = Annotated[
    Path, typer.Argument(help="Folder that `whyflag fit` made.", metavar="MODEL")
]
DropMissing = Annotated[
    bool, typer.Option("--drop-missing", help="Leave out rows with missing values.")
]
OnlyFlagged = Annotated[bool, typer.Option("--only-flagged", help="Only rows that raise an alarm.")]
OutputFormat = Annotated[
    Format | None, typer.Option("--format", help="By the name of the output, or else a table.")
]
RawTexts = Annotated[
    bool, typer.Option("--raw", help="CSV: texts as they are, even those that look like formulas.")
]


class Impute(StrEnum):
    """What fills gaps."""

    MEDIAN = "median"


ImputeMissing = Annotated[
    Impute | None,
    typer.Option("--impute", help="Fill gaps: the median, or the most frequent category."),
]


def missing(drop: bool, impute: Impute | None) -> str:
    """What to do about missing values."""
    if drop and impute:
        raise typer.BadParameter("--drop-missing and --impute exclude one another.")
    return "drop" if drop else "median" if impute else "error"
