"""A file that does not fit in memory at once."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from whyflag.cli import app

N_BLOCKS, BLOCK_ROWS, N_ODD = 100, 10_000, 10
GIBIBYTE = 2**30

# The peak is that of the program itself; what getrusage says has that of the process which started
# it as well, and a process that has run many tests is larger than the bound.
PROGRAM = """
import re, sys
from pathlib import Path
from whyflag.cli import app
try:
    app(sys.argv[1:])
finally:
    status = Path("/proc/self/status").read_text()
    print(int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) * 1024, file=sys.stderr)
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(0)
    names = [f"c{i}" for i in range(10)]
    block = pd.DataFrame(rng.normal(size=(BLOCK_ROWS, 10)).round(4), columns=names)
    block.iloc[:5000].to_csv(folder / "normal.csv", index=False)
    # The same rows again and again, none of them odd but for a few in each block.
    block = block.clip(-2, 2)
    block.iloc[: N_ODD // 10, 3] = 50.0
    text = block.to_csv(index=False, header=False)
    with (folder / "rows.csv").open("w") as file:
        file.write(",".join(names) + "\n")
        for _ in range(N_BLOCKS):
            file.write(text)
    options = ["--contamination", "0.0001", "-o", str(folder / "model")]
    said = CliRunner().invoke(app, ["fit", str(folder / "normal.csv"), *options])
    assert said.exit_code == 0, said.output
    return folder


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="memory is read from Linux")
def test_a_million_rows_take_less_than_a_gibibyte(files):
    out = files / "why.csv"
    arguments = ["explain", files / "model", files / "rows.csv", "--only-flagged", "-o", out]
    said = subprocess.run(  # noqa: S603
        [sys.executable, "-c", PROGRAM, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert said.returncode == 0, said.stderr
    assert "of 1000000 rows explained" in said.stderr
    assert int(said.stderr.split()[-1]) < GIBIBYTE
    why = pd.read_csv(out)
    first = why[why["rank"] == 1]
    assert (first["feature"] == "c3").sum() == N_BLOCKS
    assert first["row"].tolist() == sorted(first["row"])
