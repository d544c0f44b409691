"""How the paper splits a data set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from whyflag.arrays import Matrix
from whyflag_paper.datasets.catalogue import Dataset


@final
@dataclass(frozen=True, eq=False)
class Split:
    """Rows to train on, to select by, and to test with, standardised by the training rows.

    Binary columns are left as they are.
    """

    train: Matrix
    valid: Matrix
    test_normal: Matrix
    test_anomalous: Matrix


def split(dataset: Dataset, seed: int) -> Split:
    """All anomalies and as many normal rows to test with; of the others 80 % to train on."""
    normal = np.random.default_rng(seed).permutation(np.flatnonzero(~dataset.anomalous))
    n_test = int(dataset.anomalous.sum())
    n_train = round(0.8 * (len(normal) - n_test))
    test, train, valid = np.split(normal, [n_test, n_test + n_train])
    parts = [dataset.X[rows] for rows in (train, valid, test)] + [dataset.X[dataset.anomalous]]
    if not dataset.binary:
        mean, deviation = parts[0].mean(axis=0), parts[0].std(axis=0)
        # A column that does not change in the training rows keeps its unit.
        parts = [(part - mean) / np.where(deviation > 0, deviation, 1.0) for part in parts]
    return Split(*parts)
