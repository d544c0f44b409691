import numpy as np
import pytest
from typer.testing import CliRunner

from whyflag.cli import app

RNG = np.random.default_rng(0)
CELLS = [f"{a:.2f};{b:.2f}" for a, b in RNG.normal(20, 2, (60, 2))]
ROWS = "\n".join(CELLS) + "\n"


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def fit(folder, content, *options):
    (folder / "t.csv").write_text(content, encoding="cp1252")
    said = run("fit", folder / "t.csv", "--detector", "gmm", "-o", folder / "m", *options)
    assert said.exit_code == 0, said.output
    return said.stderr


def total():
    return f"{sum(float(each.split(';')[0]) for each in CELLS):.2f};Total\n"


# A file, the option that its line names, what is told, and how many rows there are then.
TOLD = {
    "separator": ("a;b\n" + ROWS, "--separator", ["--separator", ";"], 60),
    "encoding": ("ä,b\n" + ROWS.replace(";", ","), "--encoding", ["--encoding", "latin-1"], 60),
    "titles": ("Report\na;b\n" + ROWS, "--header", ["--header", "2"], 60),
    "units": ("a;b\nkg;m\n" + ROWS, "--header", ["--header", "1-2"], 60),
    "units that are a row": ("a;b\nkg;m\n" + ROWS, "--header", ["--header", "1"], 61),
    "no names": (ROWS, "--header", ["--header", "none"], 60),
    "totals": ("a;b\n" + ROWS + total(), "--keep-totals", ["--keep-totals"], 61),
}


@pytest.mark.parametrize(("content", "option", "told", "n"), TOLD.values(), ids=TOLD)
def test_a_line_names_the_option_that_says_otherwise(tmp_path, content, option, told, n):
    assert f"({option} says otherwise)" in fit(tmp_path, content)
    said = fit(tmp_path, content, *told)
    assert f"({option} says otherwise)" not in said
    assert f"Learnt from {n} rows" in said


def test_what_fit_was_told_holds_for_later_files_unless_they_are_told_otherwise(tmp_path):
    fit(tmp_path, ROWS.replace(";", "^"), "--header", "none", "--separator", "^")
    for command in ("score", "explain"):
        said = run(command, tmp_path / "m", tmp_path / "t.csv", "--format", "csv")
        assert (said.exit_code, "of 60 rows" in said.stderr) == (0, True), said.output
        (tmp_path / "more.csv").write_text("Report\ncolumn 1|column 2\n20|20\n21|19\n")
        options = ["--header", "2", "--separator", "|", "--format", "csv"]
        said = run(command, tmp_path / "m", tmp_path / "more.csv", *options)
        assert (said.exit_code, "of 2 rows" in said.stderr) == (0, True), said.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--header", "0"], "--header is given as a line (3), as lines (3-4) or as none, got '0'"),
        (["--header", "4-3"], "got '4-3'"),
        (["--header", "99"], "line 99 is told to have the names of the columns, and it has 61"),
        (["--separator", ";;"], "a separator should be one character"),
        (["--encoding", "klingon"], "no encoding 'klingon' is known: 'utf-8', 'cp1252'"),
    ],
)
def test_what_can_not_be_is_said(tmp_path, options, message):
    (tmp_path / "t.csv").write_text("a;b\n" + ROWS)
    said = run("fit", tmp_path / "t.csv", "-o", tmp_path / "m", *options)
    assert said.exit_code == 1
    assert message in said.stderr
