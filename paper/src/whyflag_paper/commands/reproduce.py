"""`whyflag reproduce`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from whyflag.cli.console import console, errors_in_a_line

if TYPE_CHECKING:
    from whyflag_paper.results import Results
    from whyflag_paper.settings import Settings


@errors_in_a_line
def reproduce(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for results and fitted detectors.")
    ] = Path("reproduction"),
    quick: Annotated[
        bool, typer.Option("--quick", help="One seed on few rows: about two minutes.")
    ] = False,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Number of splits; 3, or 1 with --quick.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="A data set to run; may be given several times.")
    ] = None,
    processes: Annotated[
        int | None, typer.Option(min=1, help="Processes at a time; one for each core.")
    ] = None,
    tables_only: Annotated[
        Path | None,
        typer.Option("--tables", help="Run nothing: make the tables of this results file."),
    ] = None,
) -> None:
    """Rerun the paper's experiments, and set its tables beside ours.

    Interrupted, it goes on where it was when it is started again with the same folder.
    """
    if tables_only is None:
        _reproduce(output, _settings(quick, seeds, only), processes)
    else:
        from whyflag_paper.results import Results

        _show(Results.read(tables_only), tables_only.parent)


def _settings(quick: bool, seeds: int | None, only: list[str] | None) -> Settings:
    from whyflag_paper.datasets import load
    from whyflag_paper.settings import FULL, QUICK

    settings = QUICK if quick else FULL
    if seeds is not None:
        settings = replace(settings, seeds=tuple(range(seeds)))
    if only:
        settings = replace(settings, datasets=tuple(load(name).name for name in only))
    return settings


def _reproduce(output: Path, settings: Settings, processes: int | None) -> None:
    from whyflag_paper.results import Results
    from whyflag_paper.runner import run

    outcome = run(settings, output, processes=processes)
    for job, error in outcome.failed.items():
        console.print(f"[red]{escape(f'{job}: {error}')}[/red]", highlight=False)
    results = Results.collect(output)
    results.write(output / "results.json")
    _show(results, output)
    minutes = outcome.seconds / 60
    console.print(f"{outcome.computed} cells computed in {minutes:.1f} minutes.", highlight=False)
    if outcome.failed:
        raise ValueError(
            f"{len(outcome.failed)} jobs failed; start again with the same folder to go on."
        )


def _show(results: Results, folder: Path) -> None:
    """Print the tables; write them as Markdown and as a page, with pictures."""
    from whyflag_paper.pictures import draw
    from whyflag_paper.render import LEGEND, markdown, page, terminal
    from whyflag_paper.tables import tables

    made = tables(results)
    wide = Console(width=max(console.width, 160)) if not console.is_terminal else console
    for table in made:
        wide.print(terminal(table))
    console.print(LEGEND, highlight=False)
    written = [folder / "tables.md", folder / "tables.html"]
    for path, content in zip(written, (markdown(made), page(made)), strict=True):
        path.write_text(content, encoding="utf-8")
    written += draw(results, made, folder)
    console.print("Written: " + ", ".join(map(str, written)), highlight=False)
