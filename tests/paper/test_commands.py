import re

import pytest
from typer.testing import CliRunner

from whyflag.cli import app
from whyflag_paper.datasets.raw_files import FOLDER
from whyflag_paper.results import Results
from whyflag_paper.runner import Outcome
from whyflag_paper.settings import FULL
from whyflag_paper.store import Store


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


def in_a_line(said):
    return " ".join(said.output.split())


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("datasets", {"fetch"}),
        ("reproduce", {"output", "quick", "seeds", "only", "processes", "tables"}),
    ],
)
def test_a_command_has_its_options(command, options):
    said = run(command, "--help").output
    assert set(re.findall(r"--(\w+)  ", said)) == options | {"help"}


def test_data_sets_are_listed_with_their_sizes(raw_files):
    said = run("datasets")
    assert said.exit_code == 0
    assert "Thyroid" in said.output
    assert "3772" in said.output


def test_what_is_not_here_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER, str(tmp_path))
    said = run("datasets")
    assert said.exit_code == 0
    assert said.output.count("not here yet") == 6


def test_what_cannot_be_had_is_an_error_in_a_line(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER, str(tmp_path))
    said = run("datasets", "--fetch")
    assert said.exit_code == 1
    assert "has no file 'thyroid.npz'" in in_a_line(said)
    assert "Traceback" not in said.output


def test_an_unknown_data_set_is_an_error_in_a_line(tmp_path):
    said = run("reproduce", "--only", "Iris", "--output", str(tmp_path))
    assert said.exit_code == 1
    assert "got 'Iris'" in in_a_line(said)


@pytest.fixture
def results_file(tmp_path):
    cell = {"experiment": "synthetic", "dataset": "Musk", "detector": "GMM", "method": "ASH"}
    cell |= {"seed": 0, "rows": {"MRR": [0.9]}, "seconds": 1.0}
    Results({"settings": FULL.to_json(), "cells": [cell]}).write(tmp_path / "results.json")
    return tmp_path / "results.json"


def test_tables_are_made_of_a_file_alone(results_file):
    said = run("reproduce", "--tables", str(results_file))
    assert said.exit_code == 0, said.output
    assert "0.90·0.97" in said.output
    assert "0.90 · 0.97 ▼" in results_file.with_name("tables.md").read_text()
    assert "<table>" in results_file.with_name("tables.html").read_text()


@pytest.fixture
def made_up_run(monkeypatch):
    """A run that stores one cell, and may fail at others."""

    def run_it(settings, folder, *, processes):
        record = {"rows": {"MRR": [0.9]}, "seconds": 1.0}
        store = Store(folder / "cells")
        store.write(("settings",), {"settings": settings.to_json(), "versions": {}})
        store.write(("synthetic", "Musk", "GMM", "ASH", "seed 0"), record)
        return Outcome(120.0, 1, dict(failed))

    failed = {}
    monkeypatch.setattr("whyflag_paper.runner.run", run_it)
    return failed


def test_a_run_ends_with_results_tables_and_pictures(made_up_run, tmp_path):
    said = run("reproduce", "--quick", "--seeds", "2", "--output", str(tmp_path))
    assert said.exit_code == 0, said.output
    assert "1 cells computed in 2.0 minutes" in in_a_line(said)
    for name in ("results.json", "tables.md", "tables.html", "methods.png", "time.png"):
        assert (tmp_path / name).stat().st_size > 0
    assert Results.read(tmp_path / "results.json").content["settings"]["seeds"] == [0, 1]


def test_jobs_that_failed_are_said_and_what_there_is_is_kept(made_up_run, tmp_path):
    made_up_run["Musk, VAE, seed 0"] = "MemoryError: no room [/for it]"
    said = run("reproduce", "--output", str(tmp_path))
    assert said.exit_code == 1
    assert "Musk, VAE, seed 0: MemoryError: no room [/for it]" in in_a_line(said)
    assert "start again with the same folder to go on" in in_a_line(said)
    assert (tmp_path / "results.json").is_file()
