"""Workflows run what can be run here: each job is one target of the Makefile."""

import re

import pytest

from test_readme import ROOT

yaml = pytest.importorskip("yaml", reason="reading workflows needs PyYAML")
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
JOBS = {
    f"{file.stem} {name}": job
    for file in FILES
    for name, job in yaml.safe_load(file.read_text())["jobs"].items()
}


def targets_of(job):
    """The targets of `make` that a job runs, for every value of its matrix."""
    (command,) = [step["run"] for step in job["steps"] if "run" in step]
    matrix = job.get("strategy", {}).get("matrix", {})
    values = [*matrix.get("target", []), *(each["target"] for each in matrix.get("include", []))]
    if command == "make ${{ matrix.target }}":
        return values
    return re.fullmatch(r"make (\w+)", command).groups()


@pytest.mark.parametrize("name", JOBS)
def test_a_job_is_a_target_of_the_makefile(name):
    makefile = (ROOT / "Makefile").read_text()
    targets = targets_of(JOBS[name])
    assert targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, flags=re.M), target


def test_what_lands_is_checked_as_it_is_here():
    """Every target of `.ci/run` has a job, and so have other versions of packages."""
    here = re.findall(r"^make (\w+)$", (ROOT / ".ci" / "run").read_text(), flags=re.M)
    there = {target for job in JOBS.values() for target in targets_of(job)}
    assert there == {*here, "lowest", "newest"}


@pytest.mark.parametrize("name", JOBS)
def test_a_job_ends(name):
    assert 0 < JOBS[name]["timeout-minutes"] <= 60


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_workflow_reads_and_does_not_write(file):
    workflow = yaml.safe_load(file.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["concurrency"]["cancel-in-progress"]
    assert not any("permissions" in job for job in workflow["jobs"].values())
