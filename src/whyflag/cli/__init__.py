"""The command line."""

from __future__ import annotations

from typing import Annotated

import typer

from whyflag import __version__
from whyflag.cli.demo import demo
from whyflag.cli.explain import explain
from whyflag.cli.fit import fit
from whyflag.cli.paper import add_commands
from whyflag.cli.score import score
from whyflag.memory import keep_freed_memory

app = typer.Typer(
    help="Why did the anomaly detector flag this row, and which values would have been normal?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",  # the default depends on the version of typer
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"whyflag {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Options that stand before the command."""
    keep_freed_memory()  # the process is ours


for command in (demo, fit, score, explain):
    app.command()(command)
add_commands(app)
