"""Single errors in normal rows: do repairs end the alarm, by the right feature, with its value?"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.culprits.detectors import fitted
from benchmarks.repair.errors import ERRORS, spoil
from benchmarks.repair.measures import measure
from benchmarks.repair.worlds import CHOOSING, WORLDS, load_world
from whyflag.prepared import Prepared
from whyflag.score import evaluate

DETECTORS = ("GMM", "forest", "LOF", "KDE", "VAE")
ALARM = 0.98  # of normal rows that raise none
USUAL = 0.99  # of normal rows that are usual to the second detector
SECOND = {"GMM": "forest"}  # who looks at repaired rows: a forest at those of mixtures
Cell = Mapping[str, Any]


def with_alarm(prepared: Prepared) -> Prepared:
    """The same, with an alarm that two in a hundred normal rows raise."""
    scores = evaluate(prepared.score, prepared.background)
    alarm = float(np.quantile(scores, ALARM, method="higher"))
    return replace(prepared, score=replace(prepared.score, threshold=alarm))


def cells(worlds: Sequence[str], detectors: Sequence[str], n: int) -> dict[tuple[str, ...], Cell]:
    """Measure all of them."""
    found: dict[tuple[str, ...], Cell] = {}
    for name in worlds:
        world = load_world(name)
        for detector in detectors:
            prepared = with_alarm(fitted(world, detector).prepared)
            other = fitted(world, SECOND.get(detector, "GMM")).prepared.score
            level = float(np.quantile(evaluate(other, world.train), USUAL, method="higher"))
            for error in ERRORS:
                spoilt = spoil(world, error, n)
                cell = None if spoilt is None else measure(prepared, spoilt, other, level)
                if cell is not None:
                    found[name, detector, error] = cell
            print(f"{name}, {detector}", flush=True)
    return found


def table(found: Mapping[tuple[str, ...], Cell], by: int) -> str:
    """Averages over the rows of all cells that have one thing in common."""
    grouped: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for key, cell in found.items():
        for name, numbers in cell.items():
            for group in (key[by], "all"):
                grouped[group][name] += numbers
    lines: list[str] = []
    for group in sorted(grouped, key=lambda name: (name == "all", name)):
        cell = grouped[group]
        names = list(cell)
        if not lines:
            lines.append("| | " + " | ".join(names) + " |\n|" + "---|" * (len(names) + 1))
        shown = []
        for name in names:
            numbers = np.array(cell[name], dtype=float)
            if name == "rows":
                shown.append(str(len(numbers)))
            elif name in ("error", "median"):
                shown.append(f"{np.median(numbers):.2f}" if len(numbers) else "–")
            else:
                digits = 0 if name == "evaluations" else 1 if name.startswith("ms") else 3
                shown.append(f"{numbers.mean():.{digits}f}" if len(numbers) else "–")
        lines.append(f"| {group} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def main() -> None:
    """Print three tables: by world, by detector and by error."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.repair", description=__doc__)
    parser.add_argument("--worlds", nargs="*", default=list(WORLDS), choices=list(WORLDS))
    parser.add_argument("--detectors", nargs="*", default=list(DETECTORS))
    parser.add_argument("--rows", type=int, default=20, help="of a cell, at most")
    parser.add_argument("--half", choices=("choose", "report"), help="of the worlds")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    worlds = [
        name
        for name in asked.worlds
        if asked.half is None or (name in CHOOSING) == (asked.half == "choose")
    ]
    found = cells(worlds, asked.detectors, asked.rows)
    for by in range(3):
        print(f"\n{table(found, by)}")


if __name__ == "__main__":
    main()
