import pytest
from typer.testing import CliRunner

from whyflag.cli import app
from whyflag.datasets.raw_files import FOLDER
from whyflag.experiments.results import Results
from whyflag.experiments.settings import FULL


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


def in_a_line(said):
    return " ".join(said.output.split())


def test_help_names_the_commands():
    said = run("--help").output
    assert "datasets" in said
    assert "reproduce" in said


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
