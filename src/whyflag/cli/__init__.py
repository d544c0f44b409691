"""The command line."""

from __future__ import annotations

import typer

from whyflag.cli.demo import demo
from whyflag.cli.explain import explain
from whyflag.cli.fit import fit
from whyflag.cli.paper import add_commands
from whyflag.cli.score import score

app = typer.Typer(
    help="Why did the anomaly detector flag this row, and which values would have been normal?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (demo, fit, score, explain):
    app.command()(command)
add_commands(app)
