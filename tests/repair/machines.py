"""Machines whose columns are of every kind, and rows of them that are wrong."""

import numpy as np
import pandas as pd

from whyflag import Domain, Explainer
from whyflag.detectors import GMM

COLOURS = ("red", "green", "blue")


def machines(n, seed=0):
    """Year, power (to 0.1), doors (2, 3 or 5), a colour that goes with the power; a constant."""
    rng = np.random.default_rng(seed)
    year = rng.integers(1990, 2025, size=n)
    power = (50 + 2 * (year - 1990) + rng.normal(0, 4, n)).round(1)
    doors = rng.choice([2, 3, 5], size=n)
    colour = np.digitize(power + rng.normal(0, 3, n), [75, 95])
    return pd.DataFrame(
        {
            "year": year.astype(float),
            "power": power,
            "doors": doors.astype(float),
            **{f"is {name}": (colour == k).astype(float) for k, name in enumerate(COLOURS)},
            "wheels": 4.0,
        }
    )


NORMAL, HELD_OUT = machines(800), machines(200, seed=1)
GROUPS = {"colour": [f"is {name}" for name in COLOURS]}
DOMAIN = Domain.infer(
    NORMAL, bounded=True, players=GROUPS, categories={"colour": COLOURS}, fixed=["wheels"]
)
DETECTOR = GMM(3, random_state=0).fit(NORMAL)
EXPLAIN = Explainer(DETECTOR, NORMAL, domain=DOMAIN)
QUIET = HELD_OUT[EXPLAIN.score(HELD_OUT.to_numpy()) < EXPLAIN.score.threshold - 1]


def spoilt(column, change, n=15):
    """Rows in which one value is wrong, and the rows as they were."""
    truth = QUIET.iloc[:n].copy()
    wrong = truth.copy()
    wrong[column] = change(wrong[column])
    return wrong, truth
