"""Measure everything: print each line, keep all as JSON, and put them into docs/performance.md.

With names of benchmarks as arguments only those, printed and not kept.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path

from benchmarks.instrument import Line, machine
from benchmarks.page import write_page

BENCHMARKS = (
    "efficiency",
    "minimisation",
    "algorithm_1",
    "against_shap",
    "growth",
    "cores",
    "imports",
    "methods",
)
KEPT = Path(__file__).parent.parent / "results" / "benchmarks.json"


def measure(names: tuple[str, ...]) -> list[Line]:
    """The lines of some benchmarks, printed as they come."""
    found = []
    for name in names:
        for line in import_module(f"benchmarks.{name}").lines():
            print(line, flush=True)
            found.append(line)
    return found


def main() -> None:
    """Measure, print and keep."""
    chosen = tuple(sys.argv[1:])
    lines = measure(chosen or BENCHMARKS)
    if not chosen:
        content = {"machine": machine(), "lines": [line.as_json() for line in lines]}
        KEPT.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        write_page(lines)
    missed = sum(line.reached is False for line in lines)
    print(f"{len(lines)} lines, {missed} targets not reached")


if __name__ == "__main__":
    main()
