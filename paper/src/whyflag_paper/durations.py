"""How long each step of a full run takes: what the order of work and the time left go by.

`python -m whyflag_paper.durations results/results.json` writes those of a run down.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path

from whyflag_paper.results import Results

FILE = Path(__file__).with_name("durations.json")
UNKNOWN = 1.0  # seconds of a step that has never been timed


def expected_seconds(key: tuple[str, ...]) -> float:
    """Seconds that a step took in the run that is published in results/.

    Only their ratios count: how fast this machine is shows as it works.
    """
    return _durations().get("/".join(key[:-1]), UNKNOWN)  # the same for all seeds


def measured(results: Results) -> dict[str, float]:
    """Seconds that each step took, on average over the seeds."""
    steps: dict[str, list[float]] = {}
    for fit in results.content["fits"]:
        steps.setdefault(f"fit/{fit['dataset']}/{fit['family']}", []).append(fit["took"])
    for cell in results.content["cells"]:
        names = (cell[name] for name in ("experiment", "dataset", "detector", "method"))
        steps.setdefault("/".join(names), []).append(cell["took"])
    return {name: round(sum(times) / len(times), 3) for name, times in steps.items()}


@cache
def _durations() -> dict[str, float]:
    return dict(json.loads(FILE.read_text(encoding="utf-8"))) if FILE.is_file() else {}


if __name__ == "__main__":
    took = measured(Results.read(Path(sys.argv[1])))
    FILE.write_text(json.dumps(took, indent=0, sort_keys=True) + "\n", encoding="utf-8")
