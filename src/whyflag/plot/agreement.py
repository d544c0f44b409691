"""Agreement: what the members of an ensemble say."""

from __future__ import annotations

from typing import Any

import numpy as np

from whyflag.attribution import Attribution
from whyflag.attribution.display import number, shorten
from whyflag.plot.style import check_row, features_on_y, largest, new_axes

# Okabe and Ito's palette, and a mark of its own for each member.
COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8a8a94")
MARKS = ("o", "s", "D", "^", "v", "P", "X", "*")


def agreement(
    attribution: Attribution, row: int | None = None, *, max_features: int = 10, ax: Any = None
) -> Any:
    """Draw the shares by each member of an ensemble in a row; without one, how far pairs agree.

    Args:
        attribution: An ensemble's.
        row: Position of a row.
        max_features: The features with the largest shares.
        ax: Axes to draw into.
    """
    agreed = attribution.agreement  # says so if there are no members
    if row is None:
        return _pairs(attribution, ax)
    row = check_row(attribution, row)
    shares = np.array([member.shares[row] for member in attribution.members])  # k x p
    shown, rest = largest(shares.mean(axis=0), max_features)
    ax = new_axes(ax, len(shown))
    for k, member in enumerate(attribution.members):
        ax.plot(
            shares[k, shown],
            np.arange(len(shown)),
            marker=MARKS[k % len(MARKS)],
            ls="",
            color=COLOURS[k % len(COLOURS)],
            label=member.method,
            alpha=0.85,
            ms=8,
        )
    for y, j in enumerate(shown):
        ax.hlines(y, shares[:, j].min(), shares[:, j].max(), color="#c9c9d0", lw=2, zorder=1)
    features_on_y(ax, [shorten(attribution.feature_names[j]) for j in shown])
    ax.set_xlim(left=0)
    ax.margins(x=0.08)
    ax.set_xlabel("share of the score")
    ax.legend(frameon=False)
    others = f", {len(rest)} features not shown" if len(rest) else ""
    name = attribution.row_names[row]
    ax.set_title(f"row {name}: agreement {number(agreed[row])}{others}", loc="left")
    return ax


def _pairs(attribution: Attribution, ax: Any) -> Any:
    shares = [member.shares for member in attribution.members]
    common = np.array(
        [[np.minimum(one, other).sum(axis=1).mean() for other in shares] for one in shares]
    )  # k x k
    names = [member.method for member in attribution.members]
    ax = new_axes(ax, len(names), width=2.5 + 0.7 * len(names), height=0.6)
    ax.imshow(common, cmap="cividis", vmin=0, vmax=1)
    for i, j in np.ndindex(common.shape):
        shade = "#000000" if common[i, j] > 0.6 else "#ffffff"
        ax.text(j, i, f"{common[i, j]:.2f}", ha="center", va="center", color=shade)
    ax.set_xticks(range(len(names)), names, rotation=45, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(len(names)), names)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_title(f"shares in common, mean over {len(attribution)} rows", loc="left")
    return ax
