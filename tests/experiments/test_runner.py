import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from whyflag.experiments.cells import jobs
from whyflag.experiments.runner import run
from whyflag.experiments.settings import QUICK
from whyflag.experiments.store import Store
from whyflag.experiments.work import fit_key

SMALL = replace(QUICK, datasets=("BreastW",), most_rows=2, most_game_rows=1, max_updates=20)
PROGRAM = """
import sys
from dataclasses import replace
from pathlib import Path
from whyflag.experiments.runner import run
from whyflag.experiments.settings import QUICK

if __name__ == "__main__":
    small = dict(datasets=("BreastW",), most_rows=2, most_game_rows=1, max_updates=20)
    run(replace(QUICK, **small), Path(sys.argv[1]), processes=1)
"""


def cells(folder):
    return {path: path.stat().st_mtime_ns for path in (folder / "cells").rglob("*.json")}


def children_of(parent):
    stats = [path.read_text().rpartition(")") for path in Path("/proc").glob("[0-9]*/stat")]
    return [int(s[0].split()[0]) for s in stats if int(s[2].split()[1]) == parent]


def is_running(process):
    stat = Path(f"/proc/{process}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_a_run_that_is_killed_goes_on_where_it_was(raw_files, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    folder = tmp_path / "results"
    process = subprocess.Popen([sys.executable, str(program), str(folder)])  # noqa: S603
    deadline = time.monotonic() + 120
    while len(cells(folder)) < 12 and time.monotonic() < deadline:
        time.sleep(0.05)
    children = children_of(process.pid)
    assert children
    process.send_signal(signal.SIGKILL)
    process.wait()
    while any(is_running(child) for child in children):  # they end with it
        assert time.monotonic() < deadline
        time.sleep(0.1)
    before = cells(folder)
    assert len(before) >= 12

    outcome = run(SMALL, folder, processes=2)
    assert outcome.failed == {}
    store = Store(folder / "cells")
    keys = {key for job in jobs(SMALL) for key in (fit_key(job), *(c.key for c in job.cells()))}
    assert all(key in store for key in keys)
    after = cells(folder)
    assert {path: after[path] for path in before} == before  # none was computed again
    assert outcome.computed == len(keys) - sum(
        tuple(json.loads(path.read_text())["key"]) in keys for path in before
    )
    assert run(SMALL, folder).computed == 0


def test_results_of_other_settings_are_not_mixed(tmp_path):
    nothing = replace(SMALL, datasets=())
    run(nothing, tmp_path)
    with pytest.raises(ValueError, match=r"other settings \(most_rows\)\. Choose another folder"):
        run(replace(nothing, most_rows=3), tmp_path)


def test_a_job_that_fails_does_not_stop_the_others(tmp_path, monkeypatch):
    monkeypatch.setenv("WHYFLAG_DATA", str(tmp_path / "nowhere"))
    outcome = run(SMALL, tmp_path / "results")
    assert len(outcome.failed) == 3
    assert "has no file 'breastw.npz'" in outcome.failed["BreastW, GMM, seed 0"]
