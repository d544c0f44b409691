"""Which tests reach which lines, and how long they take: a mutant needs no others."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import coverage
import pytest

from tests.mutants.changes import Mutant
from tests.mutants.running import COPIED, ROOT, in_process

KEPT = ROOT / ".mutants" / "reach.json"
NEAR = (
    "tests/attribution",
    "tests/games",
    "tests/minimise",
    "tests/repair",
    "tests/score",
    "tests/shapley",
    "tests/test_bonds.py",
    "tests/test_domain.py",
    "tests/test_ensemble.py",
    "tests/test_metrics.py",
    "tests/test_nearness.py",
)
# What stands above, as far as it is about numbers. Tests of abilities are left out: they are more
# than all others together.
FAR = (
    "tests/adapters/test_as_score.py",
    "tests/adapters/test_forest.py",
    "tests/adapters/test_from_sklearn.py",
    "tests/adapters/test_from_torch.py",
    "tests/adapters/test_maps.py",
    "tests/detectors/test_gmm.py",
    "tests/methods",
    "tests/test_explainer.py",
    "tests/test_outcome.py",
    "tests/test_parallel.py",
    "tests/test_prepared.py",
    "tests/test_records.py",
    "tests/test_rounding.py",
    "tests/test_turning_random.py",
)
IMPORT = ""  # what reaches a line before any test


class Reach:
    """What each file of tests reaches, measured once for each state of source and tests."""

    def __init__(self, copy: Path) -> None:
        self._copy = copy
        self.files: dict[str, Any] = json.loads(KEPT.read_text()) if KEPT.exists() else {}

    def measure(self, modules: list[str], near: bool) -> None:
        """Run each file of tests that has changed, and the examples of `modules`."""
        files = [*_python("src"), *(f for f in _python("tests") if not _is_test(f))]
        common = digest(files)
        places = [
            file for place in NEAR + FAR * (not near) for file in _python(place) if _is_test(file)
        ]
        examples = [file for file in modules if ">>> " in (ROOT / file).read_text()]
        before, self.files = self.files, {}
        for file in [*examples, *places]:
            state = digest([file]) + common
            known = before.get(file, {}).get("state") == state
            self.files[file] = before[file] if known else {"state": state, **self.run(file)}
            if not known:
                KEPT.parent.mkdir(exist_ok=True)
                KEPT.write_text(json.dumps(before | self.files))

    def tests(self, mutant: Mutant) -> dict[str, float]:
        """Tests that reach a mutant and their seconds: those that mirror it, then the others.

        Each file has an equal part of the time, its quickest tests first: a few slow or very many
        quick ones cannot keep the others waiting.
        """
        mirror = (mutant.path, f"tests/{mutant.module}/", f"tests/test_{mutant.module}.py")
        keys: dict[str, tuple[bool, bool, float]] = {}
        seconds: dict[str, float] = {}
        for file, reached in self.files.items():
            total = 0.0
            direct, others = _reaching(reached, mutant)
            for test in sorted(direct | others, key=reached["seconds"].__getitem__):
                seconds[test] = reached["seconds"][test]
                total += seconds[test]
                keys[test] = (test in others, not file.startswith(mirror), total)
        return {test: seconds[test] for test in sorted(keys, key=keys.__getitem__)}

    def run(self, file: str) -> dict[str, Any]:
        """The seconds of the tests in a file, and for each line of the source the tests as bits."""
        kept = self._copy / "reached.json"
        code = in_process(self._copy, [file], [_Watch(self._copy, kept)])
        if code == pytest.ExitCode.NO_TESTS_COLLECTED:
            return {"seconds": {}, "lines": {}}
        if code != pytest.ExitCode.OK:
            raise SystemExit(f"{file} fails without any change: this tells nothing.")
        reached: dict[str, Any] = json.loads(kept.read_text())
        return reached


class _Watch:
    """Writes which lines each test reaches, as bits of a number, and its seconds."""

    def __init__(self, copy: Path, kept: Path) -> None:
        self._copy, self._kept = copy, kept
        self._seconds: dict[str, float] = {}
        self._coverage = coverage.Coverage(
            data_file=None, config_file=False, source=[str(copy / "src" / "whyflag")]
        )

    def pytest_configure(self) -> None:
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._coverage.switch_context(item.nodeid)
        begin = time.process_time()
        result = yield
        self._seconds[item.nodeid] = time.process_time() - begin
        self._coverage.switch_context(IMPORT)
        return result

    def pytest_sessionfinish(self) -> None:
        self._coverage.stop()
        data = self._coverage.get_data()
        places = {IMPORT: 0, **{test: i for i, test in enumerate(self._seconds, start=1)}}
        lines: dict[str, dict[int, str]] = defaultdict(dict)
        for file in data.measured_files():
            path = str(Path(file).relative_to(self._copy))
            for line, tests in data.contexts_by_lineno(file).items():
                lines[path][line] = hex(sum(1 << places[test] for test in tests))
        self._kept.write_text(json.dumps({"seconds": self._seconds, "lines": lines}))


def _reaching(reached: dict[str, Any], mutant: Mutant) -> tuple[set[str], set[str]]:
    """Tests that run a line of the mutant; if it runs on import, the others that run its file."""
    direct = everything = 0
    for line, digits in reached["lines"].get(mutant.path, {}).items():
        bits = int(digits, 16)
        everything |= bits
        if mutant.line <= int(line) <= mutant.last:
            direct |= bits
    on_import = direct % 2 or not direct
    names = [IMPORT, *reached["seconds"]]

    def named(bits: int) -> set[str]:
        return {name for i, name in enumerate(names) if name and bits >> i & 1}

    return named(direct), named(everything & ~direct if on_import else 0)


def digest(files: list[str]) -> str:
    """What tells this content of files from others."""
    content = sha256()
    for file in files:
        content.update((ROOT / file).read_bytes())
    return content.hexdigest()


def project() -> str:
    """What tells this state of the project from others."""
    return digest([file for place in COPIED for file in _python(place)])


def _python(place: str) -> list[str]:
    if not (ROOT / place).is_dir():
        return [place]
    files = sorted(str(file.relative_to(ROOT)) for file in (ROOT / place).rglob("*.py"))
    return [file for file in files if not file.startswith("tests/mutants/")]


def _is_test(file: str) -> bool:
    return Path(file).name.startswith("test_")
