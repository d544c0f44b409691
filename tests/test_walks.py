"""docs/design/walks.md names functions that exist, in the order in which they are called."""

import ast
import re
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

import whyflag
from test_readme import ROOT
from whyflag import Ensemble, Explainer, as_score
from whyflag.cli import app
from whyflag.detectors import GMM
from whyflag.model import Model
from whyflag.table.schema import Schema

PAGE = (ROOT / "docs/design/walks.md").read_text(encoding="utf-8")
SOURCE = Path(whyflag.__file__).parent
STEP = re.compile(r"^\| `(\S+\.py)` \| `([\w.]+)` \|", re.M)
WALKS = {
    heading: STEP.findall(text)
    for heading, text in re.findall(r"^## (.+?)\n(.+?)(?=^## |\Z)", PAGE, flags=re.M | re.S)
}
NORMAL = np.random.default_rng(0).normal(size=(60, 2))
ROWS = np.array([[0.0, 6.0], [0.5, -0.5]])
TABLE = pd.DataFrame(NORMAL, columns=["a", "b"]).assign(kind=["u", "v"] * 30)


@cache
def defined_in(file):
    """The classes and functions of a file, by their qualified names: name -> is it a class."""
    found = {}

    def visit(body, prefix):
        for node in body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                found[prefix + node.name] = isinstance(node, ast.ClassDef)
                if isinstance(node, ast.ClassDef):
                    visit(node.body, f"{prefix}{node.name}.")

    visit(ast.parse((SOURCE / file).read_text(encoding="utf-8")).body, "")
    return found


def calls_of(walk):
    """The functions of whyflag that are called, as (file, qualified name), in their order."""
    calls = []

    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(SOURCE)):
            file = Path(code.co_filename).relative_to(SOURCE).as_posix()
            calls.append((file, code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        walk()
    finally:
        sys.setprofile(before)
    return calls


def keep_a_model():
    Model.fit(GMM(random_state=0), Schema.of(TABLE), TABLE).save("kept")
    Model.load("kept").explainer()


def run(*arguments):
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output


def follow_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), GaussianMixture(random_state=0)).fit(NORMAL)
    as_score(pipeline).value_and_grad(ROWS)


def explain_by(*methods):
    for method in methods:
        default = method == "near"
        Explainer(GMM(random_state=0).fit(NORMAL), NORMAL, None if default else method)(ROWS)


CALLS = {
    "`Explainer(detector, rows)(X)`": lambda: explain_by("near", "ASH"),
    "`Ensemble.of(detector, rows)(X)`": lambda: Ensemble.of(
        GMM(random_state=0).fit(NORMAL), NORMAL
    )(ROWS),
    "`Model.fit`, `save`, `load`, `explainer`": keep_a_model,
    "`whyflag fit normal.csv -o model`": lambda: run("fit", "normal.csv", "-o", "model"),
    "`whyflag explain model rows.csv -o why.html`": lambda: run(
        "explain", "model", "rows.csv", "-o", "why.html", "--jobs", "1"
    ),
    "An ability through a Pipeline": follow_a_pipeline,
}


def test_every_walk_is_made():
    assert list(WALKS) == list(CALLS)
    assert all(len(steps) >= 10 for steps in WALKS.values())


def test_every_row_of_a_table_is_a_step():
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    assert len(rows) == sum(map(len, WALKS.values()))


def test_every_file_that_is_named_exists():
    for file in re.findall(r"`([\w/]+\.py)`", PAGE):
        assert (SOURCE / file).is_file() or (ROOT / file).is_file(), file


@pytest.mark.parametrize("heading", WALKS)
def test_each_function_is_in_its_file(heading):
    for file, name in WALKS[heading]:
        assert name in defined_in(file), f"{file} has no {name}"


def test_functions_that_a_sentence_names_are_in_the_file_it_names():
    named = re.findall(r"`(\w+)`\s+in\s+`([\w/]+\.py)`", PAGE)
    assert len(named) >= 3
    for name, file in named:
        assert name in defined_in(file), f"{file} has no {name}"


@pytest.mark.parametrize("heading", WALKS)
def test_a_call_takes_the_steps_in_this_order(heading, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TABLE.to_csv("normal.csv", index=False)
    TABLE[:4].assign(b=9.0).to_csv("rows.csv", index=False)
    if "explain model" in heading:
        run("fit", "normal.csv", "-o", "model")
    # Classes are made by code that dataclasses write: it is in no file.
    steps = [(file, name) for file, name in WALKS[heading] if not defined_in(file)[name]]
    left = iter(calls_of(CALLS[heading]))
    for step in steps:
        assert step in left, f"{step} is not called, or not after the steps above it"
