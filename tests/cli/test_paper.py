from importlib.metadata import EntryPoint

import pytest
import typer
from typer.testing import CliRunner

from whyflag.cli import paper

WITHOUT = "`whyflag reproduce` needs the whyflag-paper package: pip install whyflag-paper; "


def hello(name: str = "you") -> None:
    """Say hello."""
    print(f"hello {name}")  # noqa: T201


@pytest.fixture
def app(monkeypatch):
    """A command line with the commands that some entry points name."""

    def make(**values):
        found = [EntryPoint(name, value, paper.GROUP) for name, value in values.items()]
        monkeypatch.setattr(
            paper, "entry_points", lambda group, name: [each for each in found if each.name == name]
        )
        made = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        paper.add_commands(made)
        return made

    return make


def run(app, *arguments):
    said = CliRunner().invoke(app, list(arguments))
    return said.exit_code, said.output


def test_a_command_that_is_found_is_run_with_its_options(app):
    made = app(reproduce=f"{__name__}:hello")
    assert run(made, "reproduce", "--name", "all") == (0, "hello all\n")
    code, said = run(made, "reproduce", "--help")
    assert code == 0
    assert "Say hello." in said
    assert "--name" in said


@pytest.mark.parametrize(
    "arguments",
    [(), ("--help",), ("--quick",), ("-o", "folder", "--seeds", "2"), ("file", "--", "--x")],
)
def test_without_it_one_line_says_what_to_install_whatever_is_asked(app, arguments):
    code, said = run(app(), "reproduce", *arguments)
    assert code == 1
    assert said == f"{WITHOUT}in a clone, pip install ./paper.\n"


@pytest.mark.parametrize("found", [{}, {"reproduce": f"{__name__}:hello"}], ids=["no", "yes"])
def test_help_names_the_commands_with_it_and_without(app, found):
    code, said = run(app(**found), "--help")
    assert code == 0
    assert "List the paper's data sets (with whyflag-paper)." in said
    assert "Rerun the paper's experiments (with whyflag-paper)." in said


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("nowhere_at_all:hello", "No module named 'nowhere_at_all'"),
        (f"{__name__}:goodbye", "has no attribute 'goodbye'"),
    ],
)
def test_one_that_cannot_be_loaded_is_said_when_it_is_asked_for(app, value, why):
    made = app(reproduce=value, datasets=f"{__name__}:hello")
    assert run(made, "datasets") == (0, "hello you\n")
    code, said = run(made, "reproduce")
    assert code == 1
    assert said.startswith(WITHOUT)
    assert "cannot be loaded: " in said
    assert why in said
    assert said.count("\n") == 1


def test_commands_of_other_names_are_not_taken(app):
    code, _ = run(app(hello=f"{__name__}:hello"), "hello")
    assert code == 2
