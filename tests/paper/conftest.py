"""What tests find on the machine."""

import os
from pathlib import Path

import pytest

from whyflag_paper.datasets.raw_files import FOLDER, RAW_FILES

BESIDE = Path(__file__).parents[3] / "shared" / "data" / "raw"


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
