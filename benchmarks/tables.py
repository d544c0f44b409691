"""Errors planted in tables like public ones: are they flagged, and is the cell the culprit?

    python -m benchmarks.tables [TABLE ...]

Each table is split by chance: 80 % are learnt from, as `whyflag fit` does, and 30 rows of the
others get an error of each kind, one after another in all columns in which the kind is an error.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from tests.table.lookalikes import TABLES
from whyflag.detectors import GMM
from whyflag.model import Model
from whyflag.table.column import Column
from whyflag.table.numbers import Numbers
from whyflag.table.schema import Schema
from whyflag.table.times import Times

PLANTED = 30
SEED = 1


def times_thousand(text: str, column: Column) -> str | None:
    """Three zeros too many."""
    value = _number(text, column)
    return f"{value * 1000:.12g}" if value else None


def sign(text: str, column: Column) -> str | None:
    """A minus where no normal row has one."""
    value = _number(text, column)
    positive = isinstance(column.codec, Numbers) and column.codec.lower >= 0
    return f"-{text}" if value and positive else None


def century(text: str, column: Column) -> str | None:
    """A date, or a year, a hundred years ago."""
    is_date = text[:4].isdigit() and isinstance(column.codec, Times)
    is_year = text.isdigit() and "year" in column.name.lower() and len(text) == 4
    return f"{int(text[:4]) - 100}{text[4:]}" if is_date or is_year else None


def word(text: str, column: Column) -> str | None:
    """Words where a number belongs."""
    return "not measured" if isinstance(column.codec, Numbers) and text else None


def category(text: str, column: Column) -> str | None:
    """A category that was never seen."""
    return "mauve" if column.codec.categories and text else None


def gap(text: str, column: Column) -> str | None:
    """Nothing, in a column that has gaps in few normal rows or none."""
    return "" if text and _has_few_gaps(column) else None


KINDS: dict[str, Callable[[str, Column], str | None]] = {
    "x 1000": times_thousand,
    "sign": sign,
    "century": century,
    "word": word,
    "category": category,
    "gap": gap,
}


def _number(text: str, column: Column) -> float:
    return float(text) if isinstance(column.codec, Numbers) and text else 0.0


def _has_few_gaps(column: Column) -> bool:
    from whyflag.table.codec import State

    known = getattr(column.codec, "known", ())
    return bool(column.foreign[State.GAP]) and "" not in known


def measure(name: str) -> list[dict[str, object]]:
    """One line for each kind of error in a table."""
    rng = np.random.default_rng(SEED)
    table = TABLES[name](rng).astype(object)
    table = table.where(table.notna(), "").astype(str)
    table = table.iloc[rng.permutation(len(table))].reset_index(drop=True)
    normal, held = table[: len(table) * 4 // 5], table[len(table) * 4 // 5 :]
    begin = time.perf_counter()
    schema = Schema.of(normal)
    model = Model.fit(GMM(random_state=0), schema, normal)
    took = time.perf_counter() - begin
    clean = model.read(held)
    lines = []
    for kind, plant in KINDS.items():
        rows: list[dict[str, Any]] = []
        culprits: list[str] = []
        able = [
            column
            for column in schema.columns
            if any(plant(text, column) is not None for text in held[column.name])
        ]
        for i in range(3 * PLANTED if able else 0):
            column = able[i % len(able)]
            row = held.iloc[int(rng.integers(len(held)))].to_dict()
            odd = plant(row[column.name], column)
            if odd is not None and len(rows) < PLANTED:
                rows.append(row | {column.name: odd})
                culprits.append(column.name)
        if not rows:
            continue
        said = model.explainer()(model.read(pd.DataFrame(rows)).rows)
        first = [said.feature_names[j] for j in said.order[:, 0]]
        right = np.array(first) == culprits
        missed = sorted(
            {name for name, hit in zip(culprits, said.flagged & right, strict=True) if not hit}
        )
        lines.append(
            {
                "table": name,
                "error": kind,
                "rows": len(rows),
                "flagged": int(said.flagged.sum()),
                "first": int(right.sum()),
                "both": int((right & said.flagged).sum()),
                "missed in": ", ".join(missed),
            }
        )
    alarms = int((model.score(clean.rows) > model.threshold).sum())
    print(f"{name}: fit {took:.1f} s, {alarms} of {len(held)} clean rows flagged", flush=True)
    return lines


def main() -> None:
    """Measure the tables that are named, or all."""
    found = pd.DataFrame([line for name in sys.argv[1:] or TABLES for line in measure(name)])
    print(found.to_string(index=False))
    total = found.groupby("error", sort=False)[["rows", "flagged", "first", "both"]].sum()
    print(total.assign(part=(total["both"] / total["rows"]).round(3)).to_string())


if __name__ == "__main__":
    main()
