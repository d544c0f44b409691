"""`whyflag explain`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
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

if TYPE_CHECKING:
    from whyflag.arrays import IntVector
    from whyflag.attribution import Attribution
    from whyflag.cli.scoring import Scored, ScoredFile
    from whyflag.ensemble import Ensemble
    from whyflag.explainer import Explainer


@errors_in_a_line
@with_progress
def explain(
    model: ModelFolder,
    rows: RowsFile,
    query: Query = None,
    sheet_name: SheetName = None,
    separator: Separator = None,
    encoding: Encoding = None,
    header: Header = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help="Method; given several times, they are combined."),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Features of each row.")] = 3,
    only_flagged: OnlyFlagged = False,
    format_: OutputFormat = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write, or -; .html is a report.")
    ] = None,
    raw: RawTexts = False,
    redact: Redact = None,
    refits: Annotated[
        int,
        typer.Option(
            min=0,
            help="Fit the detector so often to other draws of the normal rows, and say in what "
            "part of them each feature comes first; at least 2.",
        ),
    ] = 0,
    jobs: Annotated[int, typer.Option(help="Cores to use; -1 for all.")] = -1,
    quiet: Quiet = False,
) -> None:
    """Say of rows which features made them anomalous, and what would have been normal."""
    from whyflag.checks import check_whole
    from whyflag.cli.scoring import ScoredFile
    from whyflag.model import Model
    from whyflag.report.content import MOST_ROWS

    check_whole("--jobs", jobs, at_least=1, also=-1)
    output = file_of(output)
    kind = chosen_format(format_, output)
    refuse_input(output, rows)
    loaded = Model.load(model)
    explainer = loaded.explainer(method or (), n_jobs=jobs, refits=refits)
    scored = ScoredFile(
        loaded,
        rows,
        only_flagged=only_flagged,
        shown=True,
        most=MOST_ROWS if kind == Format.HTML else None,
        query=query,
        told=told_of(separator, encoding, header, sheet_name),
        redact=redact,
    )
    if kind != Format.HTML:
        remarks = _table(scored, explainer, output, kind, top, raw, refits)
    elif output is None:
        raise ValueError("A report is written to a file: name one with -o.")
    else:
        remarks = _report(scored, explainer, model, output)
    by = " and ".join(method or loaded.methods)
    if remarks:
        say(f"{len(remarks)} of {scored.n_rows} rows explained by {by}.")
    else:
        say(f"None of {scored.n_rows} rows raises an alarm, so none is explained.")
    if n_remarks := sum(map(bool, remarks)):
        have = "has" if n_remarks == 1 else "have"
        say(f"{n_remarks} of {len(remarks)} rows {have} a remark: read it before their figures.")


def _table(
    scored: ScoredFile,
    explainer: Explainer | Ensemble,
    output: Path | None,
    kind: Format,
    top: int,
    raw: bool,
    refits: int,
) -> list[str]:
    """Write the first culprits of each row; what is to be remarked of the rows."""
    columns = {
        **scored.columns,
        "rank": int,
        "feature": str,
        "attribution": float,
        "error": float,
        **(dict.fromkeys(("spread", "first"), float) if refits else {}),
        "observed": str,
        "normal": str,
        "lower": str,
        "upper": str,
        "range": str,
        "remark": str,
        "sentence": str,
    }
    remarks: list[str] = []
    told = scored.model.calibration.told
    with output_of(output, kind, columns, told, raw=raw) as write:
        for part in scored:
            said = explainer.explain(part.rows)
            remarks += said.remarks
            blamed = said.order[:, :top]
            rows = [
                (
                    {**record, "remark": remark or None, "sentence": sentence},
                    _culprits(said, i, blamed[i]),
                )
                for i, (record, remark, sentence) in enumerate(
                    zip(part.records(), said.remarks, said.sentences(), strict=True)
                )
            ]
            if kind == Format.JSONL:
                write([{**row, "culprits": culprits} for row, culprits in rows])
            else:
                write([{**row, **culprit} for row, culprits in rows for culprit in culprits])
    return remarks


def _culprits(said: Attribution, i: int, blamed: IntVector) -> list[dict[str, Any]]:
    from whyflag.attribution.display import normal, normal_range, normal_span, observed

    def culprit(rank: int, j: int) -> dict[str, Any]:
        error = None if said.standard_errors is None else float(said.standard_errors[i, j])
        lower, upper = normal_range(said, i, j) or (None, None)
        return {
            "rank": rank,
            "feature": said.feature_names[j],
            "attribution": float(said.values[i, j]),
            "error": error if error and np.isfinite(error) else None,
            **_refitted(said, i, j),
            "observed": observed(said, i, j, digits=10),
            "normal": normal(said, i, j, digits=6),
            "lower": lower,
            "upper": upper,
            "range": None if lower is None else normal_span(said, i, j),
        }

    return [culprit(rank, int(j)) for rank, j in enumerate(blamed, 1)]


def _refitted(said: Attribution, i: int, j: int) -> dict[str, float]:
    """How far a culprit depends on which normal rows there were, where that is known."""
    if said.refit_spread is None or said.refit_first is None:
        return {}
    return {"spread": float(said.refit_spread[i, j]), "first": float(said.refit_first[i, j])}


def _report(
    scored: ScoredFile, explainer: Explainer | Ensemble, model: Path, output: Path
) -> list[str]:
    """Explain the rows with the highest scores, and write a page about them; their remarks."""
    from whyflag.cli.scoring import highest
    from whyflag.report import write_report
    from whyflag.report.content import MOST_ROWS

    best: list[Scored] = []
    for part in scored:
        best = [highest([*best, part], MOST_ROWS)]
    if not best:
        raise ValueError(f"No row of {scored.name} raises an alarm: there is nothing to report.")
    (rows,) = best
    said = explainer.explain(rows.rows)
    write_report(
        said,
        output,
        normal=scored.model.normal,
        title=f"Why were these rows of {Path(scored.name).name} flagged?",
        n_rows=scored.n_rows,
        n_flagged=scored.n_flagged,
        cells=rows.cells,
        id_column=scored.model.schema.id_column,
        notes=[] if scored.drift is None else [str(scored.drift)],
        provenance={
            "Rows": scored.name,
            "Model": f"{model}, a {type(scored.model.detector).__name__}",
        },
    )
    say(f"Written: {output}")
    return list(said.remarks)
