"""Real incidents of a micro-service application with known causes: PetShop, low traffic.

They are fetched from their repository, or `WHYFLAG_PETSHOP` names a folder that has them.

What was fixed before any result was seen: an incident is the first row at or after its alarm; its
columns are the services, by the metric and the statistic of the alarm. Columns of which more than
half is missing without incidents are dropped, and other gaps are the column's median. Columns that
never change without incidents are dropped, or kept: both are told. The service that raised the
alarm is a column like any other, but it is not asked whether it is the cause.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import pandas as pd

from benchmarks.culprits.detectors import fitted
from benchmarks.culprits.methods import applies
from benchmarks.culprits.run import remembering
from benchmarks.culprits.worlds import World
from whyflag.arrays import Matrix
from whyflag.metrics import hits_at_k
from whyflag_paper.datasets.petshop import petshop

DETECTORS = ("GMM", "forest")
MOST_MISSING = 0.5  # of a column


@final
@dataclass(frozen=True, eq=False)
class Incident:
    """A row at the time of an alarm, and the service that caused it."""

    metric: tuple[str, str]  # metric and statistic
    alarmed: str
    cause: str
    row: Any  # pandas Series: service -> value


def read_table(path: Path) -> Any:
    """A table of metrics: its columns are service, metric and statistic."""
    return pd.read_csv(path, header=[0, 1, 2], index_col=0)


def incidents(folder: Path) -> Iterator[Incident]:
    """All incidents, those for training and for testing alike: nothing is trained on them."""
    for path in sorted(folder.glob("t*/issue_*/target.json")):
        told = json.loads(path.read_text(encoding="utf-8"))
        target = told["target"]
        metric = (target["metric"], target["agg"])
        rows = read_table(path.with_name("metrics.csv")).xs(metric, axis=1, level=(1, 2))
        row = rows[rows.index >= target["timestamp"]].iloc[0]
        yield Incident(metric, target["node"], told["root_cause"]["node"], row)


def world_of(normal: Any, keep_constant: bool) -> tuple[World, list[str]]:
    """Rows without incidents as a world, and the services that are its columns."""
    kept = normal.loc[:, normal.isna().mean() <= MOST_MISSING]
    if not keep_constant:
        kept = kept.loc[:, kept.nunique() > 1]
    rows = kept.fillna(kept.median()).to_numpy(dtype=np.float64)
    return World("PetShop", rows, rows[:0]), list(kept.columns)


def found_by(
    folder: Path, metric: tuple[str, str], detector: str, keep: bool, methods: Sequence[str]
) -> dict[str, Matrix]:
    """Whether the cause is first, and among three, by method: incidents x 2.

    Incidents of a metric whose causes have columns; ties count as what chance gives.
    """
    normal = read_table(folder / "noissue" / "metrics.csv").xs(metric, axis=1, level=(1, 2))
    world, services = world_of(normal, keep)
    chosen = [
        each for each in incidents(folder) if each.metric == metric and each.cause in services
    ]
    if not chosen:
        return {}
    rows = pd.DataFrame([each.row for each in chosen]).reindex(columns=services)
    X = rows.fillna(normal[services].median()).to_numpy(dtype=np.float64)
    case = fitted(world, detector)
    ask = remembering(case, X)
    # The service that raised the alarm comes last.
    alarmed = np.array([[service == each.alarmed for service in services] for each in chosen])
    causes = [services.index(each.cause) for each in chosen]
    found: dict[str, Matrix] = {}
    for name in (name for name in methods if applies(name, case)):
        values = ask(name)[0].values
        ranked = np.where(alarmed, values.min() - 1.0, values)
        found[name] = np.column_stack([hits_at_k(ranked, causes, k=k).rows for k in (1, 3)])
    return found


def line(name: str, found: Matrix) -> str:
    """The share of causes that come first, and that are among three."""
    first, three = found.mean(axis=0)
    return f"| {name} | {first:.2f} | {three:.2f} | {len(found)} |"


def main(methods: Sequence[str]) -> None:
    """Print a table for each detector and each treatment of constant columns."""
    folder = petshop()
    metrics = sorted({each.metric for each in incidents(folder)})
    for detector in DETECTORS:
        for keep in (False, True):
            by_metric = {m: found_by(folder, m, detector, keep, methods) for m in metrics}
            columns = "kept" if keep else "dropped"
            print(f"\n**{detector}, constant columns {columns}**\n")
            print("| method | first | among three | incidents |\n|---|---|---|---|")
            for name in methods:
                parts = {m[0]: found[name] for m, found in by_metric.items() if name in found}
                if not parts:
                    continue
                label = name.replace("|", r"\|")
                print(line(label, np.vstack(list(parts.values()))))
                if len(parts) > 1:
                    for metric, found in parts.items():
                        print(line(f"{label}, {metric}", found))
