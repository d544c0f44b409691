"""The run: one task for each detector in each world, which does all cells that are missing."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from joblib import Parallel, delayed
from tqdm import tqdm

from benchmarks.culprits.design import is_planned, rows_of_cell
from benchmarks.culprits.detectors import DETECTORS, Case, fitted
from benchmarks.culprits.kinds import KINDS, N_ROWS, Spoilt, spoil
from benchmarks.culprits.measures import measured
from benchmarks.culprits.methods import METHODS, Shares, applies, members_of
from benchmarks.culprits.neighbours import Found
from benchmarks.culprits.slow import too_slow
from benchmarks.culprits.store import Unit, append, read
from benchmarks.culprits.worlds import WORLDS, load_world

Cell = tuple[str, int]  # a kind and a number of culprits


@final
@dataclass(frozen=True)
class Task:
    """The cells that are missing of a detector in a world."""

    world: str
    detector: str
    units: tuple[Unit, ...]
    n_rows: int = N_ROWS


def units_of(
    worlds: Sequence[str],
    detectors: Sequence[str],
    kinds: Sequence[str],
    methods: Sequence[str],
    seed: int,
    *,
    every_pair: bool = False,
) -> list[Unit]:
    """Every unit of work of these, whether it applies or not, of planned pairs or of all."""
    table = list(WORLDS), list(DETECTORS)
    return [
        Unit(world, detector, kind, count, method, seed)
        for world in worlds
        for detector in detectors
        if every_pair or is_planned(world, detector, *table)
        for kind in kinds
        for count in KINDS[kind].counts
        for method in methods
    ]


def tasks_of(units: Sequence[Unit], done: Path, n_rows: int = N_ROWS) -> list[Task]:
    """What is missing, by world and detector, the widest worlds first."""
    there = read(done)
    by_pair: dict[tuple[str, str], list[Unit]] = {}
    for unit in units:
        if unit not in there:
            by_pair.setdefault((unit.world, unit.detector), []).append(unit)
    tasks = [Task(*pair, tuple(missing), n_rows) for pair, missing in by_pair.items()]
    # Long tasks at the end would leave the other cores idle.
    return sorted(tasks, key=lambda task: -load_world(task.world).n_columns)


def work(task: Task, output: Path) -> int:
    """Do a task, and append what is found, method by method; the number of units."""
    world = load_world(task.world)
    spoilt = planted(task)
    names = list(dict.fromkeys(unit.method for unit in task.units))
    left = {name: {(u.kind, u.count): u for u in task.units if u.method == name} for name in names}
    for name in names:
        never = {cell: {"skipped": "kind"} for cell in left[name] if cell not in spoilt}
        reason = too_slow(world, task.detector, name)
        if reason is not None:
            never = {cell: {"skipped": reason} for cell in left[name]}
        append(output, [(left[name].pop(cell), why) for cell, why in never.items()])
    if not any(left.values()):
        return len(task.units)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        case = fitted(world, task.detector)
        explain(case, left, spoilt, output)
    return len(task.units)


def planted(task: Task) -> dict[Cell, Spoilt]:
    """The spoilt rows of the cells to which their kind applies."""
    world = load_world(task.world)
    cells = sorted({(unit.kind, unit.count, unit.seed) for unit in task.units})
    found = {
        (kind, count): spoil(
            world, kind, count, seed=seed, n=rows_of_cell(world.n_columns, task.n_rows)
        )
        for kind, count, seed in cells
    }
    return {cell: spoilt for cell, spoilt in found.items() if spoilt is not None}


def explain(
    case: Case,
    left: dict[str, dict[Cell, Unit]],
    spoilt: dict[Cell, Spoilt],
    output: Path,
) -> None:
    """Explain the rows of all cells at once, method by method; members of sums only once."""
    cells = list(spoilt)
    X = np.vstack([spoilt[cell].X for cell in cells])
    ends = np.cumsum([len(spoilt[cell].X) for cell in cells])
    parts = {
        cell: slice(end - len(spoilt[cell].X), end) for cell, end in zip(cells, ends, strict=True)
    }
    ask = remembering(case, X)
    for name, units in left.items():
        if not units:
            continue
        if not applies(name, case):
            append(output, [(unit, {"skipped": "detector"}) for unit in units.values()])
            continue
        try:
            found, seconds = ask(name)
            if not np.isfinite(found.values).all():
                raise ValueError("Values that are not finite.")
        except Exception as error:  # whatever a method does, the table says it
            why = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            append(output, [(unit, {"error": why}) for unit in units.values()])
            continue
        spent: dict[str, Any] = {
            "ms": round(1000 * seconds / len(X), 3),
            "evaluations": None if found.evaluations is None else round(found.evaluations),
        }
        append(
            output,
            [
                (unit, {**measured(case.world, spoilt[cell], found.values[parts[cell]]), **spent})
                for cell, unit in units.items()
            ],
        )


def remembering(case: Case, X: np.ndarray) -> Callable[[str], tuple[Found, float]]:
    """What methods find in these rows, and in how many seconds: each asked once."""
    kept: dict[str, tuple[Found, float]] = {}

    def ask(name: str) -> tuple[Found, float]:
        method = METHODS[name]
        if isinstance(method, Shares):
            there = [member for member in members_of(name) if applies(member, case)]
            found = {member: ask(member) for member in there}
            total = method.add({member: each for member, (each, _) in found.items()})
            return total, sum(seconds for _, seconds in found.values())
        if name not in kept:
            begin = time.perf_counter()
            values = method.find(case, X)
            kept[name] = values, time.perf_counter() - begin
        return kept[name]

    return ask


def run(tasks: Sequence[Task], output: Path, n_jobs: int) -> None:
    """Do all tasks, with progress and the time that is left."""
    total = sum(len(task.units) for task in tasks)
    jobs = (delayed(work)(task, output) for task in tasks)
    with tqdm(total=total, unit="cell", desc="culprits", mininterval=1.0) as bar:
        for done in Parallel(n_jobs=n_jobs, return_as="generator_unordered")(jobs):
            bar.update(done)
