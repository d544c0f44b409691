"""`whyflag demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whyflag.cli.console import console, errors_in_a_line
from whyflag.cli.explain import explain
from whyflag.cli.fit import fit
from whyflag.cli.output import Format

FEW = slice(None, None, 12)  # of 48


@errors_in_a_line
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the data, the model and the report.")
    ] = Path("whyflag-demo"),
) -> None:
    """Show why wines of a third producer are flagged, on data that come with scikit-learn."""
    from sklearn.datasets import load_wine

    data, grower = load_wine(return_X_y=True, as_frame=True)
    data.columns = [name.replace("_", " ") for name in data.columns]
    data.insert(0, "bottle", [f"B{i:03d}" for i in range(len(data))])
    known, other = data[grower != 2], data[grower == 2]
    output.mkdir(parents=True, exist_ok=True)
    tables = {"known": known, "other": other, "few": other[FEW]}
    files = {name: output / f"{name}.csv" for name in tables}
    for name, table in tables.items():
        table.to_csv(files[name], index=False)
    model, report = output / "model", output / "report.html"

    console.print(
        f"13 measurements of {len(known)} wines of two producers, and of {len(other)} of a third. "
        "Which measurements make these unusual?\n",
        highlight=False,
        soft_wrap=True,
    )
    _step(f"whyflag fit {files['known']} --id bottle --contamination 0.05 -o {model}")
    fit(str(files["known"]), model, id_column="bottle", contamination=0.05)
    _step(f"whyflag explain {model} {files['few']}")
    explain(model, str(files["few"]), format_=Format.TABLE)
    _step(f"whyflag explain {model} {files['other']} --only-flagged -o {report}")
    explain(model, str(files["other"]), only_flagged=True, output=report)
    console.print(f"\nOpen {report} in a browser.", highlight=False, soft_wrap=True)


def _step(command: str) -> None:
    console.print(f"[bold]$ {command}[/bold]", highlight=False, soft_wrap=True)
