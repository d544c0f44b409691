"""Tests in a process of their own, and which lines they reach."""

import pytest

from tests.mutants import running
from tests.mutants.changes import mutants_of
from tests.mutants.reach import Reach
from tests.mutants.running import ENDLESS, KILLED, SURVIVED, judge

TESTS = """
import time

def test_right():
    pass

def test_wrong():
    assert False

def test_that_works_on():
    while True:
        pass

def test_that_waits():
    time.sleep(2.2)
"""


@pytest.mark.parametrize(
    ("tests", "verdict", "last"),
    [
        (["right"], SURVIVED, ""),
        (["right", "wrong", "that_works_on"], KILLED, "wrong"),
        (["that_works_on", "wrong"], ENDLESS, "that_works_on"),
        (["that_waits"], SURVIVED, ""),
        (["that_is_gone"], SURVIVED, ""),
        ([], SURVIVED, ""),
    ],
)
def test_the_first_test_that_fails_or_never_ends_judges(
    tmp_path, monkeypatch, tests, verdict, last
):
    monkeypatch.setattr(running, "SECONDS", 2.0)
    monkeypatch.setattr(running, "START", 60.0)
    (tmp_path / "test_it.py").write_text(TESTS)
    seconds = {f"test_it.py::test_{name}": 0.0 for name in tests}
    assert judge(tmp_path, seconds) == (verdict, last and f"test_it.py::test_{last}")


SOURCE = """
LIMIT = 3

def double(x):
    return x * 2

def half(x):
    return x / 2
"""
USES = """
import runpy
code = runpy.run_path("src/whyflag/sums.py")

def test_double():
    assert code["double"](3) == 6

def test_half():
    assert code["half"](4) == 2

def test_nothing():
    pass
"""


def test_a_mutant_gets_the_tests_that_reach_its_lines(tmp_path):
    source = tmp_path / "src" / "whyflag" / "sums.py"
    source.parent.mkdir(parents=True)
    source.write_text(SOURCE)
    (tmp_path / "test_sums.py").write_text(USES)
    reach = Reach(tmp_path)
    reach.files = {"test_sums.py": reach.run("test_sums.py")}
    names = {
        mutant.before: [test.split("::")[1] for test in reach.tests(mutant)]
        for _, mutant in mutants_of("src/whyflag/sums.py", SOURCE.encode())
    }
    assert names["x * 2"] == ["test_double"]
    assert names["x / 2"] == ["test_half"]
    assert sorted(names["3"]) == ["test_double", "test_half"]  # it runs on import
