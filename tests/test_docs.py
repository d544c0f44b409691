"""What the pages of docs/ show is what happens: their code runs, and prints what is shown."""

import re
import shlex
from importlib.util import find_spec

import pandas as pd
import pytest
from typer.testing import CliRunner

from test_readme import ROOT, blocks
from whyflag.cli import app

DOCS = ROOT / "docs"
PAGES = sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md") if blocks(path, "python"))
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
            result = CliRunner().invoke(app, shlex.split(line, comments=True)[1:])
            assert result.exit_code == 0, f"{line}: {result.output}"
            said += result.output
    return said


def agree(one, other):
    """Whether two words are the same, or numbers that libraries and machines may round apart."""
    try:
        return float(one) == pytest.approx(float(other), rel=0.02, abs=0.01)
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
    text = (DOCS / page).read_text(encoding="utf-8")
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


def test_every_page_is_in_the_navigation():
    listed = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), flags=re.M)
    assert sorted(listed) == sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))
