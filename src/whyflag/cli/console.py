"""What the commands share: where they write, and how they tell what is wrong."""

from __future__ import annotations

import errno
import functools
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, final

import typer
from rich.console import Console
from rich.markup import escape

console = Console()
messages = Console(stderr=True)  # so that a pipe has nothing but results

# What to do about an error of the library, by its name: to import it would take time.
HINTS = {
    "NoNormalRowsError": "The option of `whyflag fit` is --method.",
}
# The options by which what was assumed is said otherwise.
OPTIONS = {
    "id": "--id",
    "type": "--type",
    "header": "--header",
    "separator": "--separator",
    "encoding": "--encoding",
    "sheet": "--sheet",
    "totals": "--keep-totals",
}
# Errors whose text says what is wrong; of others the type is said as well.
PLAIN = (ValueError, TypeError, OSError, ImportError)
NO_READER = 128 + 13  # as other programs end whose reader has gone: by SIGPIPE
MOST_NOTES = 20  # on one file
LONGEST = 2000  # characters of a message
# What a terminal would obey instead of showing it, and what turns the direction of a line.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")

Command = TypeVar("Command", bound=Callable[..., None])


def errors_in_a_line(command: Command) -> Command:
    """Tell what is wrong with what was asked, without a traceback, and end with 1."""

    @functools.wraps(command)
    def careful(*arguments: Any, **options: Any) -> None:
        try:
            with warnings.catch_warnings():  # the process is ours
                warnings.showwarning = _once(_say_warning)
                command(*arguments, **options)
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except BrokenPipeError:  # `| head` has read what it wanted
            _forget_output()
            raise typer.Exit(NO_READER) from None
        except Exception as error:
            messages.print(f"[red]{escape(_line(error))}[/red]", highlight=False, soft_wrap=True)
            raise typer.Exit(1) from error

    return careful  # type: ignore[return-value]


def say(text: str) -> None:
    """Tell something that is not a result."""
    messages.print(escape(plain(text)), highlight=False, soft_wrap=True)


@final
class Notes:
    """Notes on the parts of a file: each is told once, and of many the first."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def tell(self, notes: Iterable[str]) -> None:
        """Tell notes that are new."""
        for note in notes:
            if note not in self._told and len(self._told) < MOST_NOTES:
                option = OPTIONS.get(getattr(note, "about", ""))
                say(f"{note} ({option} says otherwise)" if option else note)
            self._told.add(note)

    def __enter__(self) -> Notes:
        return self

    def __exit__(self, *_: object) -> None:
        if len(self._told) > MOST_NOTES:
            say(f"And {len(self._told) - MOST_NOTES} more such notes.")


def plain(text: str) -> str:
    r"""A text in one line, with nothing in it that a terminal would obey.

    >>> plain("\x1b]0;title\x07 of two\nlines")
    '�]0;title� of two lines'
    """
    return _CONTROL.sub("\ufffd", re.sub(r"\s*[\r\n]+\s*", " ", text.strip()).replace("\t", " "))


def _line(error: Exception) -> str:
    said = plain(str(error))
    if isinstance(error, OSError) and error.errno == errno.ENOSPC and error.filename is None:
        said = f"What was to be written does not fit: {said}"
    if not isinstance(error, PLAIN):
        said = f"{type(error).__name__}: {said}" if said else type(error).__name__
    if len(said) > LONGEST:
        said = f"{said[:LONGEST]} …"
    return " ".join(filter(None, [said, HINTS.get(type(error).__name__)]))


def _once(show: Callable[..., None]) -> Callable[..., None]:
    """Show what is the same as before no more: a detector is fitted several times."""
    shown: set[str] = set()

    def show_new(message: Warning | str, *rest: Any, **options: Any) -> None:
        if str(message) not in shown:
            shown.add(str(message))
            show(message, *rest, **options)

    return show_new


def _say_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """A library's warning in a line, without the code that it came from."""
    if category.__name__ == "ConvergenceWarning":
        say(f"A part of the work ended before it had settled: {message}")
    elif not issubclass(category, (DeprecationWarning, FutureWarning)):
        say(str(message))


def _forget_output() -> None:
    """Let what is left in the buffer of standard output go nowhere, without a complaint."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
