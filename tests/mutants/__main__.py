"""Which wrong changes of the numerical core do the tests notice? As `make mutants`.

Tests of a mutant run in a copy of the project, in a process forked from one that has imported
the libraries already: those that mirror its module first, then those of all layers above it, until
one fails. The sample depends on the seed and on nothing else that may change, so that a mutant
stays in it as long as its own line stays as it is.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from compileall import compile_dir
from concurrent.futures import ProcessPoolExecutor, as_completed
from hashlib import sha256
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from py_compile import PycInvalidationMode

import pytest

from tests.mutants.changes import Mutant, mutants_of

ROOT = Path(__file__).parents[2]
KEPT = ROOT / ".mutants.json"
COPIED = ("src", "tests", "benchmarks", "pyproject.toml")
MODULES = (
    "games",
    "shapley",
    "minimise",
    "score",
    "domain",
    "attribution",
    "ensemble",
    "metrics",
)
# Tests of the layers that stand above one another: those below a module never see it.
LAYERS = (
    ("domain", ("tests/test_domain.py",)),
    ("attribution", ("tests/attribution",)),
    ("score", ("tests/score",)),
    ("minimise", ("tests/minimise",)),
    ("games", ("tests/games",)),
    ("shapley", ("tests/shapley",)),
    ("detectors", ("tests/detectors/test_gmm.py",)),
    ("adapters", ("tests/adapters/test_from_torch.py", "tests/adapters/test_from_sklearn.py")),
    ("methods", ("tests/methods",)),
    ("explainer", ("tests/test_explainer.py",)),
    ("ensemble", ("tests/test_ensemble.py",)),
    ("metrics", ("tests/test_metrics.py",)),
)
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
TEST_SECONDS = 60  # a test that takes longer has lost its way: none takes more than 10
MEMORY = 8 * 2**30  # bytes that a mutant may ask for
FORK = get_context("fork")
copy = ROOT  # until a process has one of its own
SURVIVED, KILLED, ENDLESS = "survived", "killed", "endless"


def main() -> None:
    """Draw a sample, try each mutant, say which survived."""
    options = _options()
    mutants = _sample(options.modules or MODULES, options.sample, options.seed)
    kept: dict[str, dict[str, str]] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    project = "near" if options.near else _digest()
    todo = []
    for key in mutants:
        before = kept.get(key, {})
        known = before.get("project") == project
        if before.get("verdict") == SURVIVED if options.survivors else not known:
            todo.append(key)
    print(f"{len(mutants)} mutants, {len(todo)} of them to try", flush=True)
    for name in LIBRARIES:
        import_module(name)
    end = time.monotonic() + 60 * options.minutes
    with (
        tempfile.TemporaryDirectory(prefix="mutants-") as folder,
        ProcessPoolExecutor(options.jobs, FORK, _take_copy, (folder,)) as pool,
    ):
        if not options.near and pool.submit(_judge, None, end).result() != SURVIVED:
            sys.exit("The tests fail without any change: this tells nothing.")
        futures = {pool.submit(_judge, mutants[key], end, options.near): key for key in todo}
        for future in as_completed(futures):
            key, verdict = futures[future], future.result()
            if verdict is not None:
                print(f"{verdict:9}{mutants[key]}", flush=True)
                kept[key] = {
                    "project": project,
                    "verdict": verdict,
                    "mutant": str(mutants[key]),
                }
                KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False))
    _report(mutants, {key: kept[key]["verdict"] for key in mutants if key in kept})


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("modules", nargs="*", help=f"of {', '.join(MODULES)}; all if none is named")
    parser.add_argument("--sample", type=int, default=320, help="mutants to draw")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--minutes", type=float, default=40, help="after which none is begun")
    parser.add_argument("--near", action="store_true", help="only tests that mirror the module")
    parser.add_argument(
        "--survivors", action="store_true", help="only those that survived the last time"
    )
    return parser.parse_args()


def _sample(modules: Sequence[str], size: int, seed: int) -> dict[str, Mutant]:
    """The mutants whose keys come first, once the seed has shuffled them."""
    mutants: dict[str, Mutant] = {}
    for module in modules:
        place = ROOT / "src" / "whyflag" / module
        files = sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
        for file in files:
            mutants.update(mutants_of(str(file.relative_to(ROOT)), file.read_bytes()))
    order = sorted(mutants, key=lambda key: sha256(f"{seed} {key}".encode()).digest())
    return {key: mutants[key] for key in order[:size]}


def _digest() -> str:
    """What tells this state of the project from others."""
    content = sha256()
    for folder in COPIED:
        for file in sorted((ROOT / folder).rglob("*.py")):
            content.update(file.read_bytes())
    return content.hexdigest()


def _take_copy(folder: str) -> None:
    """Give this process a copy of the project to spoil."""
    global copy
    copy = Path(tempfile.mkdtemp(dir=folder))
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "mutants")
            )
        else:
            shutil.copy(ROOT / name, copy / name)
    # A file that changes twice within a second must not be mistaken for its compiled form.
    compile_dir(copy / "src", quiet=1, invalidation_mode=PycInvalidationMode.CHECKED_HASH)


def _judge(mutant: Mutant | None, end: float, near: bool = False) -> str | None:
    """What becomes of a mutant; of the project as it is, if none is given."""
    if time.monotonic() > end:
        return None
    if mutant is None:
        return _verdict(_above("domain"))
    file = copy / mutant.path
    original = file.read_bytes()
    try:
        file.write_bytes(mutant.source)
        return _verdict(_tests(mutant, near))
    finally:
        file.write_bytes(original)


def _tests(mutant: Mutant, near: bool) -> list[str]:
    """The examples in its file, the tests that stand where it does, those of the layers above."""
    place = Path("tests") / Path(mutant.path).relative_to("src/whyflag")
    file = place.with_name(f"test_{place.name}")
    tests = [mutant.path, *([str(file)] if (ROOT / file).exists() else [])]
    above = _above(mutant.module)
    return list(dict.fromkeys(tests + (above[:1] if near else above)))


def _above(module: str) -> list[str]:
    first = [name for name, _ in LAYERS].index(module)
    return [test for _, tests in LAYERS[first:] for test in tests]


def _verdict(tests: Sequence[str]) -> str:
    process = FORK.Process(target=_run, args=(tests,))
    process.start()
    process.join()
    if process.exitcode == -signal.SIGALRM:
        return ENDLESS
    return KILLED if process.exitcode else SURVIVED


class _Limit:
    """A test that takes too long ends the process."""

    def pytest_runtest_logstart(self) -> None:
        signal.alarm(TEST_SECONDS)


def _run(tests: Sequence[str]) -> None:
    signal.alarm(TEST_SECONDS)
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
    os._exit(pytest.main([*options, "-k", "not memory", *tests], plugins=[_Limit()]))


def _report(mutants: dict[str, Mutant], verdicts: dict[str, str]) -> None:
    module = {key: mutants[key].module for key in verdicts}
    tried = Counter(module.values())
    killed = Counter(module[key] for key, verdict in verdicts.items() if verdict != SURVIVED)
    print("\nsurvivors:")
    for line in sorted(str(mutants[key]) for key, each in verdicts.items() if each == SURVIVED):
        print(f"  {line}")
    print("\nmodule       tried  killed  share")
    for name in sorted(tried):
        print(f"{name:12}{tried[name]:6}{killed[name]:8}{killed[name] / tried[name]:7.0%}")
    share = killed.total() / max(1, tried.total())
    endless = sum(verdict == ENDLESS for verdict in verdicts.values())
    print(f"{'all':12}{tried.total():6}{killed.total():8}{share:7.1%} ({endless} never ended)")
    if len(verdicts) < len(mutants):
        print(f"{len(mutants) - len(verdicts)} were not tried: run it again to go on.")


if __name__ == "__main__":
    main()
