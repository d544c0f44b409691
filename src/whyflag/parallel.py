"""Several cores: a process on each, with one thread of linear algebra."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from whyflag.checks import check_whole
from whyflag.memory import keep_freed_memory


def count_jobs(n_jobs: int) -> int:
    """How many processes; −1 stands for one on every core that this one may use."""
    from joblib import cpu_count

    check_whole("n_jobs", n_jobs, at_least=1, also=-1)
    return int(cpu_count()) if n_jobs == -1 else n_jobs


def in_processes(
    n_jobs: int, function: Callable[[Any], Any], items: Sequence[Any]
) -> Iterator[Any]:
    """What a function makes of each item, in their order.

    Threads would get into each other's way: with few features, arrays are so small that most of
    the time goes by while the interpreter is locked. The processes are kept for the next call.
    """
    from joblib import Parallel, delayed

    # Arrays above a size would be put into files that can only be read, and not every detector
    # leaves its arrays alone.
    parallel = Parallel(n_jobs, return_as="generator", max_nbytes=None)
    try:
        yield from parallel(delayed(_call)(function, item) for item in items)
    except Exception as error:
        error.add_note(
            "This happened with `n_jobs` above 1: the detector is copied into processes."
        )
        raise


def _call(function: Callable[[Any], Any], item: Any) -> Any:
    keep_freed_memory()
    return function(item)
