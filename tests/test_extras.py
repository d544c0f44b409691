import subprocess
import sys
from pathlib import Path

import pytest

import whyflag.detectors
from whyflag.extras import require
from without_extras import EXTRAS, PAPER

SCRIPT = Path(__file__).with_name("without_extras.py")


def test_the_core_works_without_extras():
    """The same script runs in an environment that has none (`make core`); here they are blocked."""
    prelude = f"""
import runpy, sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {(*EXTRAS, PAPER)}:
            raise ImportError(name)
sys.meta_path.insert(0, Blocked())
runpy.run_path({str(SCRIPT)!r}, run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", prelude], capture_output=True, text=True)  # noqa: S603
    assert done.stdout == "The core works without extras.\n", done.stderr


def test_extras_are_not_imported_until_they_are_needed():
    code = f"""
import sys, whyflag, whyflag.detectors, whyflag.plot, whyflag.cli
print(*set({EXTRAS}) - {{"pyarrow"}} & set(sys.modules))  # pandas takes that if it is there
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)  # noqa: S603
    assert done.stdout.strip() == "", done.stderr


def test_a_missing_package_names_the_extra():
    with pytest.raises(ImportError, match="This needs the nowhere package: pip install"):
        require("nowhere", "This")


def test_there_is_no_other_detector():
    with pytest.raises(AttributeError, match="has no attribute 'KNN'"):
        whyflag.detectors.KNN  # noqa: B018


def test_the_front_door_and_help_open_without_heavy_packages():
    code = """
import sys
import whyflag.cli
sys.argv = ["whyflag", "--help"]
try:
    whyflag.cli.app()
finally:
    print("imported:", *{"matplotlib", "pandas", "scipy.optimize", "torch"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)  # noqa: S603
    assert done.stdout.endswith("imported:\n"), done.stdout + done.stderr
