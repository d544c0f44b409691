"""Beeswarm: the attributions of all rows, feature by feature."""

from __future__ import annotations

from typing import Any

import numpy as np

from whyflag.arrays import IntVector, Vector
from whyflag.attribution import Attribution
from whyflag.attribution.display import shorten
from whyflag.plot.style import INK, features_on_y, largest, new_axes

BINS = 80  # dots in the same bin stand beside one another
HALF_LINE = 0.38


def beeswarm(attribution: Attribution, *, max_features: int = 12, ax: Any = None) -> Any:
    """Draw every row as a dot on the line of each feature, coloured by the feature's value.

    Args:
        attribution: What is drawn.
        max_features: The features with the largest attributions on average.
        ax: Axes to draw into.
    """
    shown, rest = largest(np.abs(attribution.values).mean(axis=0), max_features)
    ax = new_axes(ax, len(shown), height=0.42)
    level = attribution.data @ attribution.membership.T / attribution.membership.sum(axis=1)
    low, high = attribution.values[:, shown].min(), attribution.values[:, shown].max()
    dots = None
    for y, j in enumerate(shown):
        values = attribution.values[:, j]
        beside = _spread(np.digitize(values, np.linspace(low, high, BINS)))
        dots = ax.scatter(
            values,
            y + beside,
            c=_ranks(level[:, j]),
            cmap="cividis",
            vmin=0,
            vmax=1,
            s=14,
            linewidths=0,
        )
    features_on_y(ax, [shorten(attribution.feature_names[j]) for j in shown])
    ax.axvline(0, color=INK, lw=0.8)
    ax.set_xlabel("part of the score" if attribution.additive else "attribution")
    bar = ax.figure.colorbar(dots, ax=ax, fraction=0.04, ticks=[0, 1])
    bar.ax.set_yticklabels(["low", "high"])
    bar.set_label("value of the feature, by rank")
    if len(rest):
        ax.set_title(f"{len(rest)} of {attribution.values.shape[1]} features not shown", loc="left")
    return ax


def _spread(bins: IntVector) -> Vector:
    """Places above and below the line for dots that would hide one another."""
    beside = np.zeros(len(bins))
    counts = np.bincount(bins)
    step = min(0.08, 2 * HALF_LINE / max(1, counts.max()))
    for each in np.flatnonzero(counts > 1):
        members = np.flatnonzero(bins == each)
        k = np.arange(len(members))
        beside[members] = np.where(k % 2, 1, -1) * ((k + 1) // 2) * step
    return beside


def _ranks(values: Vector) -> Vector:
    """The rank of each value, from 0 to 1; equal values have the same."""
    distinct, position = np.unique(values, return_inverse=True)
    return position / max(1, len(distinct) - 1)
