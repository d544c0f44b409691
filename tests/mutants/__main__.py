"""Which wrong changes of the numerical core do the tests notice? As `make mutants`.

Tests of a mutant run in a copy of the project: the one that killed it the last time, then those
that reach its lines, until one fails. The sample depends on the seed and on nothing else that may
change, so that a mutant stays in it as long as its own line stays as it is.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.mutants.changes import Mutant, mutants_of
from tests.mutants.reach import Reach, project
from tests.mutants.running import (
    ENDLESS,
    FORK,
    LIBRARIES,
    ROOT,
    SURVIVED,
    copy_project,
    judge,
)

KEPT = ROOT / ".mutants" / "verdicts.json"
MODULES = (
    "games",
    "shapley",
    "minimise",
    "score",
    "domain",
    "attribution",
    "ensemble",
    "metrics",
    "bonds",
    "clusters",
    "nearness",
    "prediction",
    "repair",
    "stand_in",
)
copy = ROOT  # until a process has one of its own


def main() -> None:
    """Draw a sample, try each mutant, say which survived."""
    options = _options()
    mutants = _sample(options.modules or MODULES, options.sample, options.seed)
    kept: dict[str, dict[str, Any]] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    state = project()
    for name in LIBRARIES:
        import_module(name)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        _take_copy(folder)
        reach = Reach(copy)
        reach.measure(sorted({mutant.path for mutant in mutants.values()}), options.near)
        todo = {}
        for key, mutant in mutants.items():
            before = kept.get(key, {})
            if options.survivors and before.get("verdict") != SURVIVED:
                continue
            tests = _within(reach.tests(mutant), options.seconds, before.get("test", ""))
            if before.get("project") != state or (
                before["verdict"] == SURVIVED and before["tests"] < len(tests)
            ):
                todo[key] = tests
        print(f"{len(mutants)} mutants, {len(todo)} of them to try", flush=True)
        end = time.monotonic() + 60 * options.minutes
        with ProcessPoolExecutor(options.jobs, FORK, _take_copy, (folder,)) as pool:
            futures = {
                pool.submit(_try, mutants[key], tests, end): key for key, tests in todo.items()
            }
            for future in as_completed(futures):
                key, result = futures[future], future.result()
                if result is not None:
                    verdict, test = result
                    print(f"{verdict:9}{mutants[key]}", flush=True)
                    kept[key] = {
                        "project": state,
                        "verdict": verdict,
                        "test": test,
                        "tests": len(todo[key]),
                        "mutant": str(mutants[key]),
                    }
                    KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False))
    _report(mutants, kept, state)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument(
        "modules",
        nargs="*",
        help=f"of {', '.join(MODULES)}; all if none is named; or files of them: games/by_trees",
    )
    parser.add_argument("--sample", type=int, default=320, help="mutants to draw")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--minutes", type=float, default=40, help="after which none is begun")
    parser.add_argument("--seconds", type=float, default=30, help="of tests for each mutant")
    parser.add_argument("--near", action="store_true", help="only tests of the modules themselves")
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


def _within(tests: dict[str, float], seconds: float, killer: str) -> dict[str, float]:
    """The one that killed it before, and the first that together take so long."""
    chosen = {killer: tests[killer]} if killer in tests else {}
    for test, its in tests.items():
        seconds -= its
        if seconds < 0:
            break
        chosen[test] = its
    return chosen


def _take_copy(folder: str) -> None:
    """Give this process a copy of the project to spoil."""
    global copy
    copy = Path(tempfile.mkdtemp(dir=folder))
    copy_project(copy)


def _try(mutant: Mutant, tests: dict[str, float], end: float) -> tuple[str, str] | None:
    """What becomes of a mutant, and by which test; None once the time is over."""
    if time.monotonic() > end:
        return None
    file = copy / mutant.path
    original = file.read_bytes()
    try:
        file.write_bytes(mutant.source)
        return judge(copy, tests)
    finally:
        file.write_bytes(original)


def _report(mutants: dict[str, Mutant], kept: dict[str, dict[str, Any]], state: str) -> None:
    known = {key: kept[key] for key in mutants if key in kept}
    module = {key: mutants[key].module for key in known}
    tried = Counter(module.values())
    survivors = {key for key, each in known.items() if each["verdict"] == SURVIVED}
    killed = Counter(module[key] for key in known.keys() - survivors)
    print("\nsurvivors:")
    for line in sorted(str(mutants[key]) for key in survivors):
        print(f"  {line}")
    print("\nmodule       tried  killed  share")
    for name in sorted(tried):
        print(f"{name:12}{tried[name]:6}{killed[name]:8}{killed[name] / tried[name]:7.0%}")
    share = killed.total() / max(1, tried.total())
    endless = sum(each["verdict"] == ENDLESS for each in known.values())
    print(f"{'all':12}{tried.total():6}{killed.total():8}{share:7.1%} ({endless} never ended)")
    older = sum(each["project"] != state for each in known.values())
    if older:
        print(f"{older} of them were tried with another state of source or tests.")
    if len(known) < len(mutants):
        print(f"{len(mutants) - len(known)} were not tried: run it again to go on.")


if __name__ == "__main__":
    main()
