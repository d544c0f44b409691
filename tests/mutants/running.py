"""Tests in a process of their own: forked from one that has imported the libraries, with limits.

Time is that of the processor, so that a loaded machine judges as an idle one does.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from compileall import compile_dir
from multiprocessing import get_context
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
COPIED = ("src", "tests", "benchmarks", "pyproject.toml")
# Imported once, before processes are forked.
LIBRARIES = (
    "numpy",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.spatial",
    "scipy.stats",
    "pandas",
    "sklearn.ensemble",
    "sklearn.mixture",
    "sklearn.neighbors",
    "sklearn.svm",
    "hypothesis",
    "hypothesis.strategies",
    "joblib",
    "tqdm.auto",
    "torch",
    "shap",
)
START = 300.0  # what collecting tests may take
SECONDS = 30.0  # what each test may take, besides ...
TIMES = 10.0  # ... this many times what it takes in the program as it is
WAIT = 600  # seconds by the clock, for what waits for something that never comes
MEMORY = 8 * 2**30  # bytes that a process may ask for
FORK = get_context("fork")
SURVIVED, KILLED, ENDLESS = "survived", "killed", "endless"
LAST = "last_test"


def copy_project(folder: Path) -> None:
    """Put a copy of the project, to spoil, into an empty folder."""
    for name in COPIED:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "mutants")
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, folder / name)
    # A file that changes twice within a second must not be mistaken for its compiled form.
    compile_dir(folder / "src", quiet=1, invalidation_mode=PycInvalidationMode.CHECKED_HASH)


def judge(copy: Path, tests: Mapping[str, float]) -> tuple[str, str]:
    """Whether tests, in their order, survive in a copy; if not, which did not.

    `tests` has the seconds that each takes in the program as it is.
    """
    if not tests:  # pytest would look for some
        return SURVIVED, ""
    files = list(dict.fromkeys(test.split("::")[0] for test in tests))
    last = copy / LAST
    last.write_text("")
    code = in_process(copy, files, [_Chosen(tests, last)])
    if code in (-signal.SIGPROF, -signal.SIGALRM):
        return ENDLESS, last.read_text()
    if code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        return SURVIVED, ""
    return KILLED, last.read_text()


def in_process(copy: Path, files: Sequence[str], plugins: Sequence[Any]) -> int | None:
    """Run pytest on files of a copy: its exit code, or minus the signal that ended it."""
    process = FORK.Process(target=_run, args=(copy, files, plugins))
    process.start()
    process.join()
    return process.exitcode


class _Chosen:
    """These tests only, in this order, each within its time."""

    def __init__(self, tests: Mapping[str, float], last: Path) -> None:
        self.tests = tests
        self.last = last

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        order = {test: place for place, test in enumerate(self.tests)}
        chosen = [item for item in items if item.nodeid in order]
        items[:] = sorted(chosen, key=lambda item: order[item.nodeid])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.last.write_text(nodeid)
        _limit(SECONDS + TIMES * self.tests[nodeid])

    def pytest_runtest_logfinish(self) -> None:
        _limit(START)


def _limit(seconds: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(WAIT)


def _run(copy: Path, files: Sequence[str], plugins: Sequence[Any]) -> None:
    _limit(START)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.chdir(copy)
    os.environ["PYTHONPATH"] = str(copy / "src")
    sys.path.insert(0, str(copy / "src"))
    options = ["-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # hypothesis is there already
    # What tests say of memory holds for a process of their own.
    os._exit(pytest.main([*options, "-k", "not memory", *files], plugins=plugins))
