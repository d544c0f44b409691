"""The commands of the paper's experiments, which come with a distribution of their own."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points

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
ANYTHING = {"ignore_unknown_options": True, "allow_extra_args": True}


def add_commands(app: typer.Typer) -> None:
    """Add the commands as they are found, or in their place what says how to get them."""
    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    for name, summary in COMMANDS.items():
        try:
            app.command(name)(_load(name, found.get(name)))
        except ImportError as error:
            # Whatever was asked of it, the answer is the same.
            app.command(name, help=summary, context_settings=ANYTHING)(_refusal(error))


def _load(name: str, entry: EntryPoint | None) -> Callable[..., None]:
    if entry is None:
        raise ImportError(f"`whyflag {name}` {INSTALL}")
    try:
        command: Callable[..., None] = entry.load()
    except (ImportError, AttributeError) as error:
        raise ImportError(
            f"`whyflag {name}` {INSTALL} The one that is here cannot be loaded: {error}."
        ) from error
    return command


def _refusal(error: ImportError) -> Callable[..., None]:
    @errors_in_a_line
    def refuse() -> None:
        raise error

    return refuse
