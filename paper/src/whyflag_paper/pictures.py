"""Pictures of results: methods over all pairs, and how well against how fast."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from whyflag_paper.cells import OURS, SYNTHETIC
from whyflag_paper.datasets import DATASETS
from whyflag_paper.results import Results
from whyflag_paper.settings import DETECTORS
from whyflag_paper.tables import ALL, Table

COLOURS = dict(zip(DETECTORS, ("#2a6f97", "#e08e45", "#7a9e3b", "#9b4f96"), strict=True))
INK, PALE = "#1b1b1f", "#c9c9d0"


def draw(results: Results, tables: list[Table], folder: Path) -> list[Path]:
    """Draw both pictures into a folder."""
    import matplotlib as mpl

    by_name = {table.name: table for table in tables}
    wanted = [name for name in ("synthanom_mrr", "synthanom_auc_na3") if name in by_name]
    paths = []
    style: dict[Any, Any] = {"axes.spines.top": False, "axes.spines.right": False}
    with mpl.rc_context(style | {"font.size": 10, "axes.edgecolor": INK}):
        if wanted:
            paths.append(_distributions([by_name[name] for name in wanted], folder))
            paths.append(_against_time(results, by_name[wanted[0]], folder))
    return paths


def _distributions(tables: list[Table], folder: Path) -> Path:
    """Every pair a point, every method a column; the bar is the median, the tick the paper's."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.4 * len(tables)), layout="constrained")
    for axes, table in zip(np.atleast_1d(figure.subplots(len(tables))), tables, strict=True):
        rng = np.random.default_rng(0)
        for x, method in enumerate(table.columns):
            for row in table.rows:
                entry = row.entries[x]
                if entry is not None and row.dataset in DATASETS:
                    side = x + rng.uniform(-0.18, 0.18)
                    axes.plot(side, entry.value, "o", ms=4, color=COLOURS[row.detector], alpha=0.8)
            ours = table.entry(ALL, "percentile 50", method)
            if ours is not None:
                axes.hlines(ours.value, x - 0.3, x + 0.3, color=INK, lw=2)
                if ours.paper is not None:
                    axes.hlines(ours.paper, x - 0.3, x + 0.3, color=INK, lw=1, ls=":")
        axes.set_xticks(range(len(table.columns)), table.columns)
        axes.set_ylim(0, 1.02)
        axes.set_title(table.title, loc="left")
        axes.grid(axis="y", color=PALE, lw=0.5)
    _legend(figure)
    return _save(figure, folder / "methods.png")


def _against_time(results: Results, table: Table, folder: Path) -> Path:
    """The median over pairs of the MRR and of the time that a row takes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 5), layout="constrained")
    axes = figure.subplots()
    middles: dict[str, tuple[float, float]] = {}
    for method in table.columns:
        entry = table.entry(ALL, "percentile 50", method)
        seconds = [
            took
            for dataset in DATASETS
            for detector in DETECTORS
            if (took := results.seconds(SYNTHETIC, dataset, detector, method)) is not None
        ]
        if entry is None or not seconds:
            continue
        low, middle, high = np.percentile(seconds, [25, 50, 75]).tolist()
        axes.plot([1000 * low, 1000 * high], [entry.value] * 2, color=PALE, lw=1.5, zorder=1)
        middles[method] = 1000 * middle, entry.value
    for method, (x, y) in middles.items():
        colour = "#c1121f" if method == OURS else INK
        axes.plot(x, y, "o", color=colour, zorder=2)
        # Below where another one stands right above.
        crowded = any(0 < v - y < 0.02 and 0.5 < u / x < 2 for u, v in middles.values())
        axes.annotate(
            method,
            (x, y),
            xytext=(0, -6 if crowded else 6),
            textcoords="offset points",
            ha="center",
            va="top" if crowded else "bottom",
            color=colour,
        )
    axes.set_xscale("log")
    axes.set_xlabel("milliseconds a row, median and quartiles over pairs (one core)")
    axes.set_ylabel("MRR, median over pairs")
    axes.grid(color=PALE, lw=0.5)
    return _save(figure, folder / "time.png")


def _legend(figure: Any) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], marker="o", ls="", color=colour, label=name)
        for name, colour in COLOURS.items()
    ]
    handles.append(Line2D([], [], color=INK, lw=2, label="median"))
    handles.append(Line2D([], [], color=INK, lw=1, ls=":", label="the paper's median"))
    figure.legend(handles=handles, loc="outside lower center", ncols=6, frameon=False)


def _save(figure: Any, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    return path
