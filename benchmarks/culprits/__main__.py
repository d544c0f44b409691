"""Run the worlds, or print what was found: `python -m benchmarks.culprits --help`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from benchmarks.culprits.detectors import DETECTORS
from benchmarks.culprits.halves import CHOOSE, HALVES, REPORT, members
from benchmarks.culprits.kinds import KINDS, N_ROWS
from benchmarks.culprits.methods import METHODS
from benchmarks.culprits.run import run, tasks_of, units_of
from benchmarks.culprits.store import Unit, read
from benchmarks.culprits.tables import table
from benchmarks.culprits.verdict import verdict
from benchmarks.culprits.worlds import WORLDS, missing_worlds

OUTPUT = Path(__file__).parents[2] / "results" / "culprits.jsonl"


def parser() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.culprits", description=__doc__)
    options.add_argument("--output", type=Path, default=OUTPUT, help="JSON Lines, appended to")
    options.add_argument("--table", type=Path, metavar="FILE", help="print the tables of a file")
    options.add_argument("--half", choices=(*HALVES, "both", "all"), default="both")
    for name, known in (
        ("worlds", WORLDS),
        ("detectors", DETECTORS),
        ("kinds", KINDS),
        ("methods", METHODS),
    ):
        options.add_argument(f"--{name}", nargs="+", choices=known, metavar="NAME", default=None)
    options.add_argument("--every-pair", action="store_true", help="all detectors in all worlds")
    options.add_argument("--seed", type=int, default=0, help="of what is planted")
    options.add_argument("--rows", type=int, default=N_ROWS, help="of a cell")
    options.add_argument("--jobs", type=int, default=-1, help="processes; -1: one on every core")
    options.add_argument("--petshop", action="store_true", help="real incidents, fetched once")
    options.add_argument("--list", action="store_true", help="print what there is, by half")
    return options


def units(arguments: argparse.Namespace) -> list[Unit]:
    """The units of work that were asked for."""
    missing = missing_worlds()
    for world, why in missing.items():
        print(f"{world} is left out: {why}.")
    found: list[Unit] = []
    # All cells at once, or those of a half: its worlds with its kinds.
    chosen = {"both": (CHOOSE, REPORT), "all": (None,)}.get(arguments.half, (arguments.half,))
    for half in chosen:
        worlds, kinds = (
            list(table) if half is None else members(half, table) for table in (WORLDS, KINDS)
        )
        found += units_of(
            asked(arguments.worlds, [world for world in worlds if world not in missing]),
            asked(arguments.detectors, DETECTORS),
            asked(arguments.kinds, kinds),
            asked(arguments.methods, METHODS),
            arguments.seed,
            every_pair=arguments.every_pair,
        )
    return found


def asked(names: Iterable[str] | None, there: Iterable[str]) -> list[str]:
    """Those that were asked for, of those that are there."""
    return [name for name in there if names is None or name in set(names)]


def main() -> None:
    """Do what the options say."""
    arguments = parser().parse_args()
    if arguments.table is not None:
        results = read(arguments.table)
        print(table(results), verdict(results), sep="\n\n")
    elif arguments.list:
        for half in HALVES:
            print(f"{half}: {', '.join(members(half, WORLDS))}; {', '.join(members(half, KINDS))}")
        print(f"detectors: {', '.join(DETECTORS)}\nmethods: {', '.join(METHODS)}")
    elif arguments.petshop:
        from benchmarks.culprits.petshop import main as petshop

        petshop(asked(arguments.methods, METHODS))
    else:
        tasks = tasks_of(units(arguments), arguments.output, arguments.rows)
        run(tasks, arguments.output, arguments.jobs)


if __name__ == "__main__":
    main()
