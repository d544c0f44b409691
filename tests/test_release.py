"""What says which version this is, says the same."""

import re
import tomllib

import whyflag
import whyflag_paper
from test_readme import ROOT

HEADING = re.compile(r"^## (\S+)(?: - (\d{4}-\d{2}-\d{2}))?$", re.M)


def headings():
    """The sections of the changelog as they stand there: version and date, or no date."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found = HEADING.findall(text)
    assert len(found) == text.count("\n## "), "a heading is neither `## version - date` nor shorter"
    return found


def number(version):
    return tuple(map(int, version.split(".")))


def test_the_newest_version_of_the_changelog_is_this_one():
    (first, _), (newest, _), *_ = headings()
    assert first == "Unreleased"
    assert newest == whyflag.__version__


def test_both_distributions_have_one_version():
    assert whyflag_paper.__version__ == whyflag.__version__
    project = tomllib.loads((ROOT / "paper" / "pyproject.toml").read_text(encoding="utf-8"))
    assert f"whyflag=={whyflag.__version__}" in project["project"]["dependencies"]


def test_the_citation_is_of_this_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (\S+)$", text, flags=re.M) == [whyflag.__version__]


def test_versions_and_dates_of_the_changelog_go_down():
    _, *released = headings()
    versions = [number(version) for version, _ in released]
    assert versions == sorted(set(versions), reverse=True)
    dates = [date for _, date in released]
    assert dates == sorted(dates, reverse=True)
    assert all(dates[:-1]), "only the first version has no date"
