"""Is a method above all others? What issue 27 asks of a default, as a table.

A method is compared with each of the others over the cells that both have: by MRR where there is
one culprit, by AUROC where there are several. What counts is the smallest difference.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.culprits.methods import METHODS
from benchmarks.culprits.store import Unit
from benchmarks.culprits.tables import Results, cell_of, is_blind, number
from whyflag.arrays import Vector

OTHERS = ("ASH", "KSH", "wKSH", "comp", "marg", "IG", "ensemble", "TreeSHAP", "KernelSHAP")
FEWEST = 3  # cells of a difference that counts
Figures = dict[str, dict[Unit, float]]  # by method, by cell


def figures_of(results: Results, measure: str) -> Figures:
    """A measure of each method in each cell where it counts, blind worlds left out."""
    found: Figures = {}
    for unit, figures in results.items():
        counts = unit.count == 1 if measure == "mrr" else unit.count > 1
        if counts and measure in figures and not is_blind(unit):
            found.setdefault(unit.method, {})[cell_of(unit)] = number(figures[measure])
    return found


def differences(figures: Figures, one: str, other: str, chosen: Callable[[Unit], bool]) -> Vector:
    """A method less another, in the cells that both have."""
    cells = [cell for cell in figures[one] if cell in figures[other] and chosen(cell)]
    return np.array([figures[one][cell] - figures[other][cell] for cell in cells])


def smallest(
    figures: Figures, name: str, chosen: Callable[[Unit], bool]
) -> tuple[float, str, Vector] | None:
    """The smallest difference from any other method, that method, and the cells behind it."""
    found = []
    for other in OTHERS:
        if other == name or other not in figures:
            continue
        cells = differences(figures, name, other, chosen)
        if len(cells) >= FEWEST:
            found.append((float(cells.mean()), other, cells))
    return min(found, key=lambda each: each[0], default=None)


def worst(figures: Figures, name: str, field: str) -> str:
    """The detector or the kind in which a method is furthest below another."""
    values = sorted({getattr(cell, field) for cell in figures[name]})
    found = []
    for value in values:
        least = smallest(figures, name, lambda cell, v=value: getattr(cell, field) == v)  # type: ignore[misc]
        if least is not None:
            found.append((least[0], f"{least[0]:+.3f} ({value}: {least[1]})"))
    return min(found)[1] if found else ""


def interval(cells: Vector) -> str:
    """An average with a bootstrap interval over cells."""
    rng = np.random.default_rng(0)
    means = cells[rng.integers(len(cells), size=(1000, len(cells)))].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return f"{cells.mean():+.3f} ({low:+.3f} to {high:+.3f})"


def verdict(results: Results) -> str:
    """Each method less the best of the others: on average, and for the worst detector and kind."""
    head = ["method", "measure", "less the best of the others", "worst detector", "worst kind"]
    lines = [head, ["---"] * len(head)]
    for measure in ("mrr", "auroc"):
        figures = figures_of(results, measure)
        for name in (name for name in METHODS if name in figures):
            least = smallest(figures, name, lambda cell: True)
            if least is None:
                continue
            average = f"{interval(least[2])}: {least[1]}"
            both = [worst(figures, name, field) for field in ("detector", "kind")]
            lines.append([name, measure.upper(), average, *both])
    rows = [[part.replace("|", r"\|") for part in line] for line in lines]
    return "**Less the best of the others**\n\n" + "\n".join(
        f"| {' | '.join(row)} |" for row in rows
    )
