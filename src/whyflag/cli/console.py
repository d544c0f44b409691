"""What the commands share: where they write, and how they tell what is wrong."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import typer
from rich.console import Console
from rich.markup import escape

console = Console()
messages = Console(stderr=True)  # so that a pipe has nothing but results

# What to do about an error of the library, by its name: to import it would take time.
HINTS = {
    "MissingValuesError": "--drop-missing does the one, --impute median the other.",
    "TooManyCategoriesError": "The options are --id and --columns.",
    "NoNormalRowsError": "The option of `whyflag fit` is --method.",
}

Command = TypeVar("Command", bound=Callable[..., None])


def errors_in_a_line(command: Command) -> Command:
    """Tell what is wrong with what was asked, without a traceback, and end with 1."""

    @functools.wraps(command)
    def careful(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except (ValueError, TypeError, OSError, ImportError) as error:
            text = " ".join(filter(None, [str(error), HINTS.get(type(error).__name__)]))
            messages.print(f"[red]{escape(text)}[/red]", highlight=False, soft_wrap=True)
            raise typer.Exit(1) from error

    return careful  # type: ignore[return-value]


def say(text: str) -> None:
    """Tell something that is not a result."""
    messages.print(escape(text), highlight=False, soft_wrap=True)
