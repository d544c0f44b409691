"""Runs jobs on all cores, shows how far they are, and goes on where an earlier run stopped."""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any, final

from tqdm.auto import tqdm

from whyflag_paper.cells import Job, jobs
from whyflag_paper.durations import expected_seconds
from whyflag_paper.settings import Settings
from whyflag_paper.store import Store
from whyflag_paper.work import fit_key, work

SETTINGS = ("settings",)
PACKAGES = ("whyflag", "numpy", "scipy", "scikit-learn", "torch", "imbalanced-learn")
# One thread for each process: threads of several processes would fight for the cores.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
POLL = 0.2  # seconds between two looks at what the processes tell


@final
@dataclass
class Outcome:
    """What became of a run."""

    seconds: float
    computed: int = 0
    failed: dict[str, str] = field(default_factory=dict)  # by job: what went wrong


def run(settings: Settings, folder: Path, *, processes: int | None = None) -> Outcome:
    """Compute every cell that the folder does not have yet.

    Args:
        settings: What is computed. A folder holds the results of one set of settings.
        folder: Where results and fitted detectors are kept.
        processes: How many at a time; as many as there are cores if none is given.
    """
    folder = folder.resolve()
    _claim(folder, settings)
    store = Store(folder / "cells")
    left = {job: _missing(job, store) for job in jobs(settings)}
    left = {job: keys for job, keys in left.items() if keys}
    outcome = Outcome(0.0)
    began = time.perf_counter()
    for name in ONE_THREAD:
        os.environ[name] = "1"
    context = get_context("spawn")
    told = context.SimpleQueue()  # what is put there is there before its job has ended
    pool = ProcessPoolExecutor(
        processes or _cores(),
        context,
        initializer=_begin_process,
        initargs=(told, os.getpid()),
    )
    try:
        # The longest first, so that no long one is left for the end.
        order = sorted(left, key=lambda job: -sum(map(expected_seconds, left[job])))
        futures = {pool.submit(_work, job, settings, folder): job for job in order}
        _watch(futures, left, told, outcome)
    except BaseException:
        # Let no process outlive the run, whatever ended it.
        for process in list((getattr(pool, "_processes", None) or {}).values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        told.close()
    outcome.seconds = time.perf_counter() - began
    return outcome


def _claim(folder: Path, settings: Settings) -> None:
    """Write down the settings, or refuse a folder that has the results of others."""
    store = Store(folder / "cells")
    record = {"settings": settings.to_json(), "versions": _versions()}
    if SETTINGS in store:
        found = store.read(SETTINGS)["settings"]
        if found != record["settings"]:
            # Also those that only one of the two has.
            names = dict.fromkeys([*record["settings"], *found])
            other = [n for n in names if found.get(n) != record["settings"].get(n)]
            raise ValueError(
                f"{folder} has the results of a run with other settings ({', '.join(other)}). "
                "Choose another folder, or delete this one."
            )
        return
    store.write(SETTINGS, record)


def _missing(job: Job, store: Store) -> list[tuple[str, ...]]:
    keys = [fit_key(job), *(cell.key for cell in job.cells())]
    return [key for key in keys if key not in store]


def _watch(
    futures: dict[Future[None], Job],
    left: dict[Job, list[tuple[str, ...]]],
    told: Any,
    out: Outcome,
) -> None:
    """Show progress until every job has ended."""
    total = sum(expected_seconds(key) for keys in left.values() for key in keys)
    layout = "{desc} {percentage:3.0f}% |{bar}| {elapsed} so far, {remaining} to go{postfix}"
    with tqdm(total=total, bar_format=layout, desc="cells", disable=None) as bar:
        pending = set(futures)
        while pending:
            ended, pending = wait(pending, timeout=POLL)
            for what, key in _messages(told):
                if what == "end":
                    out.computed += 1
                    bar.update(expected_seconds(key))
                else:
                    bar.set_postfix_str(" · ".join(key), refresh=False)
            bar.refresh()
            for future in ended:
                error = future.exception()
                if error is not None:
                    job = futures[future]
                    name = f"{job.dataset}, {job.family}, seed {job.seed}"
                    out.failed[name] = f"{type(error).__name__}: {error}"


def _messages(told: Any) -> Iterator[tuple[str, tuple[str, ...]]]:
    while not told.empty():
        yield told.get()


_told: Any = None  # in a process of the pool: where it tells of its steps


def _work(job: Job, settings: Settings, folder: Path) -> None:
    work(job, settings, folder, lambda what, key: _told.put((what, key)))


def _begin_process(told: Any, parent: int) -> None:
    import torch

    global _told
    _told = told
    torch.set_num_threads(1)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """End this process when the one that began it is gone, whatever ended that."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _cores() -> int:
    """Cores that this program may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _versions() -> dict[str, str]:
    return {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}
