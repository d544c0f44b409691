"""Waterfall: how the attributions of a row lead from what is normal to its score."""

from __future__ import annotations

from typing import Any

from whyflag.attribution import Attribution
from whyflag.attribution.display import number
from whyflag.plot.style import (
    INK,
    PALE,
    check_row,
    colour,
    features_on_y,
    labelled,
    largest,
    new_axes,
    title_of,
)


def waterfall(
    attribution: Attribution, row: int = 0, *, max_features: int = 12, ax: Any = None
) -> Any:
    """Draw how the attributions of a row add up: from the base value to the score.

    Args:
        attribution: What is drawn; by a method whose values are parts of the score.
        row: Position of a row.
        max_features: The features with the largest attributions; the rest is one step.
        ax: Axes to draw into.
    """
    if not attribution.additive:
        raise ValueError(
            f"Values by {attribution.method} do not add up to the score; plot.bar shows them."
        )
    row = check_row(attribution, row)
    values = attribution.values[row]
    shown, rest = largest(values, max_features)
    ax = new_axes(ax, len(shown) + bool(len(rest)))
    # From the top, which is the score, down to what is normal.
    steps = [(values[j], labelled(attribution, row, j), colour(values[j])) for j in shown]
    if len(rest):
        steps.append((values[rest].sum(), f"{len(rest)} others", PALE))
    end = attribution.scores[row]
    for y, (value, _, shade) in enumerate(steps):
        ax.barh(y, value, left=end - value, color=shade, height=0.7)
        ax.annotate(
            f"{value:+.4g}",
            (max(end, end - value), y),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
        )
        end -= value
        if y + 1 < len(steps):
            ax.plot([end, end], [y - 0.35, y + 1.35], color=PALE, lw=0.8)
    features_on_y(ax, [label for _, label, _ in steps])
    ax.margins(x=0.14)
    base, score = attribution.base_values[row], attribution.scores[row]
    ax.axvline(base, color=INK, lw=0.8, ls=":")
    ax.axvline(score, color=INK, lw=0.8)
    if attribution.threshold is not None:
        ax.axvline(attribution.threshold, color=INK, lw=0.8, ls="--")
    ax.set_xlabel(f"score: from {number(base)}, which is normal, to {number(score)}")
    ax.set_title(title_of(attribution, row), loc="left")
    return ax
