"""How far a long run has come, told to whoever wants to know."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

Item = TypeVar("Item")


class Bar(Protocol):
    """What is told of one piece of work."""

    def update(self, n: int = 1) -> Any:
        """So many more units are done."""


Shower = Callable[[str, str, int | None], AbstractContextManager[Bar]]


def _terminal(what: str, unit: str, total: int | None) -> AbstractContextManager[Bar]:
    """A bar in a terminal, if it takes more than two seconds."""
    from tqdm.auto import tqdm  # a tenth of the time that it takes to import whyflag

    bar: AbstractContextManager[Bar] = tqdm(
        desc=what, unit=unit, total=total, delay=2, disable=None
    )
    return bar


_shower: ContextVar[Shower] = ContextVar("shower", default=_terminal)


def work(what: str, unit: str, total: int | None = None) -> AbstractContextManager[Bar]:
    """A piece of work, of so many units if that is known."""
    return _shower.get()(what, unit, total)


def steps(items: Sequence[Item], what: str, unit: str) -> Iterator[Item]:
    """Items one after another, each a unit of work."""
    with work(what, unit, len(items)) as bar:
        for item in items:
            yield item
            bar.update(1)


@contextmanager
def shown_by(shower: Shower) -> Iterator[None]:
    """Let all work that is begun in here be told in this way; of other threads nothing changes."""
    before = _shower.set(shower)
    try:
        yield
    finally:
        _shower.reset(before)
