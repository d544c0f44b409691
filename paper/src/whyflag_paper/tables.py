"""The paper's tables, made from results alone, each cell beside the paper's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from whyflag_paper.cells import (
    COLUMNS,
    GAMES,
    GAMMA,
    GROUPED,
    REAL,
    RELAXATION,
    SENSITIVITY,
    SYNTHETIC,
)
from whyflag_paper.datasets import DATASETS
from whyflag_paper.published import printed
from whyflag_paper.results import Figure, Results
from whyflag_paper.settings import DETECTORS

PERCENTILES = (25, 50, 75)
ALL = "all pairs"


@final
@dataclass(frozen=True)
class Entry:
    """One cell: our figure with its interval, and the paper's."""

    value: float
    low: float
    high: float
    n_rows: int
    paper: float | None
    higher_is_better: bool = True

    @property
    def gain(self) -> float | None:
        """How much better than the paper's it is, in the table's unit."""
        if self.paper is None:
            return None
        gain = self.value - self.paper
        return gain if self.higher_is_better else -gain


@final
@dataclass(frozen=True)
class Row:
    """A data set and a detector, or a percentile over all pairs of them."""

    dataset: str
    detector: str
    entries: tuple[Entry | None, ...]  # one for each column


@final
@dataclass(frozen=True)
class Table:
    """A table of the paper.

    Attributes:
        name: Its name in the paper's source.
        title: What it says.
        columns: Methods, or what else stands at the head of a column.
        rows: Pairs of data set and detector, then percentiles.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    def entry(self, dataset: str, detector: str, column: str) -> Entry | None:
        """One cell."""
        for row in self.rows:
            if (row.dataset, row.detector) == (dataset, detector):
                return row.entries[self.columns.index(column)]
        raise KeyError(f"{self.name} has no row {dataset}, {detector}.")


def tables(results: Results) -> list[Table]:
    """All tables of the paper that the results have cells for."""
    made = [
        _methods(results, "synthanom_mrr", "One culprit: mean reciprocal rank", SYNTHETIC, "MRR"),
        _methods(results, "synthanom_hitsat3", "One culprit: Hits@3", SYNTHETIC, "Hits@3"),
        *(
            _methods(
                results,
                f"synthanom_auc_na{n}",
                f"{n} culprits: AUROC",
                SYNTHETIC,
                f"AUROC, {n} culprits",
            )
            for n in (2, 3)
        ),
        _methods(
            results,
            "realanom_mrr",
            "Real anomalies against a supervised classifier: mean reciprocal rank",
            REAL,
            "MRR",
        ),
        _relaxation(results),
        _sensitivity(results),
    ]
    return [table for table in made if table.rows]


def _methods(results: Results, name: str, title: str, experiment: str, measure: str) -> Table:
    columns = tuple(method for method in COLUMNS if method in results.methods)
    least = int(results.content["settings"]["least_qualified"]) if experiment == REAL else 1

    def figure(dataset: str, detector: str, method: str) -> Figure | None:
        found = results.figure(experiment, dataset, detector, method, measure)
        return found if found is not None and found.n_rows >= least else None

    figures: dict[str, list[Figure]] = {column: [] for column in columns}
    rows = []
    for dataset, detector in _pairs():
        found = [figure(dataset, detector, column) for column in columns]
        entries = tuple(
            None if one is None else _entry(one, printed(name, dataset, detector, column))
            for column, one in zip(columns, found, strict=True)
        )
        if any(entries):
            rows.append(Row(dataset, detector, entries))
        if dataset != GROUPED:  # an extra, not one of the paper's pairs
            for column, one in zip(columns, found, strict=True):
                figures[column] += [] if one is None else [one]
    if rows:
        rows += [_percentile(name, q, columns, figures) for q in PERCENTILES]
    return Table(name, title, columns, tuple(rows))


def _percentile(name: str, q: int, columns: Sequence[str], figures: dict[str, list[Figure]]) -> Row:
    entries: list[Entry | None] = []
    for column in columns:
        some = figures[column]
        if not some:
            entries.append(None)
            continue
        value = float(np.percentile([one.value for one in some], q))
        resampled = np.percentile([one.resampled for one in some], q, axis=0)
        n_rows = sum(one.n_rows for one in some)
        paper = printed(name, "ALL", f"percentile {q}", column)
        entries.append(_entry(Figure(value, resampled, n_rows), paper))
    return Row(ALL, f"percentile {q}", tuple(entries))


def _relaxation(results: Results) -> Table:
    name, columns = (
        "synthanom_relax_mrr",
        tuple(f"{what} {game}" for what in ("seconds", "MRR") for game in GAMES),
    )

    def entry(dataset: str, detector: str, column: str) -> Entry | None:
        what, game = column.split()
        paper = printed(name, dataset, detector, column)
        if what == "MRR":
            figure = results.figure(RELAXATION, dataset, detector, game, "MRR")
            return None if figure is None else _entry(figure, paper)
        seconds = results.seconds(RELAXATION, dataset, detector, game)
        figure = results.figure(RELAXATION, dataset, detector, game, "MRR")
        if seconds is None or figure is None:
            return None
        return Entry(seconds, seconds, seconds, figure.n_rows, paper, higher_is_better=False)

    title = "v̂ against its relaxation v̲: seconds a row, and mean reciprocal rank"
    return Table(name, title, columns, tuple(_rows(columns, entry)))


def _sensitivity(results: Results) -> Table:
    name, columns = "synthanom_gamma_mrr", tuple(SENSITIVITY)

    def entry(dataset: str, detector: str, column: str) -> Entry | None:
        figure = results.figure(GAMMA, dataset, detector, column, "MRR")
        paper = printed(name, dataset, detector, column)
        return None if figure is None else _entry(figure, paper)

    title = "Sensitivity of ASH to γ: mean reciprocal rank"
    return Table(name, title, columns, tuple(_rows(columns, entry)))


def _rows(columns: Sequence[str], entry: Callable[[str, str, str], Entry | None]) -> Iterator[Row]:
    for dataset, detector in _pairs():
        entries = tuple(entry(dataset, detector, column) for column in columns)
        if any(entries):
            yield Row(dataset, detector, entries)


def _pairs() -> Iterator[tuple[str, str]]:
    for dataset in (*DATASETS, GROUPED):
        for detector in DETECTORS:
            yield dataset, detector


def _entry(figure: Figure, paper: float | None) -> Entry:
    return Entry(figure.value, *figure.interval, figure.n_rows, paper)
