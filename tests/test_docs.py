"""What the pages of docs/ show is what happens: their code runs, and prints what is shown."""

import re
import shlex
import tomllib
from importlib import import_module
from importlib.util import find_spec
from inspect import isclass, isfunction, signature
from pkgutil import iter_modules

import pandas as pd
import pytest
from typer.testing import CliRunner

import whyflag
from test_readme import ROOT, blocks
from whyflag.cli import app

DOCS = ROOT / "docs"
INCLUDED = re.compile(r'^--8<-- "(.+)"$', re.M)


def text_of(path):
    """A page with the files that it includes."""
    text = path.read_text(encoding="utf-8")
    return INCLUDED.sub(lambda name: text_of(ROOT / name[1]), text)


PAGES = sorted(
    str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md") if "\n```python\n" in text_of(path)
)
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)

# The names that a page takes for granted.
BEGINNING = {
    "methods.md": blocks(ROOT / "README.md", "python")[:2],
    "detectors.md": [
        *blocks(ROOT / "README.md", "python")[:2],
        "X, function = X_normal, detector.score_samples",
    ],
}

# Packages that not everybody has, and what asks for them.
EXTRAS = {
    "matplotlib": r"matplotlib|import plot|whyflag\.plot|\bplot\.",
    "pyod": r"from pyod",
    "shap": r"to_shap|import shap",
    "torch": r"import torch|\bVAE\b|\bDAGMM\b",
}


def lacking(code):
    """A package that a block needs and that is not here, if there is one."""
    return next(
        (name for name, uses in EXTRAS.items() if re.search(uses, code) and not find_spec(name)),
        None,
    )


def run_python(code, page, names, capsys):
    with pd.option_context("display.width", 100):
        exec(compile(code, page, "exec"), names)  # noqa: S102
    if find_spec("matplotlib"):
        import matplotlib.pyplot as plt

        plt.close("all")
    return capsys.readouterr().out


def run_console(code):
    """What the `whyflag` commands of a block put out, messages included."""
    said = ""
    for line in code.splitlines():
        if line.startswith("whyflag "):
            result = CliRunner().invoke(app, [*shlex.split(line, comments=True)[1:], "--quiet"])
            assert result.exit_code == 0, f"{line}: {result.output}"
            said += result.output
    return said


def agree(one, other):
    """Whether two words are the same, or numbers that libraries and machines may round apart."""
    try:
        return float(one) == pytest.approx(float(other), rel=0.02, abs=0.01, nan_ok=True)
    except ValueError:
        return one == other


def words(text):
    return re.split(r"[\s,\[\]()]+", text.strip())


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs_and_prints_what_the_page_shows(
    page, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    if find_spec("matplotlib"):
        import matplotlib as mpl

        mpl.use("Agg")
    names = {}
    left_out = {}
    for code in BEGINNING.get(page, []):
        run_python(code, page, names, capsys)
    text = text_of(DOCS / page)
    end, printed = 0, None
    for fence in FENCE.finditer(text):
        language, code = fence.groups()
        if language == "text":
            # A block right below the code shows what it prints.
            below = printed is not None and not text[end : fence.start()].strip()
            if below:
                shown, found = words(code), words(printed)
                same = len(shown) == len(found) and all(map(agree, shown, found))
                assert same, f"{page} shows\n{code}\nwhere the code prints\n{printed}"
            printed = None
        elif language == "python" and (package := lacking(code)):
            left_out[package] = left_out.get(package, 0) + 1
            printed = None
        elif language == "python":
            printed = run_python(code, page, names, capsys)
        elif language == "console" and page == "recipes.md":
            printed = run_console(code)
        end = fence.end()
    if left_out:
        pytest.skip(", ".join(f"{n} blocks need {name}" for name, n in left_out.items()))


PARTS = (
    ".score",
    ".score.audit",
    ".games",
    ".shapley",
    ".methods",
    ".minimise",
    ".model",
    ".kinds",
    ".repair",
    ".table.schema",
    ".table.sheet",
)
WRITTEN = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "paper/README.md")
WIDTH = 100


def too_long(text):
    """Lines above 100 characters that could be shorter, with their numbers.

    Three kinds cannot: a row of a table, what a program printed (a block of `text`), and a line
    that is one link or one word.
    """
    found, language = [], None
    for number, line in enumerate(text.splitlines(), start=1):
        bare = line.strip()
        if bare.startswith("```"):
            language = bare[3:] or "plain" if language is None else None
        as_it_is = (
            language == "text"
            or (language is None and bare.startswith("|"))
            or re.fullmatch(r"(- )?(\S+|!?\[[^]]*\]\(\S+\)[.,;:]?)", bare)
        )
        if len(line) > WIDTH and not as_it_is:
            found.append(f"{number}: {line}")
    return found


@pytest.mark.parametrize(
    "page", [*WRITTEN, *sorted(f"docs/{p.relative_to(DOCS)}" for p in DOCS.rglob("*.md"))]
)
def test_lines_end_at_100_characters(page):
    long = too_long((ROOT / page).read_text(encoding="utf-8"))
    assert not long, "\n".join([f"{page} has lines above {WIDTH} characters:", *long])


@pytest.mark.parametrize(
    ("text", "long"),
    [
        ("word " * 21, True),
        ("- " + "word " * 21, True),
        ("```python\n" + "word " * 21 + "\n```", True),
        ("```python\n| " + "word " * 21 + "\n```", True),
        ("```text\n" + "word " * 21 + "\n```\n" + "word " * 21, True),
        ("[a](" + "b" * 100 + ") and more", True),
        ("```text\n" + "word " * 21 + "\n```", False),
        ("| " + "word " * 21 + "|", False),
        ("- [a link](" + "b" * 100 + ").", False),
        ("b" * 101, False),
        ("b" * 49 + " " + "b" * 50, False),
    ],
)
def test_only_lines_that_cannot_be_wrapped_are_longer(text, long):
    assert bool(too_long(text)) is long


def test_the_names_of_the_glossary_are_in_the_code():
    modules = [import_module(f"whyflag{part}") for part in ("", *PARTS)]
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    names = re.findall(r"`([A-Z]\w+)(?:\.(\w+)|\((\w+)=\.\.\.\))?", text)
    assert len(names) > 40
    for name, attribute, argument in names:
        found = [getattr(module, name) for module in modules if hasattr(module, name)]
        assert found, name
        known = {*dir(found[0]), *signature(found[0]).parameters}
        assert (attribute or argument) in {"", *known}, f"{name}.{attribute}"


def test_every_page_is_in_the_navigation():
    listed = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), flags=re.M)
    assert sorted(listed) == sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))


