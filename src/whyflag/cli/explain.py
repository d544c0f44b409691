"""`whyflag explain`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from whyflag.cli.console import errors_in_a_line, say
from whyflag.cli.options import DropMissing, ImputeMissing, ModelFolder, RowsFile, missing
from whyflag.cli.output import Format, chosen_format, output_of

if TYPE_CHECKING:
    from whyflag.attribution import Attribution
    from whyflag.cli.scoring import Scored
    from whyflag.ensemble import Ensemble
    from whyflag.explainer import Explainer
    from whyflag.model import Model


@errors_in_a_line
def explain(
    model: ModelFolder,
    rows: RowsFile,
    method: Annotated[
        list[str] | None,
        typer.Option(help="Method; given several times, they are combined."),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Features of each row.")] = 3,
    only_flagged: Annotated[
        bool, typer.Option("--only-flagged", help="Only rows that raise an alarm.")
    ] = False,
    format_: Annotated[
        Format | None,
        typer.Option("--format", help="By the name of the output, or else a table."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write to; .html is a report.")
    ] = None,
    drop_missing: DropMissing = False,
    impute: ImputeMissing = None,
) -> None:
    """Say of rows which features made them anomalous, and what would have been normal."""
    from whyflag.model import Model

    policy = missing(drop_missing, impute)
    kind = chosen_format(format_, output)
    loaded = Model.load(model)
    explainer = loaded.explainer(method or ())
    if kind == Format.HTML:
        _report(loaded, explainer, rows, policy, only_flagged, output)
    else:
        _table(loaded, explainer, rows, policy, only_flagged, output, kind, top)


def _table(
    model: Model,
    explainer: Explainer | Ensemble,
    rows: str,
    policy: str,
    only_flagged: bool,
    output: Path | None,
    kind: Format,
    top: int,
) -> None:
    from whyflag.cli.scoring import score_file

    named = model.encoding.id_column is not None
    columns = {
        "row": int,
        **({"id": str} if named else {}),
        "score": float,
        "flagged": bool,
        "rank": int,
        "feature": str,
        "attribution": float,
        "error": float,
        "observed": str,
        "normal": str,
    }
    n_rows = n_explained = 0
    with output_of(output, kind, columns) as write:
        for part in score_file(model, rows, policy):
            n_rows += len(part)
            chosen = part[part.flagged] if only_flagged else part
            if len(chosen):
                said = explainer(chosen.values)
                write(_records(said, chosen, top, named, nested=kind == Format.JSONL))
                n_explained += len(chosen)
    say(f"{n_explained} of {n_rows} rows explained.")


def _records(
    said: Attribution, part: Scored, top: int, named: bool, nested: bool
) -> list[dict[str, Any]]:
    from whyflag.display import held

    records: list[dict[str, Any]] = []
    for i in range(len(said)):
        row: dict[str, Any] = {
            "row": part.numbers[i],
            **({"id": str(part.row_names[i])} if named else {}),
            "score": float(said.scores[i]),
            "flagged": bool(part.flagged[i]),
        }
        culprits = []
        for rank, j in enumerate(said.order[i, :top], 1):
            error = None if said.standard_errors is None else float(said.standard_errors[i, j])
            reference = said.reference
            culprits.append(
                {
                    "rank": rank,
                    "feature": said.feature_names[j],
                    "attribution": float(said.values[i, j]),
                    "error": error if error and np.isfinite(error) else None,
                    "observed": held(said, said.data[i], j, digits=10),
                    "normal": None if reference is None else held(said, reference[i], j, digits=6),
                }
            )
        if nested:
            records.append({**row, "culprits": culprits})
        else:
            records += [{**row, **culprit} for culprit in culprits]
    return records


def _report(
    model: Model,
    explainer: Explainer | Ensemble,
    rows: str,
    policy: str,
    only_flagged: bool,
    output: Path | None,
) -> None:
    """Explain the rows with the highest scores, and write a page about them."""
    from whyflag.cli.scoring import highest, score_file
    from whyflag.report import write_report
    from whyflag.report.content import MOST_ROWS

    if output is None:
        raise ValueError("A report is written to a file: name one with -o.")
    n_rows = n_flagged = 0
    best: Scored | None = None
    for part in score_file(model, rows, policy):
        n_rows, n_flagged = n_rows + len(part), n_flagged + int(part.flagged.sum())
        chosen = part[part.flagged] if only_flagged else part
        best = chosen if best is None else highest([best, chosen], MOST_ROWS)
    if best is None or not len(best):
        raise ValueError(f"No row of {rows} raises an alarm, so there is nothing to report.")
    best = highest([best], MOST_ROWS)
    said = replace(explainer(best.values), row_names=best.row_names)
    write_report(
        said,
        output,
        explain=explainer,
        normal=model.normal,
        title=f"Why were these rows of {Path(rows).name} flagged?",
        n_rows=n_flagged if only_flagged else n_rows,
        n_flagged=n_flagged,
    )
    say(f"{len(said)} of {n_rows} rows explained. Written: {output}")
