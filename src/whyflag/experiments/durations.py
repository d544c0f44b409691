"""How long each step of a full run takes: what the order of work and the time left go by."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

UNKNOWN = 1.0  # seconds of a step that has never been timed


def expected_seconds(key: tuple[str, ...]) -> float:
    """Seconds that a step took in the run that is published in results/.

    Only their ratios count: how fast this machine is shows as it works.
    """
    return _durations().get("/".join(key[:-1]), UNKNOWN)  # the same for all seeds


@cache
def _durations() -> dict[str, float]:
    file = files("whyflag.experiments") / "durations.json"
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else {}
