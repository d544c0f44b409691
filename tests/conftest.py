"""What tests find on the machine."""

import os
from pathlib import Path

import pytest

import whyflag.minimise
from whyflag.datasets.raw_files import FOLDER, RAW_FILES

BESIDE = Path(__file__).parents[2] / "shared" / "data" / "raw"


@pytest.fixture(scope="session")
def raw_files():
    """A folder with the raw files of the data sets; without one, the test is skipped."""
    for folder in (os.environ.get(FOLDER), BESIDE):
        if folder and all((Path(folder) / name).is_file() for name in RAW_FILES):
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv(FOLDER, str(folder))
                yield Path(folder)
            return
    pytest.skip(f"needs the raw files of the data sets: {FOLDER} names no folder that has them")


@pytest.fixture
def few_evaluations(monkeypatch):
    """So few for each minimisation that a bowl has its minimum, and a curved valley has not."""
    monkeypatch.setattr(whyflag.minimise, "MAX_GRADIENTS", 12)
