"""Bars: the attributions of a row, or the mean shares over all rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from whyflag.attribution import Attribution
from whyflag.attribution.display import shorten
from whyflag.plot.style import (
    INK,
    PALE,
    RAISES,
    check_row,
    colour,
    features_on_y,
    labelled,
    largest,
    new_axes,
    title_of,
)


def bar(
    attribution: Attribution, row: int | None = None, *, max_features: int = 12, ax: Any = None
) -> Any:
    """Draw the attributions of one row, or, without one, the mean shares over all rows.

    Error bars are two standard errors, where the method has them.

    Args:
        attribution: What is drawn.
        row: Position of a row.
        max_features: The features with the largest attributions; the rest is one bar.
        ax: Axes to draw into.
    """
    if row is None:
        return _overall(attribution, max_features, ax)
    row = check_row(attribution, row)
    values = attribution.values[row]
    shown, rest = largest(values, max_features)
    errors = np.zeros(len(values))
    if attribution.standard_errors is not None:
        errors = np.nan_to_num(2 * attribution.standard_errors[row], posinf=0.0)
    ax = new_axes(ax, len(shown) + bool(len(rest)))
    labels = []
    for y, j in enumerate(shown):
        ax.barh(y, values[j], color=colour(values[j]), height=0.7)
        if errors[j] > 0:
            ax.errorbar(values[j], y, xerr=errors[j], color=INK, capsize=3, lw=1.2)
        labels.append(labelled(attribution, row, j))
    if len(rest):
        ax.barh(len(shown), values[rest].sum(), color=PALE, height=0.7)
        labels.append(f"{len(rest)} others")
    features_on_y(ax, labels)
    ax.axvline(0, color=INK, lw=0.8)
    ax.margins(x=0.08)
    ax.set_xlabel("part of the score" if attribution.additive else "attribution")
    ax.set_title(title_of(attribution, row), loc="left")
    return ax


def _overall(attribution: Attribution, max_features: int, ax: Any) -> Any:
    share = attribution.shares.mean(axis=0)
    shown, rest = largest(share, max_features)
    ax = new_axes(ax, len(shown) + bool(len(rest)))
    ax.barh(range(len(shown)), share[shown], color=RAISES, height=0.7)
    labels = [shorten(attribution.feature_names[j]) for j in shown]
    if len(rest):
        ax.barh(len(shown), share[rest].sum(), color=PALE, height=0.7)
        labels.append(f"{len(rest)} others")
    for y, value in enumerate([*share[shown], *([share[rest].sum()] if len(rest) else [])]):
        ax.annotate(
            f"{value:.0%}", (value, y), xytext=(4, 0), textcoords="offset points", va="center"
        )
    features_on_y(ax, labels)
    ax.margins(x=0.12)
    ax.set_xlim(left=0)
    ax.set_xlabel(f"share of the score, mean over {len(attribution)} rows")
    return ax