# Modules that the others are made of, and the command line: not for users of the library.
INTERNAL = {
    "arrays",
    "batches",
    "checks",
    "cli",
    "clusters",
    "extras",
    "files",
    "intake",
    "parallel",
    "prediction",
    "progress",
    "records",
    "stand_in",
}


def public_names():
    """`__all__` of a package, and the classes and functions that a public module defines."""
    for name in ("", *sorted(module.name for module in iter_modules(whyflag.__path__))):
        if name in INTERNAL:
            continue
        module = import_module(f"whyflag.{name}".rstrip("."))
        own = [
            each
            for each, value in vars(module).items()
            if not each.startswith("_")
            and (isclass(value) or isfunction(value))
            and value.__module__ == module.__name__
        ]
        yield from ((module.__name__, each) for each in getattr(module, "__all__", own))


def test_the_api_page_has_every_public_name():
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^::: (whyflag\S*)$", text, flags=re.M)
    assert len(set(listed)) == len(listed)
    names = {name.rpartition(".")[2] for name in listed}
    lacking = [f"{module}.{name}" for module, name in public_names() if name not in names]
    assert not lacking, f"docs/api.md lacks {', '.join(lacking)}"


def test_the_layers_in_contributing_are_those_that_are_enforced():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = contracts["contracts"][0]["layers"]
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (drawn,) = re.findall(r"^```\n(cli > .+?)^```", text, flags=re.M | re.S)
    assert [layer.split() for layer in drawn.split(">")] == [layer.split() for layer in layers]


def test_contributing_names_every_folder_and_file_of_the_library():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"^\| folder or file .+?(?=^$)", text, flags=re.M | re.S)
    first = " ".join(line.split("|")[1] for line in table.splitlines())
    modules = iter_modules(whyflag.__path__)
    expected = {f"{each.name}/" if each.ispkg else f"{each.name}.py" for each in modules}
    assert set(re.findall(r"`(\S+)`", first)) == expected
