"""Heatmap: rows by features."""

from __future__ import annotations

from typing import Any

import numpy as np

from whyflag.attribution import Attribution
from whyflag.attribution.display import number, shorten
from whyflag.plot.style import LOWERS, RAISES, largest, new_axes


def heatmap(
    attribution: Attribution, *, max_rows: int = 40, max_features: int = 24, ax: Any = None
) -> Any:
    """Draw the attributions of many rows: the highest scores at the top.

    Args:
        attribution: What is drawn.
        max_rows: The rows with the highest scores.
        max_features: The features with the largest attributions on average.
        ax: Axes to draw into.
    """
    if max_rows < 1:
        raise ValueError(f"`max_rows` must be at least 1, got {max_rows}.")
    rows = np.argsort(-attribution.scores, kind="stable")[:max_rows]
    columns, _ = largest(np.abs(attribution.values).mean(axis=0), max_features)
    values = attribution.values[np.ix_(rows, columns)]  # rows x features
    ax = new_axes(ax, len(rows), width=max(5.0, 2.5 + 0.4 * len(columns)), height=0.26)
    from matplotlib.colors import LinearSegmentedColormap

    # What is beyond the 98th percentile has the last colour, lest one cell bleach the rest.
    most = float(np.percentile(np.abs(values), 98)) or float(np.abs(values).max()) or 1.0
    colours = LinearSegmentedColormap.from_list("whyflag", [LOWERS, "#ffffff", RAISES])
    image = ax.imshow(values, cmap=colours, vmin=-most, vmax=most, aspect="auto")
    names = [shorten(str(attribution.row_names[i]), 16) for i in rows]
    scores = [number(attribution.scores[i]) for i in rows]
    ax.set_yticks(range(len(rows)), [f"{n}: {s}" for n, s in zip(names, scores, strict=True)])
    ax.set_ylabel("row: score")
    ax.set_xticks(
        range(len(columns)),
        [shorten(attribution.feature_names[j]) for j in columns],
        rotation=60,
        ha="right",
        rotation_mode="anchor",
    )
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.figure.colorbar(image, ax=ax, label="attribution", extend="both", fraction=0.05)
    left_out = [
        f"{n - some} of {n} {what} not shown"
        for n, some, what in (
            (len(attribution), len(rows), "rows"),
            (attribution.values.shape[1], len(columns), "features"),
        )
        if some < n
    ]
    ax.set_title(", ".join(left_out), loc="left", fontsize="small")
    return ax
