"""How time and memory grow: with rows, with features, and what v̂ takes on many features."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import numpy as np

from benchmarks.instrument import Line, line, ratios, seconds, threads
from benchmarks.recording import recording
from benchmarks.shapes import normal_rows, rows_to_explain, score_of
from whyflag import Attribution, Explainer
from whyflag.games import LocalMinimum
from whyflag.methods import ASH, KSH
from whyflag.shapley import Kernel

FEW_ROWS, MANY_ROWS = 1_000, 100_000
FEATURES = {6: 2000, 30: 100, 166: 8, 1000: 1}  # number of features: rows explained
BUDGET = 2000  # coalitions, whatever the number of features; 2^6 − 2 is all there are of six


def lines() -> Iterator[Line]:
    """Exponents, memory, and seconds."""
    yield from _rows()
    yield from _features()
    yield _local_minima()


def _rows() -> Iterator[Line]:
    few = [_in_a_process(FEW_ROWS) for _ in range(5)]
    many = [_in_a_process(MANY_ROWS) for _ in range(2)]
    decades = np.log(MANY_ROWS / FEW_ROWS)
    before = float(np.median([run["seconds"] for run in few]))
    about = f"ASH, GMM, d = 30, {FEW_ROWS:,} → {MANY_ROWS:,} rows"
    yield line(
        "growth with rows",
        about,
        [float(np.log(run["seconds"] / before) / decades) for run in many],
        "exponent",
        threads=1,
        most=1.02,
        note=f"{before / FEW_ROWS * 1e3:.2f} ms a row at first",
    )
    smallest = min(run["peak"] for run in few)
    yield line(
        "growth with rows, memory",
        about,
        [run["peak"] / (smallest + run["held"]) for run in many],
        "peak ÷ allowed",
        threads=1,
        most=1.2,
        note=f"{smallest / 2**20:.0f} MB at first, {many[0]['peak'] / 2**20:.0f} MB, of them "
        f"{many[0]['held'] / 2**20:.0f} MB input and output",
    )


def _in_a_process(n: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.growth", str(n)]
    done = subprocess.run(command, capture_output=True, check=True)  # noqa: S603
    found: dict[str, float] = json.loads(done.stdout)
    return found


def explain_rows(n: int) -> dict[str, float]:
    """Seconds, the most memory of this process, and how much of it input and output take."""
    score, normal = score_of("GMM", 30), normal_rows("GMM", 30)
    explain = Explainer(score, normal, ASH(solver=Kernel(budget=256)))
    X = rows_to_explain("GMM", 30, n)
    explain(X[:10])
    result: list[Attribution] = []
    with threads(1):
        took = seconds(lambda: result.append(explain(X)))
    arrays = [getattr(result[0], field.name) for field in fields(result[0])]
    held = X.nbytes + sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))
    return {"seconds": took, "peak": _peak(), "held": held}


def _peak() -> int:
    """The most memory that this process has had, in bytes."""
    # What `resource` tells of a child begins with the memory of the parent it was forked from.
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024  # type: ignore[index]


def _features() -> Iterator[Line]:
    """What a method's evaluation costs, relative to the score's own, as features become many."""
    cost = {d: _cost(d) for d in FEATURES}
    first = next(iter(FEATURES))
    for d in list(FEATURES)[1:]:
        yield line(
            "growth with features",
            f"KSH, GMM, d = {first} → {d}",
            [now / before for now, before in zip(cost[d], cost[first], strict=True)],
            "method's ÷ score's",
            threads=1,
            most=1.3,
            note=f"budget {BUDGET}",
        )


def _cost(d: int, repeats: int = 5) -> list[float]:
    """Total time ÷ bare time."""
    score, X = score_of("GMM", d), rows_to_explain("GMM", d, FEATURES[d])
    explain = Explainer(score, normal_rows("GMM", d), KSH(solver=Kernel(budget=BUDGET)))
    with threads(1):
        explain(X)
        with recording(score) as asked:
            explain(X)
        return ratios(lambda: explain(X), asked.again(score), repeats)


def _local_minima(d: int = 166, n: int = 2, repeats: int = 3) -> Line:
    X = rows_to_explain("GMM", d, n)
    explain = Explainer(score_of("GMM", d), normal_rows("GMM", d), ASH(LocalMinimum()))
    with threads(1):
        explain(X[:1])
        found = [seconds(lambda: explain(X)) / n for _ in range(repeats)]
    return line(
        "time of v̂ with 2d + 2048 coalitions",
        f"GMM, d = {d}",
        found,
        "s a row",
        threads=1,
        most=2.0,
        note=f"{n} rows",
    )


if __name__ == "__main__":
    sys.stdout.write(json.dumps(explain_rows(int(sys.argv[1]))))
