"""Measure speed: print each line, keep all as JSON, and put them into docs/performance.md.

With names of benchmarks as arguments only those are measured; the others' lines stay as they are.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path

from benchmarks.instrument import Line, machine
from benchmarks.page import write_page

BENCHMARKS = (
    "default",
    "efficiency",
    "forests",
    "products",
    "neighbours",
    "minimisation",
    "algorithm_1",
    "against_shap",
    "growth",
    "cores",
    "imports",
    "methods",
)
KEPT = Path(__file__).parent.parent / "results" / "benchmarks.json"


def measure(name: str) -> list[Line]:
    """The lines of a benchmark, printed as they come."""
    found = []
    for line in import_module(f"benchmarks.{name}").lines():
        print(line, flush=True)
        found.append(line)
    return found


def main() -> None:
    """Measure, print and keep."""
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    for name in sys.argv[1:] or BENCHMARKS:
        lines = measure(name)
        kept[name] = {"machine": machine(), "lines": [line.as_json() for line in lines]}
        content = {name: kept[name] for name in BENCHMARKS if name in kept}
        KEPT.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        write_page(content)


if __name__ == "__main__":
    main()
