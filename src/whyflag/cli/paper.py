"""The commands of the paper's experiments, which come with a distribution of their own."""

from __future__ import annotations

from importlib.metadata import entry_points

import typer

from whyflag.cli.console import errors_in_a_line

GROUP = "whyflag.commands"  # of the entry points by which the distribution names its commands
COMMANDS = {
    "datasets": "List the paper's data sets (with whyflag-paper).",
    "reproduce": "Rerun the paper's experiments (with whyflag-paper).",
}
INSTALL = (
    "needs the whyflag-paper package: pip install whyflag-paper; in a clone, pip install ./paper."
)
# Whatever is asked of a command, --help too, goes to the one that is found.
ANYTHING = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


def add_commands(app: typer.Typer) -> None:
    """Add the commands; what is behind them is looked for when one is asked for."""
    for name, summary in COMMANDS.items():
        app.command(name, help=summary, context_settings=ANYTHING)(_run)


@errors_in_a_line
def _run(context: typer.Context) -> None:
    name = str(context.info_name)
    found = next(iter(entry_points(group=GROUP, name=name)), None)
    if found is None:
        raise ImportError(f"`whyflag {name}` {INSTALL}")
    try:
        command = found.load()
    except (ImportError, AttributeError) as error:
        raise ImportError(
            f"`whyflag {name}` {INSTALL} The one that is here cannot be loaded: {error}."
        ) from error
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(command)
    app(context.args, prog_name=context.command_path)
