"""What it takes to begin."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial

from benchmarks.instrument import Line, line, ratios

NEEDED = "import numpy, scipy, sklearn"
CASES = {
    "import whyflag": "import whyflag",
    "whyflag --help": "import sys; sys.argv = ['whyflag', '--help']; "
    "from whyflag.cli import app; app()",
}


def lines() -> Iterator[Line]:
    """Time ÷ that of importing what whyflag needs."""
    for name, code in CASES.items():
        found = ratios(partial(_run, code), partial(_run, NEEDED), 7, time.perf_counter)
        yield line(
            "import time",
            name,
            found,
            "÷ numpy, scipy, sklearn",
            threads=1,
            most=1.3,
            note="each in a new process",
        )


def _run(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)  # noqa: S603
