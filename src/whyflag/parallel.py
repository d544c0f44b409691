"""Several cores: a thread of Python for each, and one thread of linear algebra in each of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from threadpoolctl import threadpool_limits

Map = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]


def count_jobs(n_jobs: int) -> int:
    """How many jobs to run at a time; −1 stands for one on every core that this process may use."""
    if n_jobs == -1:
        affinity = getattr(os, "sched_getaffinity", None)
        return (len(affinity(0)) if affinity else os.cpu_count()) or 1
    if n_jobs < 1:
        raise ValueError(f"`n_jobs` must be at least 1, or -1 for every core, got {n_jobs}.")
    return n_jobs


@contextmanager
def at_a_time(n_jobs: int) -> Iterator[Map]:
    """A `map` that works on `n_jobs` items at a time, in their order.

    NumPy lets go of the interpreter's lock while it computes, so threads will do: nothing is
    copied, and any detector can be shared. Left to itself, linear algebra would start as many
    threads again in each of them.
    """
    if n_jobs == 1:
        yield map
        return
    with threadpool_limits(1), _one_thread_of_torch():
        # OpenMP keeps the limit of each thread by itself.
        executor = ThreadPoolExecutor(n_jobs, initializer=threadpool_limits, initargs=(1,))
        try:
            yield executor.map
        finally:
            executor.shutdown(cancel_futures=True)


@contextmanager
def _one_thread_of_torch() -> Iterator[None]:
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
