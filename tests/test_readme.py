"""What the README shows is what happens."""

import re
from pathlib import Path

import pandas as pd
import pytest

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


@pytest.mark.parametrize("target", ["demo", "test", "check", "bench", "docs", "lock"])
def test_the_make_targets_that_are_named_exist(target):
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(rf"^{target}:", makefile, flags=re.M)


def test_links_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)", page.read_text()):
            if not link.startswith("http"):
                assert (page.parent / link).exists(), f"{page.name}: {link}"
