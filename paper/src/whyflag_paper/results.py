"""The results of a run as one file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, final

import numpy as np

from whyflag.arrays import Vector
from whyflag_paper.store import Store

N_RESAMPLES = 1000


@final
@dataclass(frozen=True)
class Figure:
    """An average over rows of several splits, with a bootstrap interval.

    Attributes:
        value: The average over all rows.
        resampled: Averages with splits, and rows within each, drawn anew, (N_RESAMPLES,).
        n_rows: Number of rows.
    """

    value: float
    resampled: Vector
    n_rows: int

    @property
    def interval(self) -> tuple[float, float]:
        """Where 95 % of the resampled averages lie."""
        low, high = np.percentile(self.resampled, [2.5, 97.5])
        return float(low), float(high)


@final
@dataclass(frozen=True)
class Results:
    """What a run found: settings, versions, and every cell with the measures of its rows."""

    content: Mapping[str, Any]

    @classmethod
    def collect(cls, folder: Path) -> Results:
        """Read the records that a run has left in its folder so far."""
        content: dict[str, Any] = {"fits": [], "supervised": [], "cells": []}
        for record in Store(folder / "cells"):
            kind, *names = record.pop("key")
            if kind == "settings":
                content |= record
            elif kind == "fit":
                content["fits"].append(_named(("dataset", "family", "seed"), names) | record)
            elif kind == "supervised":
                content["supervised"].append(_named(("dataset", "seed"), names) | record)
            else:
                fields = ("experiment", "dataset", "detector", "method", "seed")
                content["cells"].append(_named(fields, (kind, *names)) | record)
        if not content["cells"]:
            raise ValueError(f"{folder} has no results.")
        return cls(content)

    @classmethod
    def read(cls, path: Path) -> Results:
        """Read the file that `write` made."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except json.JSONDecodeError as error:
            raise ValueError(f"{path} has no results: {error}.") from error
        if not isinstance(content, dict) or not content.get("cells"):
            raise ValueError(f"{path} has no results: it has no cells.")
        return cls(content)

    def write(self, path: Path) -> None:
        """Write one file, a line for each record."""
        parts = []
        for name, value in self.content.items():
            if isinstance(value, list):
                lines = ",\n".join(_compact(record) for record in value)
                parts.append(f'"{name}": [\n{lines}\n]')
            else:
                parts.append(f'"{name}": {_compact(value)}')
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")

    def figure(
        self, experiment: str, dataset: str, detector: str, method: str, measure: str
    ) -> Figure | None:
        """The average of a measure over the rows of all seeds; None where nothing was computed."""
        cells = self._cells.get((experiment, dataset, detector, method), [])
        rows = [np.array(cell["rows"].get(measure, ())) for cell in cells]
        rows = [part for part in rows if len(part)]
        if not rows:
            return None
        together = np.concatenate(rows)
        return Figure(float(together.mean()), _resample(rows), len(together))

    @cached_property
    def methods(self) -> frozenset[str]:
        """The methods that there is any cell of."""
        return frozenset(method for _, _, _, method in self._cells)

    def seconds(self, experiment: str, dataset: str, detector: str, method: str) -> float | None:
        """Seconds that a row took, on average over the seeds."""
        cells = self._cells.get((experiment, dataset, detector, method), [])
        known = [cell["seconds"] for cell in cells if cell["seconds"] is not None]
        return float(np.mean(known)) if known else None

    @cached_property
    def _cells(self) -> dict[tuple[str, ...], list[Any]]:
        by_key: dict[tuple[str, ...], list[Any]] = {}
        for cell in self.content["cells"]:
            key = tuple(cell[name] for name in ("experiment", "dataset", "detector", "method"))
            by_key.setdefault(key, []).append(cell)
        return by_key


def _resample(rows: Sequence[Vector]) -> Vector:
    """Averages with seeds drawn anew, and rows of each: (N_RESAMPLES,)."""
    rng = np.random.default_rng(0)
    total, count = np.zeros(N_RESAMPLES), np.zeros(N_RESAMPLES)
    for _ in rows:
        drawn = rng.integers(len(rows), size=N_RESAMPLES)
        for i, part in enumerate(rows):
            where = drawn == i
            chosen = rng.integers(len(part), size=(int(where.sum()), len(part)))
            total[where] += part[chosen].sum(axis=1)
            count[where] += len(part)
    return total / count


def _named(fields: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
    named: dict[str, Any] = dict(zip(fields, names, strict=True))
    named["seed"] = int(named["seed"].removeprefix("seed "))
    return named


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
