"""The work of one job: a detector is fitted, and its cells are computed and stored one by one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, final

import numpy as np

from whyflag import detectors
from whyflag.arrays import BoolMatrix, IntVector, Matrix
from whyflag.attribution import Attribution
from whyflag.domain import Domain
from whyflag.ensemble import combine
from whyflag.explainer import Explainer
from whyflag.metrics import auroc, hits_at_k, mean_reciprocal_rank
from whyflag.score import Score
from whyflag_paper.anomalies import perturb
from whyflag_paper.cells import (
    GAMMA,
    GROUPED,
    MEMBERS,
    OURS,
    REAL,
    RELAXATION,
    SYNTHETIC,
    Cell,
    Job,
    applies,
    method_named,
)
from whyflag_paper.datasets import Dataset, Split, load, split
from whyflag_paper.settings import KINDS, WIDE, Settings
from whyflag_paper.store import Store
from whyflag_paper.supervised import clear_culprits

DIGITS = 4  # of what is stored for each row
NOTHING: dict[str, Any] = {"rows": {"MRR": []}, "seconds": None, "converged": None}


def fit_key(job: Job) -> tuple[str, ...]:
    """What the fit of a job is stored by."""
    return ("fit", job.dataset, job.family, f"seed {job.seed}")


def work(
    job: Job, settings: Settings, folder: Path, tell: Callable[[str, tuple[str, ...]], None]
) -> None:
    """Compute and store the cells of a job that are not stored yet.

    Args:
        job: The job.
        settings: How much is computed.
        folder: Where results and fitted detectors are kept.
        tell: Told of each step as it begins and as it ends: "begin" or "end", and its key.
    """
    store = Store(folder / "cells")
    bench = _Bench(job, settings, folder, store)
    for key, step in bench.steps():
        if key in store:
            continue
        tell("begin", key)
        began = time.perf_counter()
        record = step()
        took = time.perf_counter() - began
        store.write(key, {**record, "took": round(took, 3)})
        tell("end", key)


@final
@dataclass(frozen=True)
class _Cases:
    """Rows whose culprits are known, and who they are."""

    rows: Matrix  # n x d
    guilty: BoolMatrix  # n x p


@final
@dataclass
class _Bench:
    """A job with all that its cells share."""

    job: Job
    settings: Settings
    folder: Path
    store: Store
    _explainers: dict[Any, Explainer] = field(default_factory=dict)
    _attributions: dict[Any, tuple[Attribution, float]] = field(default_factory=dict)

    def steps(self) -> Iterator[tuple[tuple[str, ...], Callable[[], dict[str, Any]]]]:
        """What there is to do: the key of each record, and what makes it."""
        yield fit_key(self.job), self._fit
        measures = {
            SYNTHETIC: self._synthetic,
            REAL: self._real,
            RELAXATION: self._relaxation,
            GAMMA: self._gamma,
        }
        for cell in self.job.cells():
            yield cell.key, partial(measures[cell.experiment], cell)

    @cached_property
    def dataset(self) -> Dataset:
        return load(self.job.dataset)

    @cached_property
    def split(self) -> Split:
        return split(self.dataset, self.job.seed)

    @cached_property
    def detector(self) -> Any:
        return detectors.load(self._detector_folder)

    @property
    def _detector_folder(self) -> Path:
        job = self.job
        return self.folder / "detectors" / f"{job.dataset}-{job.family}-{job.seed}"

    def _fit(self) -> dict[str, Any]:
        rows = self.split
        detector = self.settings.detector(self.job.dataset, self.job.family, self.job.seed)
        began = time.perf_counter()
        detector.fit(rows.train, X_valid=rows.valid)
        took = time.perf_counter() - began
        detector.save(self._detector_folder)
        return {"seconds": round(took, 3), "selection": detector.selection_.to_json()}

    def _synthetic(self, cell: Cell) -> dict[str, Any]:
        rows: dict[str, list[float]] = {}
        seconds, converged = 0.0, []
        for n_culprits in (1, 2, 3):
            cases = self._planted(cell, n_culprits)
            attribution, took = self._attribute(cell, cell.method, f"{n_culprits}", cases.rows)
            seconds += took / len(cases.rows) / 3
            if attribution.converged is not None:
                converged.append(float(attribution.converged.mean()))
            if n_culprits == 1:
                rows["MRR"] = _rounded(mean_reciprocal_rank(attribution, cases.guilty).rows)
                rows["Hits@3"] = _rounded(hits_at_k(attribution, cases.guilty, 3).rows)
            else:
                areas = auroc(attribution, cases.guilty).rows
                rows[f"AUROC, {n_culprits} culprits"] = _rounded(areas)
        return {
            "rows": rows,
            "seconds": round(seconds, 6),
            "converged": round(float(np.mean(converged)), DIGITS) if converged else None,
        }

    def _real(self, cell: Cell) -> dict[str, Any]:
        clear, culprits = (part[: self._most_rows] for part in self._clear_culprits)
        if not len(clear):
            return NOTHING
        anomalous = self.split.test_anomalous[clear]
        return _mrr(*self._attribute(cell, cell.method, REAL, anomalous), culprits)

    def _relaxation(self, cell: Cell) -> dict[str, Any]:
        settings = self.settings
        most = settings.most_wide_game_rows if self._wide else settings.most_game_rows
        return self._of_one_culprit(cell, most) if most else NOTHING

    def _gamma(self, cell: Cell) -> dict[str, Any]:
        return self._of_one_culprit(cell, self.settings.most_rows)

    def _of_one_culprit(self, cell: Cell, most: int) -> dict[str, Any]:
        cases = self._planted(cell, 1)
        rows, guilty = cases.rows[:most], cases.guilty[:most]
        return _mrr(*self._run(self._explainer(cell, cell.method), rows), guilty)

    def _planted(self, cell: Cell, n_culprits: int) -> _Cases:
        """Synthetic anomalies: the same for all methods and detectors."""
        normal = self.split.test_normal
        times = -(-self.settings.least_rows // len(normal))
        rows, guilty = perturb(
            np.tile(normal, (times, 1)),
            n_culprits,
            binary=self.dataset.binary,
            rng=np.random.default_rng([self.job.seed, n_culprits]),
        )
        if cell.dataset == GROUPED:
            guilty = guilty @ self._grouped.membership.T
        return _Cases(rows[: self._most_rows], guilty[: self._most_rows])

    def _attribute(
        self, cell: Cell, method: str, label: str, rows: Matrix
    ) -> tuple[Attribution, float]:
        """What a method says of rows, and how long it took; remembered, for the ensemble."""
        if method == OURS:
            said = [
                self._attribute(cell, member, label, rows)
                for member in MEMBERS
                if applies(member, cell.detector)
            ]
            return combine([one for one, _ in said]), sum(took for _, took in said)
        key = (cell.dataset, cell.detector, method, label)
        if key not in self._attributions:
            self._attributions[key] = self._run(self._explainer(cell, method), rows)
        return self._attributions[key]

    def _run(self, explain: Explainer, rows: Matrix) -> tuple[Attribution, float]:
        began = time.perf_counter()
        attribution = explain(rows)
        return attribution, time.perf_counter() - began

    def _explainer(self, cell: Cell, method: str) -> Explainer:
        key = (cell.dataset, cell.detector, method)
        if key not in self._explainers:
            domain = self._grouped if cell.dataset == GROUPED else None
            n_players = self.split.train.shape[1] if domain is None else domain.n_players
            self._explainers[key] = Explainer(
                self._score(cell.detector),
                self.split.train,
                method_named(method, self.settings.solver(n_players)),
                domain=domain,
            )
        return self._explainers[key]

    def _score(self, detector: str) -> Score:
        kind = KINDS.get(detector)
        return self.detector.to_score(kind) if kind else self.detector.to_score()

    @cached_property
    def _grouped(self) -> Domain:
        position = {name: i for i, name in enumerate(self.dataset.columns)}
        players = {
            name: [position[column] for column in columns]
            for name, columns in self.dataset.groups.items()
        }
        return Domain.infer(self.split.train, players=players)

    @property
    def _wide(self) -> bool:
        return self.split.train.shape[1] > WIDE

    @property
    def _most_rows(self) -> int:
        return self.settings.most_wide_rows if self._wide else self.settings.most_rows

    @cached_property
    def _clear_culprits(self) -> tuple[IntVector, IntVector]:
        """Who the classifier holds responsible: the same for all detectors, so it is stored."""
        key = ("supervised", self.job.dataset, f"seed {self.job.seed}")
        if key not in self.store:
            most = self.settings.most_rows
            clear, culprits = clear_culprits(self.split, self.job.seed, most)
            self.store.write(
                key,
                {
                    "clear": clear.tolist(),
                    "culprits": culprits.tolist(),
                    "of": min(most, len(self.split.test_anomalous)),
                },
            )
        record = self.store.read(key)
        return np.array(record["clear"], dtype=int), np.array(record["culprits"], dtype=int)


def _mrr(attribution: Attribution, took: float, culprits: Any) -> dict[str, Any]:
    return {
        "rows": {"MRR": _rounded(mean_reciprocal_rank(attribution, culprits).rows)},
        "seconds": round(took / len(attribution), 6),
        "converged": None
        if attribution.converged is None
        else round(float(attribution.converged.mean()), DIGITS),
    }


def _rounded(values: Any) -> list[float]:
    return [round(float(value), DIGITS) for value in values]
