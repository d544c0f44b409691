"""Detectors in the shapes of the paper's data sets: their numbers of features, random otherwise."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from sklearn.ensemble import IsolationForest

from benchmarks.worlds import correlated_rows, random_mixture
from whyflag import as_score
from whyflag.arrays import Matrix
from whyflag.detectors import VAE
from whyflag.score import Score, unit_from

SHAPES = (6, 9, 10, 59, 166, 274)  # Thyroid, Breastw, U2R, Lympho, Musk, Arrhythmia
N_NORMAL = 500
COMPONENTS = 4


@cache
def score_of(kind: str, d: int) -> Score:
    """The score of a detector of d features: "GMM", "VAE" or "forest"."""
    if kind == "GMM":
        return random_mixture(d, COMPONENTS, 100.0, seed=0)
    detector: Any
    if kind == "VAE":
        # Of the paper's smallest grid, so that the time goes into scoring.
        detector = VAE(latent=max(2, d // 5), hidden=max(4, d // 2), random_state=0)
    else:
        detector = IsolationForest(random_state=0)
    normal = normal_rows(kind, d)
    score = as_score(detector.fit(normal))
    if score.unit is not None:
        return score
    return replace(score, unit=unit_from(score(normal), d))


@cache
def normal_rows(kind: str, d: int) -> Matrix:
    """Background rows that go with it."""
    if kind == "GMM":
        return np.random.default_rng(0).normal(size=(N_NORMAL, d))
    return correlated_rows(N_NORMAL, d, seed=1)


def rows_to_explain(kind: str, d: int, n: int) -> Matrix:
    """Rows that stand out: of a world twice as wide, or with some values moved."""
    if kind == "GMM":
        return 2 * np.random.default_rng(1).normal(size=(n, d))
    rows = correlated_rows(n, d, seed=2)
    rows[:, ::3] += 3 * rows[:, ::3].std(axis=0) if n > 1 else 3.0
    return rows
