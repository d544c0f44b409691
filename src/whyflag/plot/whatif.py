"""What would have been normal: observed values, and where they would have to go."""

from __future__ import annotations

from typing import Any

import numpy as np

from whyflag.arrays import Vector, check_rows
from whyflag.attribution import Attribution
from whyflag.attribution.display import held, observed, shorten
from whyflag.plot.style import INK, LOWERS, PALE, RAISES, check_row, new_axes, title_of


def whatif(
    attribution: Attribution,
    row: int = 0,
    *,
    background: Any = None,
    max_features: int = 8,
    ax: Any = None,
) -> Any:
    """Draw what was observed in a row, and what would have been normal with the rest as it is.

    A feature that does not have to change has a single point.

    Args:
        attribution: What is drawn: what an Explainer or an Ensemble returned.
        row: Position of a row.
        background: Normal rows, (n, d): their middle 90 % is shown behind each feature.
        max_features: The features with the largest attributions.
        ax: Axes to draw into.
    """
    # Repairs are searched for when they are asked for: this row's will do.
    attribution, row = attribution[check_row(attribution, row)], 0
    repaired, changed = attribution.repair.told
    d = attribution.data.shape[1]
    normal = None if background is None else check_rows(background, d, name="background")
    blamed = attribution.order[row, :max_features]
    # A group has no one value to draw: the columns of its own that move most stand for it.
    columns = [_mover(attribution, repaired[row], row, j) for j in blamed]
    ax = new_axes(ax, len(columns), height=0.5)
    labels = []
    for y, (feature, column) in enumerate(zip(blamed, columns, strict=True)):
        value, target = attribution.data[row, column], repaired[row, column]
        unit = abs(value - target) or 1.0
        if normal is not None:
            low, middle, high = np.percentile(normal[:, column], [5, 50, 95])
            unit = max(high - low, abs(value - target), 1e-300)
            ax.barh(
                y,
                (high - low) / unit,
                left=(low - target) / unit,
                color="#d9d9e0",
                height=0.5,
            )
            ax.plot([(middle - target) / unit] * 2, [y - 0.25, y + 0.25], color=PALE, lw=1.2)
        start = (value - target) / unit
        ax.plot(start, y, "o", color=RAISES, ms=7)
        if changed[row, feature]:
            low, high = (
                (end[row, column] - target) / unit
                for end in (attribution.repair.lower, attribution.repair.upper)
            )
            if np.isfinite(low):  # none of a category, or where the alarm goes on
                ax.plot([low, high], [y, y], color=LOWERS, lw=5, alpha=0.35)
            ax.annotate(
                "",
                (0, y),
                xytext=(start, y),
                arrowprops={
                    "arrowstyle": "->",
                    "color": INK,
                    "lw": 1.2,
                    "shrinkA": 4,
                    "shrinkB": 4,
                },
            )
            ax.plot(0, y, "o", color=LOWERS, ms=7)
        texts = (
            (start, observed(attribution, row, feature), start >= 0),
            (0, held(attribution, repaired[row], feature), start < 0),
        )[: 1 + bool(changed[row, feature])]
        for x, text, right in texts:
            ax.annotate(
                text,
                (x, y),
                xytext=(8 if right else -8, 0),
                textcoords="offset points",
                ha="left" if right else "right",
                va="center",
            )
        labels.append(shorten(attribution.feature_names[feature]))
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.set_xticks([])
    ax.margins(x=0.2)
    ax.spines[["bottom", "left"]].set_visible(False)
    ax.set_xlabel("observed (orange) → would have been normal (blue, with its range)")
    ax.set_title(title_of(attribution, row), loc="left")
    return ax


def _mover(attribution: Attribution, normal: Vector, row: int, feature: int) -> int:
    own = np.flatnonzero(attribution.membership[feature])
    moved = np.abs(attribution.data[row, own] - normal[own])
    return int(own[np.argmax(moved)])
