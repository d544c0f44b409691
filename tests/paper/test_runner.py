import json
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

from whyflag_paper.cells import jobs
from whyflag_paper.runner import SETTINGS, run
from whyflag_paper.settings import QUICK
from whyflag_paper.store import Store
from whyflag_paper.work import fit_key

SMALL = replace(QUICK, datasets=("BreastW",), most_rows=2, most_game_rows=1, max_updates=20)
AT = 12  # cells after which the run is killed
PROGRAM = f"""
import os, signal, sys, threading
from dataclasses import replace
from pathlib import Path
from whyflag_paper.runner import run
from whyflag_paper.settings import QUICK
from whyflag_paper.store import Store

write, parent = Store.write, os.getppid()

def write_and_kill(store, key, record):
    write(store, key, record)
    if len(list(store.folder.rglob("*.json"))) >= {AT}:
        os.kill(parent, signal.SIGKILL)
        threading.Event().wait()  # until the process ends because the run has

if __name__ == "__main__":
    small = dict(datasets=("BreastW",), most_rows=2, most_game_rows=1, max_updates=20)
    run(replace(QUICK, **small), Path(sys.argv[1]), processes=1)
else:  # imported by a process of the pool
    Store.write = write_and_kill
"""


def cells(folder):
    return {path: path.stat().st_mtime_ns for path in (folder / "cells").rglob("*.json")}


@pytest.mark.skipif(sys.platform == "win32", reason="kills a process as Unix does")
def test_a_run_that_is_killed_goes_on_where_it_was(raw_files, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    folder = tmp_path / "results"
    command = [sys.executable, str(program), str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:  # noqa: S603
        # There is an end to read when no process has it open: those of the pool end with the run.
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    before = cells(folder)
    assert len(before) == AT

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


def test_results_of_settings_that_there_are_no_more_are_not_mixed(tmp_path):
    store = Store(tmp_path / "cells")
    store.write(SETTINGS, {"settings": SMALL.to_json() | {"variance_floor": 2.0}})
    with pytest.raises(ValueError, match=r"other settings \(variance_floor\)\. Choose another"):
        run(SMALL, tmp_path)


def test_a_job_that_fails_does_not_stop_the_others(tmp_path, monkeypatch):
    monkeypatch.setenv("WHYFLAG_DATA", str(tmp_path / "nowhere"))
    outcome = run(SMALL, tmp_path / "results")
    assert len(outcome.failed) == 3
    assert "has no file 'breastw.npz'" in outcome.failed["BreastW, GMM, seed 0"]
