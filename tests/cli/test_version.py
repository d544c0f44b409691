import pytest
from typer.testing import CliRunner

import whyflag
from whyflag.cli import app


@pytest.mark.parametrize("more", [[], ["explain"], ["no such command"]])
def test_the_version_is_shown_whatever_else_is_asked(more):
    said = CliRunner().invoke(app, ["--version", *more])
    assert (said.exit_code, said.output) == (0, f"whyflag {whyflag.__version__}\n")


def test_help_still_begins_with_what_whyflag_is_for():
    said = CliRunner().invoke(app, ["--help"]).output
    assert "Why did the anomaly detector flag this row" in said
    assert "--version" in said
