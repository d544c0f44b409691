"""Readers of CSV: what each makes of cells, and how long it takes for a million rows.

    python -m benchmarks.readers [ROWS]

Every reader is asked for texts, as `whyflag fit` needs them (types are learnt from all rows, once);
ours is also asked for numbers where a schema knows them, as `score` does. Times are of the
processor, with one thread, each in a process of its own, whose memory is told as well.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

NUMBERS = 16
# Cells that a reader must give back to the letter, or a file that it must refuse.
KEPT: dict[str, str | bytes] = {
    "007": "x,a\n007,1\n",
    "1.10": "x,a\n1.10,1\n",
    "9007199254740993": "x,a\n9007199254740993,1\n",
    "1e400": "x,a\n1e400,1\n",
    "NA": "x,a\nNA,1\n",
    "true": "x,a\ntrue,1\n",
    "a\nb": 'x,a\n"a\nb",1\n',
    " a ": "x,a\n a ,1\n",
    '"': 'x,a\n"""",1\n',
    "é": "x,a\né,1\n".encode("cp1252"),
    "19,876": 'x,a\n"19,876",1\n',
    "20,5": "x;a\n20,5;1\n",
}
REFUSED = {
    "a field too few": "x,a\n1,2\n1\n",
    "a field too many": "x,a\n1,2\n1,2,3\n",
    "one name for two": "x,x\n1,2\n",
}


def by_pandas(path: str) -> Any:
    """Pandas, as texts."""
    return pd.read_csv(path, dtype=str, na_filter=False)


def by_polars(path: str) -> Any:
    """Polars, as texts."""
    import polars as pl

    return pl.read_csv(path, infer_schema=False, empty_string_is_null=False)


def by_pyarrow(path: str) -> Any:
    """pyarrow, as texts."""
    from pyarrow import csv, string

    head = csv.open_csv(path).schema
    return csv.read_csv(
        path,
        read_options=csv.ReadOptions(use_threads=False),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(column_types={name: string() for name in head.names}),
    )


def by_us(path: str) -> Any:
    """This project's, as texts."""
    from whyflag.table.reading import read_sheets
    from whyflag.table.sheet import Sheet

    return Sheet.join([sheet.packed() for sheet in read_sheets(path)])


def by_us_with_numbers(path: str) -> Any:
    """This project's, with numbers where a schema knows them; a part at a time."""
    from whyflag.table.reading import read_sheets

    names = [f"n{j}" for j in range(NUMBERS)]
    return sum(len(sheet) for sheet in read_sheets(path, numbers=names))


READERS: dict[str, Callable[[str], Any]] = {
    "pandas": by_pandas,
    "polars": by_polars,
    "pyarrow": by_pyarrow,
    "ours": by_us,
    "ours, numbers known": by_us_with_numbers,
}


def write(path: Path, n: int) -> None:
    """A file of n rows: an id with zeros, a day, two categories, and numbers."""
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        for begin in range(0, n, 100_000):
            rows = np.arange(begin, min(n, begin + 100_000))
            day = np.datetime64("2000-01-01") + rows % 9000
            part = {"id": [f"{i:08d}" for i in rows], "day": day}
            part |= {f"c{j}": rng.choice(["red", "green", "blue"], len(rows)) for j in range(2)}
            part |= {f"n{j}": rng.normal(100, 9, len(rows)).round(3) for j in range(NUMBERS)}
            pd.DataFrame(part).to_csv(file, index=False, header=begin == 0)


def first_cell(name: str, path: str) -> str:
    """The first cell that a reader finds."""
    found = READERS[name](path)
    if name == "pandas":
        return str(found.iloc[0, 0])
    if name == "polars":
        return str(found[0, 0])
    if name == "pyarrow":
        return str(found.column(0)[0].as_py())
    return str(next(iter(found.cells.values()))[0])


def fails(name: str, path: Path) -> bool:
    """Whether a reader refuses a file."""
    try:
        first_cell(name, str(path))
    except Exception:
        return True
    return False


def correct(name: str, path: Path) -> tuple[list[str], list[str]]:
    """What a reader changes, and what it takes without a word."""
    changed, taken = [], []
    for cell, content in KEPT.items():
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        try:
            kept = first_cell(name, str(path)) == cell
        except Exception:
            kept = False
        if not kept:
            changed.append(cell)
    for what, text in REFUSED.items():
        path.write_text(text)
        if not fails(name, path):
            taken.append(what)
    return changed, taken


def _memory(name: str) -> float:
    """The memory of this process, now or at the most, in GiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith(name))) / 2**20


def main() -> None:
    """Compare the readers, or be one of them in a process of its own."""
    if len(sys.argv) == 3:
        begin, before = time.process_time(), _memory("VmRSS")
        kept = READERS[sys.argv[1]](sys.argv[2])
        took = time.process_time() - begin
        grown = _memory("VmHWM") - before
        sys.stdout.write(f"{took:.1f} s, {grown:.2f} GiB {'' if kept is not None else '?'}\n")
        return
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        write(path, n)
        env = os.environ | {"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1"}
        for name in READERS:
            command = [sys.executable, "-m", "benchmarks.readers", name, str(path)]
            said = subprocess.run(  # noqa: S603
                command, env=env, capture_output=True, text=True, check=True
            )
            print(f"{name}: {said.stdout.strip()}", flush=True)
        for name in list(READERS)[:4]:
            changed, taken = correct(name, Path(folder) / "small.csv")
            print(f"{name}: changes or refuses {changed}; takes {taken}")


if __name__ == "__main__":
    main()
