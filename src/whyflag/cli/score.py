"""`whyflag score`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from whyflag.cli.console import errors_in_a_line, say
from whyflag.cli.options import DropMissing, ImputeMissing, ModelFolder, RowsFile, missing
from whyflag.cli.output import Format, TableFormat, chosen_format, output_of


@errors_in_a_line
def score(
    model: ModelFolder,
    rows: RowsFile,
    only_flagged: Annotated[
        bool, typer.Option("--only-flagged", help="Only rows that raise an alarm.")
    ] = False,
    format_: Annotated[
        TableFormat | None,
        typer.Option("--format", help="By the name of the output, or else a table."),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write to.")] = None,
    drop_missing: DropMissing = False,
    impute: ImputeMissing = None,
) -> None:
    """Score rows: how anomalous each of them is."""
    from whyflag.cli.scoring import Scored, score_file
    from whyflag.model import Model

    policy = missing(drop_missing, impute)
    kind = chosen_format(Format(format_) if format_ else None, output)
    if kind == Format.HTML:
        raise ValueError("Scores are written as a table; a page is made by `whyflag explain`.")
    loaded = Model.load(model)
    named = loaded.encoding.id_column is not None
    columns = {"row": int, **({"id": str} if named else {}), "score": float, "flagged": bool}

    def records(part: Scored) -> list[dict[str, Any]]:
        return [
            {
                "row": part.numbers[i],
                **({"id": str(part.row_names[i])} if named else {}),
                "score": float(part.scores[i]),
                "flagged": bool(part.flagged[i]),
            }
            for i in range(len(part))
        ]

    n_rows = n_flagged = 0
    with output_of(output, kind, columns) as write:
        for part in score_file(loaded, rows, policy):
            n_rows, n_flagged = n_rows + len(part), n_flagged + int(part.flagged.sum())
            write(records(part[part.flagged] if only_flagged else part))
    say(f"{n_flagged} of {n_rows} rows flagged: their score is above {loaded.threshold:.4g}.")
