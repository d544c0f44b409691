"""Which of several detectors finds anomalies that are planted in held-out rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from sklearn.base import clone

from whyflag.arrays import BoolMatrix, Matrix
from whyflag.calibration import alarm
from whyflag.detectors.base import Detector
from whyflag.metrics import auroc

MOST_ROWS = 2000  # that are looked at
HELD = 4  # one in so many of them is held out
FAR = 3.0  # deviations by which a number is moved
CLEARLY = 0.05  # by how much another detector must rank better than the first


@final
@dataclass(frozen=True)
class Found:
    """How well a detector finds planted anomalies.

    Attributes:
        ranked: How often one scores above a held-out row (AUROC).
        alarmed: The part of them that is above an alarm set by the held-out rows.
    """

    ranked: float
    alarmed: float


def choose_detector(
    detectors: Mapping[str, Detector], rows: Matrix, membership: BoolMatrix, seed: int = 0
) -> tuple[str, dict[str, Found]]:
    """The name of the one to take, and how well each of them finds planted anomalies.

    Of each held-out row a copy has one feature changed: it is that of another row, or a number is
    moved by three deviations. What counts is how often a copy scores above a held-out row (AUROC).
    The first detector is taken unless another is better by more than 0.05, and no fewer copies are
    above its alarm: where a few normal rows have huge scores, an alarm above these finds nothing.

    Args:
        detectors: Detectors by name; copies of them are fitted.
        rows: Normal rows, (n, d). Of more than 2,000 some are drawn.
        membership: Which columns each feature has, bool (p, d).
        seed: What is drawn follows from it.
    """
    rng = np.random.default_rng(seed)
    some = rows[rng.permutation(len(rows))[:MOST_ROWS]]
    n_held = max(1, len(some) // HELD)
    held, seen = some[:n_held], some[n_held:]
    planted = _planted(held, some, membership, rng)
    labels = np.repeat([False, True], n_held)
    found = {}
    for name, detector in detectors.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a copy: the one that is taken is fitted again
            copy: Any = clone(detector).fit(seen)
        scores = copy.to_score()(np.vstack([held, planted]))
        threshold, _ = alarm(scores[:n_held], detector.contamination)
        found[name] = Found(
            auroc(scores[None], labels[None]).value, float(np.mean(scores[n_held:] > threshold))
        )
    first = next(iter(found))
    better = [
        name
        for name, each in found.items()
        if each.ranked > found[first].ranked + CLEARLY and each.alarmed >= found[first].alarmed
    ]
    return max(better, key=lambda name: found[name].ranked, default=first), found


def _planted(
    held: Matrix, rows: Matrix, membership: BoolMatrix, rng: np.random.Generator
) -> Matrix:
    """Copies of rows with one feature changed in each."""
    planted, spread = held.copy(), rows.std(axis=0)
    numbers = np.array([len(np.unique(column)) > 2 for column in rows.T])
    for i in range(len(held)):
        columns = np.flatnonzero(membership[rng.integers(len(membership))])
        if len(columns) == 1 and numbers[columns[0]] and i % 2:
            planted[i, columns] += rng.choice([-FAR, FAR]) * spread[columns]
        else:
            planted[i, columns] = rows[rng.integers(len(rows)), columns]
    return planted
