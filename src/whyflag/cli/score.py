"""`whyflag score`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whyflag.cli.console import errors_in_a_line, say
from whyflag.cli.options import (
    DropMissing,
    ImputeMissing,
    ModelFolder,
    OnlyFlagged,
    OutputFormat,
    RawTexts,
    RowsFile,
    missing,
)
from whyflag.cli.output import Format, chosen_format, output_of


@errors_in_a_line
def score(
    model: ModelFolder,
    rows: RowsFile,
    only_flagged: OnlyFlagged = False,
    format_: OutputFormat = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write to.")] = None,
    drop_missing: DropMissing = False,
    impute: ImputeMissing = None,
    raw: RawTexts = False,
) -> None:
    """Score rows: how anomalous each of them is."""
    from whyflag.cli.scoring import ScoredFile
    from whyflag.model import Model

    policy = missing(drop_missing, impute)
    kind = chosen_format(format_, output)
    if kind == Format.HTML:
        raise ValueError("Scores are written as a table; a page is made by `whyflag explain`.")
    loaded = Model.load(model)
    scored = ScoredFile(loaded, rows, missing=policy, only_flagged=only_flagged)
    with output_of(output, kind, scored.columns, raw=raw) as write:
        for part in scored:
            write([part.record(i) for i in range(len(part))])
    alarm = f"their score is above {loaded.threshold:.4g}"
    say(f"{scored.n_flagged} of {scored.n_rows} rows flagged: {alarm}.")
