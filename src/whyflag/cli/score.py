"""`whyflag score`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whyflag.cli.console import errors_in_a_line, say
from whyflag.cli.options import (
    Encoding,
    Header,
    ModelFolder,
    OnlyFlagged,
    OutputFormat,
    Query,
    Quiet,
    RawTexts,
    Redact,
    RowsFile,
    Separator,
    SheetName,
    told_of,
)
from whyflag.cli.output import Format, chosen_format, file_of, output_of, refuse_input
from whyflag.cli.progress import with_progress


@errors_in_a_line
@with_progress
def score(
    model: ModelFolder,
    rows: RowsFile,
    query: Query = None,
    sheet_name: SheetName = None,
    separator: Separator = None,
    encoding: Encoding = None,
    header: Header = None,
    only_flagged: OnlyFlagged = False,
    format_: OutputFormat = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write to, or -.")
    ] = None,
    raw: RawTexts = False,
    redact: Redact = None,
    quiet: Quiet = False,
) -> None:
    """Score rows: how anomalous each of them is."""
    import pandas as pd

    from whyflag.cli.scoring import ScoredFile
    from whyflag.model import Model

    output = file_of(output)
    kind = chosen_format(format_, output)
    if kind == Format.HTML:
        raise ValueError("Scores are written as a table; a page is made by `whyflag explain`.")
    refuse_input(output, rows)
    loaded = Model.load(model)
    scored = ScoredFile(
        loaded,
        rows,
        only_flagged=only_flagged,
        query=query,
        told=told_of(separator, encoding, header, sheet_name),
        redact=redact,
    )
    told = loaded.calibration.told
    with output_of(output, kind, scored.columns, told, raw=raw) as write:
        for part in scored:
            write(pd.DataFrame(part.columns))
    alarm = f"their score is above {loaded.threshold:.4g}"
    say(f"{scored.n_flagged} of {scored.n_rows} rows flagged: {alarm}.")
