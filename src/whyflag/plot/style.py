"""What the pictures share: colours, axes, and names that fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from whyflag.arrays import IntVector, Vector
from whyflag.attribution import Attribution
from whyflag.attribution.display import number, observed, shorten
from whyflag.extras import require

RAISES, LOWERS = "#d55e00", "#0072b2"  # of Okabe and Ito's palette
INK, PALE, GRID = "#1b1b1f", "#8a8a94", "#e4e4ea"


def new_axes(ax: Any, n_lines: int, *, width: float = 7.0, height: float = 0.34) -> Any:
    """The axes given, or those of a new figure with room for so many lines of text."""
    require("matplotlib", "whyflag.plot", extra="plot")
    if ax is None:
        import matplotlib.pyplot as plt

        size = (width, max(2.2, 1.2 + height * n_lines))
        _, ax = plt.subplots(figsize=size, layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    ax.use_sticky_edges = False  # margins on both sides of bars
    return ax


def check_row(attribution: Attribution, row: int) -> int:
    """The position of a row, counted from the end if it is negative."""
    if not -len(attribution) <= row < len(attribution):
        raise IndexError(f"`row` must be a position among {len(attribution)} rows, got {row}.")
    return range(len(attribution))[row]


def largest(values: Vector, most: int) -> tuple[IntVector, IntVector]:
    """Positions of the largest values by size, from the largest, and of the rest."""
    if most < 1:
        raise ValueError(f"`max_features` must be at least 1, got {most}.")
    order = np.argsort(-np.abs(values), kind="stable")
    return order[:most], order[most:]


def colour(value: float) -> str:
    """Warm for what raises the score, blue for what lowers it."""
    return RAISES if value >= 0 else LOWERS


def features_on_y(ax: Any, labels: list[str]) -> None:
    """Name the features on the vertical axis, the first at the top."""
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=GRID, lw=0.8)


def labelled(attribution: Attribution, row: int, feature: int) -> str:
    """The name of a feature with what it has in a row."""
    name = shorten(attribution.feature_names[feature])
    return f"{name} = {shorten(observed(attribution, row, feature), 16)}"


def title_of(attribution: Attribution, row: int) -> str:
    """What a row is, what its score, and by which method it is explained."""
    score = f"row {attribution.row_names[row]}: score {number(attribution.scores[row])}"
    if attribution.threshold is not None:
        score += f", alarm above {number(attribution.threshold)}"
    return f"{score} ({attribution.method})" if attribution.method else score
