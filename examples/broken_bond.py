"""Two values that are each normal, and anomalous together: which methods see it?

A pump's flow follows its pressure. In the rows explained here both have values that are seen every
day, but not with one another. Draws docs/images/broken_bond.png, or the path that is given.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from whyflag import Attribution, Explainer
from whyflag.detectors import GMM
from whyflag.methods import METHODS

CULPRITS = ("pressure", "flow")
N_ROWS = 200
PICTURE = Path(__file__).parent.parent / "docs" / "images" / "broken_bond.png"


def pump(n: int, seed: int) -> pd.DataFrame:
    """Hours of a pump: flow follows pressure, vibration follows speed, the rest is on its own."""
    rng = np.random.default_rng(seed)
    pressure = rng.normal(5, 1, n)
    speed = rng.normal(1500, 100, n)
    return pd.DataFrame(
        {
            "pressure": pressure,
            "flow": 12 * pressure + rng.normal(0, 3, n),
            "temperature": rng.normal(60, 4, n),
            "speed": speed,
            "vibration": 0.002 * speed + rng.normal(0, 0.1, n),
            "oil level": rng.normal(0.8, 0.05, n),
        }
    )


def break_bond(rows: pd.DataFrame) -> pd.DataFrame:
    """Hours with pressure 0.7 to 1.5 deviations off its mean, and flow as far on the other side."""
    away = (rows["pressure"] - 5).abs()
    chosen = rows[away.between(0.7, 1.5)].head(N_ROWS).copy()
    chosen["flow"] = 2 * 60 - chosen["flow"]  # mirrored at its mean
    return chosen.reset_index(drop=True)


def both_first(attribution: Attribution) -> np.ndarray:
    """Whether the two culprits have the two largest attributions of a row."""
    guilty = [attribution.feature_names.index(name) for name in CULPRITS]
    return (np.sort(attribution.order[:, :2], axis=1) == sorted(guilty)).all(axis=1)


def draw(
    normal: pd.DataFrame, rows: pd.DataFrame, by_method: dict[str, Attribution], path: Path
) -> None:
    """The rows among normal ones, the first one's attributions, and how often both are found."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    guilty, other = "#d55e00", "0.65"
    figure, axes = plt.subplots(1, 4, figsize=(13, 3.4), width_ratios=[1.4, 1, 1, 1.2])
    axes[0].scatter(normal["pressure"], normal["flow"], s=3, color=other, label="normal")
    axes[0].scatter(rows["pressure"], rows["flow"], s=6, color=guilty, label="bond broken")
    axes[0].set(xlabel="pressure", ylabel="flow", title="Each normal, not together")
    axes[0].legend(frameon=False, loc="upper left", markerscale=3)
    for ax, name in zip(axes[1:3], ["marg", "ASH"], strict=True):
        first = by_method[name][0]
        colors = [guilty if feature in CULPRITS else other for feature in first.feature_names]
        ax.barh(first.feature_names, first.values[0], color=colors)
        ax.invert_yaxis()
        ax.set(title=f"{name}, one of the rows", xlabel="nats")
    axes[2].set_yticklabels([])
    found = {name: 100 * both_first(attribution).mean() for name, attribution in by_method.items()}
    bars = axes[3].barh(list(found), list(found.values()), color=other)
    axes[3].bar_label(bars, fmt="%.0f", padding=3)
    axes[3].invert_yaxis()
    axes[3].set(title="Both culprits first, % of rows", xlim=(0, 115), xticks=[0, 50, 100])
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(path: Path = PICTURE) -> None:
    """Explain the rows by every method, print how often it names both, and draw the picture."""
    normal = pump(1000, seed=0)
    rows = break_bond(pump(1000, seed=1))
    # A bond is all that is broken here, so the mixture is as tight as it: no floor to speak of.
    detector = GMM(reg_covar=1e-6, random_state=0).fit(normal)
    by_method = {name: Explainer(detector, normal, name)(rows) for name in METHODS}
    print(f"{len(rows)} hours in which pressure and flow do not go together.")
    print("Both have the two largest attributions:")
    for name, attribution in by_method.items():
        print(f"  {name:5}{both_first(attribution).mean():6.0%}")
    draw(normal, rows, by_method, path)
    print(f"Picture: {path}")


if __name__ == "__main__":
    main(*(Path(argument) for argument in sys.argv[1:2]))
