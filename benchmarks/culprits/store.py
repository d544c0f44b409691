"""Results as JSON Lines: one cell each, appended as they come, so that a run can be resumed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple


class Unit(NamedTuple):
    """A unit of work: a cell, by the names of its parts and its seed."""

    world: str
    detector: str
    kind: str
    count: int  # type: ignore[assignment] # a tuple has a method of that name
    method: str
    seed: int


def append(path: Path, results: Iterable[tuple[Unit, dict[str, Any]]]) -> None:
    """Append results in one write: several processes may do so at the same time."""
    lines = [json.dumps({**unit._asdict(), **figures}) for unit, figures in results]
    if not lines:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(handle, ("\n".join(lines) + "\n").encode())
    finally:
        os.close(handle)


def read(path: Path) -> dict[Unit, dict[str, Any]]:
    """The results so far; of a cell that is there twice the last, and no line that is cut off."""
    found: dict[Unit, dict[str, Any]] = {}
    if not path.exists():
        return found
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            figures = json.loads(line)
        except json.JSONDecodeError:  # the end of a run that was killed
            continue
        unit = Unit(*(figures.pop(name) for name in Unit._fields))
        found[unit] = figures
    return found
