"""How far a command has come: a line on standard error that moves, in a terminal or a pipe."""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from shutil import get_terminal_size
from typing import IO, Any, TypeVar, final

from whyflag.progress import shown_by

FIRST = 1.0  # seconds before the first word: what is done by then needs none
PAUSES = (1.0, 2.0, 3.0, 5.0, 10.0)  # seconds between two lines of a pipe; the last goes on
BLINK = 0.5  # seconds between two looks at a terminal's line

Command = TypeVar("Command", bound=Callable[..., None])


def with_progress(command: Command) -> Command:
    """Tell how far the command has come, unless it is asked to be `quiet`."""

    @functools.wraps(command)
    def telling(*arguments: Any, quiet: bool = False, **options: Any) -> None:
        if quiet:
            command(*arguments, **options)
            return
        with _Stack(sys.stderr) as works, shown_by(works.begin):
            command(*arguments, **options)

    return telling  # type: ignore[return-value]


@final
class _Work:
    """A piece of work that is under way."""

    def __init__(self, what: str, unit: str, total: int | None) -> None:
        self.what, self.unit, self.total = what, unit, total
        self.done, self.began = 0, time.monotonic()

    def update(self, n: int = 1) -> None:
        self.done += n

    def part(self, within: float) -> float | None:
        """How much of it is done, with a part of the unit that is under way."""
        return min((self.done + within) / self.total, 1.0) if self.total else None

    def __str__(self) -> str:
        if not self.total:
            return f"{self.what}: {self.done:,} {self.unit}s"
        if self.unit == "byte":
            return f"{self.what}: {100 * min(self.done / self.total, 1.0):.0f} %"
        return f"{self.what}: {min(self.done, self.total):,} of {self.total:,} {self.unit}s"


@final
class _Stack:
    """The work that is under way, the whole first, and a thread that tells of it."""

    def __init__(self, where: IO[str]) -> None:
        self._where, self._works, self._written = where, list[_Work](), False
        self._began, self._ended = time.monotonic(), threading.Event()
        self._in_terminal = where.isatty()
        self._thread = threading.Thread(target=self._tell, daemon=True)

    def __enter__(self) -> _Stack:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    @contextmanager
    def begin(self, what: str, unit: str, total: int | None) -> Iterator[_Work]:
        work = _Work(what, unit, total)
        self._works.append(work)
        try:
            yield work
        finally:
            self._works.remove(work)

    def line(self, now: float) -> str:
        """What is said at a time."""
        works = list(self._works)
        # What has been read whole, while its rows are at work, says nothing of these.
        left = [work for work in works if not work.total or work.done < work.total]
        said = "; ".join(map(str, left)) or "at work"
        part = 0.0
        for work in reversed(left):
            part = work.part(part) or 0.0
        remaining = ""
        if left and 0 < part < 1:
            remaining = f", about {_time((now - left[0].began) * (1 - part) / part)} left"
        return f"{said} ({_time(now - self._began)}{remaining})"

    def _tell(self) -> None:
        pauses = iter(PAUSES)
        pause = FIRST
        while not self._ended.wait(pause):
            pause = BLINK if self._in_terminal else next(pauses, PAUSES[-1])
            self._write(self.line(time.monotonic()))
        if self._in_terminal and self._written:
            self._write("")

    def _write(self, line: str) -> None:
        if self._in_terminal:
            # What else is said begins where this began.
            line = f"{line[: get_terminal_size().columns - 1]}\x1b[K\r"
        else:
            line = f"{line}\n"
        self._written = True
        try:
            self._where.write(line)
            self._where.flush()
        except (OSError, ValueError):  # nobody reads it any more
            self._ended.set()


def _time(seconds: float) -> str:
    """A time as people say it.

    >>> _time(59.6), _time(3700)
    ('60 s', '62 min')
    """
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
