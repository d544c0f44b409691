"""What the README shows is what happens."""

import re
import shlex
from pathlib import Path

import pandas as pd
from typer.testing import CliRunner

from whyflag.cli import app

ROOT = Path(__file__).parent.parent


def blocks(path, language):
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(), flags=re.M | re.S)


def test_the_readmes_code_prints_what_the_readme_says(capsys):
    code = "\n".join(blocks(ROOT / "README.md", "python"))
    with pd.option_context("display.width", 100):
        exec(compile(code, "README.md", "exec"), {})  # noqa: S102
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    shown = [line.split() for line in blocks(ROOT / "README.md", "text")[0].splitlines()]
    assert printed == shown


def test_the_readmes_commands_work(tmp_path, monkeypatch):
    """With the files that they name: two tables of wines, from `whyflag demo`."""
    assert CliRunner().invoke(app, ["demo", "-o", str(tmp_path)]).exit_code == 0
    monkeypatch.chdir(tmp_path)
    for file, name in (("known.csv", "normal.csv"), ("other.csv", "rows.csv")):
        pd.read_csv(file).drop(columns="bottle").to_csv(name, index=False)
    lines = [
        shlex.split(line, comments=True)
        for block in blocks(ROOT / "README.md", "console")
        for line in block.splitlines()
        if re.match("whyflag (fit|score|explain)", line)
    ]
    assert len(lines) == 3
    for _, *arguments in lines:
        said = CliRunner().invoke(app, arguments)
        assert said.exit_code == 0, said.output
    assert "flavanoids" in Path("why.html").read_text(encoding="utf-8")


def test_the_make_targets_that_are_named_exist():
    pages = [(ROOT / name).read_text() for name in ("README.md", "CONTRIBUTING.md")]
    named = set(re.findall(r"(?:^|`)make (\w+)", "\n".join(pages), flags=re.M))
    assert {"demo", "test"} <= named
    makefile = (ROOT / "Makefile").read_text()
    assert named <= set(re.findall(r"^(\w+):", makefile, flags=re.M))


def test_links_lead_somewhere():
    pages = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "paper/README.md")]
    for page in [*pages, *(ROOT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)", page.read_text()):
            if not link.startswith("http"):
                assert (page.parent / link).exists(), f"{page.name}: {link}"
