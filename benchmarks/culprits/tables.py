"""Results as Markdown: each method's averages over cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from benchmarks.culprits.detectors import DETECTORS
from benchmarks.culprits.kinds import KINDS
from benchmarks.culprits.methods import METHODS
from benchmarks.culprits.store import Unit
from benchmarks.culprits.worlds import WORLDS

Results = dict[Unit, dict[str, Any]]
Column = tuple[str, str, Callable[[Unit], bool]]  # a heading, a measure, and the cells


def is_blind(unit: Unit) -> bool:
    """Whether the detector does not see all columns."""
    return unit.world.startswith("blind")


def table(results: Results) -> str:
    """All tables."""
    there = {unit: figures for unit, figures in results.items() if "mrr" in figures}
    seeing = {unit: figures for unit, figures in there.items() if not is_blind(unit)}
    blind = {unit: figures for unit, figures in there.items() if is_blind(unit)}
    parts = []
    for title, cells in (
        ("Cells that every method here can do", in_common(seeing)),
        ("All cells of each method", seeing),
    ):
        parts.append(section(f"{title}: {n_cells(cells)}", cells, overall()))
        fewest = fewest_culprits(cells)
        parts.append(section("MRR by detector, fewest culprits", fewest, by("detector", DETECTORS)))
        parts.append(section("MRR by kind, fewest culprits", fewest, by("kind", KINDS)))
        several = {unit: figures for unit, figures in cells.items() if unit.count > 1}
        parts.append(section("AUROC by detector", several, by("detector", DETECTORS, "auroc")))
        parts.append(section("AUROC by kind", several, by("kind", KINDS, "auroc")))
    parts.append(section("MRR by world", fewest_culprits(seeing), by("world", WORLDS)))
    if blind:
        parts.append(section(f"Blind worlds: {n_cells(blind)} cells", blind, of_blind()))
    parts.append(section("Cost", there, cost()))
    parts.append(left_out(results))
    return "\n\n".join(part for part in parts if part)


def cell_of(unit: Unit) -> Unit:
    """The cell of a unit, whatever the method."""
    return unit._replace(method="")


def n_cells(results: Results) -> int:
    """Cells that any method has."""
    return len({cell_of(unit) for unit in results})


def in_common(results: Results, share: float = 0.75) -> Results:
    """Cells that have all methods that are not made for a few detectors only."""
    methods = {unit.method for unit in results}
    total = n_cells(results)
    cells = {name: {cell_of(u) for u in results if u.method == name} for name in methods}
    wide = [name for name in methods if len(cells[name]) >= share * total]
    common = set.intersection(*(cells[name] for name in wide)) if wide else set()
    return {u: f for u, f in results.items() if u.method in wide and cell_of(u) in common}


def overall() -> list[Column]:
    """One culprit and several, over all cells."""
    return [
        ("MRR", "mrr", lambda unit: True),
        ("MRR, one", "mrr", lambda unit: unit.count == 1),
        ("Hits@3, one", "hits3", lambda unit: unit.count == 1),
        ("AUROC, two", "auroc", lambda unit: unit.count == 2),
        ("AUROC, three", "auroc", lambda unit: unit.count == 3),
        ("precision, several", "precision", lambda unit: unit.count > 1),
        ("root of chains", "root", lambda unit: KINDS[unit.kind].chain),
    ]


def fewest_culprits(results: Results) -> Results:
    """Cells with one culprit, or with two of kinds that begin there: they have most to tell."""
    return {u: figures for u, figures in results.items() if u.count == KINDS[u.kind].counts[0]}


def by(field: str, names: Iterable[str], measure: str = "mrr") -> list[Column]:
    """A column for each name."""

    def having(name: str) -> Callable[[Unit], bool]:
        return lambda unit: getattr(unit, field) == name

    return [(name, measure, having(name)) for name in names]


def renamed(before: str, columns: Sequence[Column]) -> list[Column]:
    """The same columns with longer headings."""
    return [(before + heading, measure, chosen) for heading, measure, chosen in columns]


def of_blind() -> list[Column]:
    """What counts where the detector does not see all columns."""
    return [
        ("MRR", "mrr", lambda unit: True),
        ("AUROC, several", "auroc", lambda unit: unit.count > 1),
        ("unseen first", "unseen first", lambda unit: True),
        *(
            (f"unseen first: {d}", "unseen first", by_name)
            for d, _, by_name in by("detector", DETECTORS)
        ),
    ]


def cost() -> list[Column]:
    """Milliseconds and evaluations a row."""
    return [
        ("evaluations", "evaluations", lambda unit: True),
        *renamed("ms: ", by("detector", DETECTORS, "ms")),
    ]


def number(figures: Any) -> float:
    """A figure without its interval."""
    return float(figures[0] if isinstance(figures, list) else figures)


def section(title: str, results: Results, columns: Sequence[Column]) -> str:
    """A table: a line for each method, columns without cells left out."""
    lines: dict[str, list[str]] = {}
    present = [name for name in METHODS if any(unit.method == name for unit in results)]
    kept = []
    for heading, measure, chosen in columns:
        found: dict[str, list[float]] = {}
        for unit, figures in results.items():
            if chosen(unit) and figures.get(measure) is not None:
                found.setdefault(unit.method, []).append(number(figures[measure]))
        if not found:
            continue
        kept.append(heading)
        summary = np.median if measure in ("ms", "evaluations") else np.mean
        for name in present:
            lines.setdefault(name, []).append(shown(found.get(name), summary))
    if not present or not kept:
        return ""
    count = {name: sum(unit.method == name for unit in results) for name in present}
    head = ["method", *(heading.replace("|", r"\|") for heading in kept), "cells"]
    body = [[name.replace("|", r"\|"), *lines[name], str(count[name])] for name in present]
    rows = [head, ["---"] * len(head), *body]
    return f"**{title}**\n\n" + "\n".join(f"| {' | '.join(row)} |" for row in rows)


def shown(found: list[float] | None, summary: Any) -> str:
    """An average, or nothing."""
    if not found:
        return ""
    value = float(summary(found))
    return f"{value:.3g}" if summary is np.median else f"{value:.3f}".replace("0.", ".", 1)


def left_out(results: Results) -> str:
    """What was skipped as too slow, and what failed."""
    why: dict[str, int] = {}
    for unit, figures in results.items():
        reason = figures.get("skipped")
        if reason not in (None, "kind", "detector"):
            why[f"too slow: {reason}"] = why.get(f"too slow: {reason}", 0) + 1
        if "error" in figures:
            text = f"failed: {unit.method} on {unit.detector}: {figures['error']}"
            why[text] = why.get(text, 0) + 1
    return "\n".join(f"- {reason} ({count} cells)" for reason, count in sorted(why.items()))
