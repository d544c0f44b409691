"""Gaussian mixtures and rows to measure on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from whyflag.arrays import BoolMatrix, IntVector, Matrix
from whyflag.score import Score
from whyflag.score.mixture import MixtureEnergy


def random_covariance(d: int, condition: float, rng: np.random.Generator) -> Matrix:
    """A covariance with eigenvalues spread evenly, in logarithm, from 1 / condition to 1."""
    rotation, _ = np.linalg.qr(rng.normal(size=(d, d)))
    eigenvalues = np.exp(rng.uniform(-np.log(condition), 0, size=d))
    return (rotation * eigenvalues) @ rotation.T


def random_mixture(d: int, k: int, condition: float, seed: int) -> Score:
    """A mixture of k overlapping components with such covariances."""
    rng = np.random.default_rng(seed)
    covariances = np.array([random_covariance(d, condition, rng) for _ in range(k)])
    log_weights = np.log(rng.dirichlet(np.full(k, 5.0)))
    return MixtureEnergy(log_weights, rng.normal(size=(k, d)), covariances).to_score()


def correlated_rows(n: int, d: int = 8, *, seed: int) -> Matrix:
    """Rows of d sensors that follow three hidden causes, each sensor in units of its own."""
    causes = np.random.default_rng(0).normal(size=(3, d))  # the same world for every seed
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 3)) @ causes + 0.5 * rng.normal(size=(n, d))
    return rows * np.geomspace(0.1, 10, d) + np.arange(d)


def mixed_rows(d: int, n: int = 3000) -> tuple[Matrix, Matrix]:
    """Normal rows, and rows with one value moved."""
    rng = np.random.default_rng(0)
    mix = np.eye(d) + 0.5 * rng.normal(size=(d, d)) / np.sqrt(d)
    normal, rows = rng.normal(size=(n, d)) @ mix, rng.normal(size=(20, d)) @ mix
    rows[np.arange(20), rng.integers(0, d, 20)] += 5
    return normal, rows


def benign_tumours() -> Matrix:
    """The benign rows of scikit-learn's breast-cancer data, 357 x 30."""
    X, benign = load_breast_cancer(return_X_y=True)
    return np.asarray(X[benign == 1])


# Data that come with scikit-learn, or are drawn: none of the paper's data sets is among them.
WORLDS: dict[str, Callable[[], Matrix]] = {
    "8 sensors": lambda: correlated_rows(600, 8, seed=1),
    "20 sensors": lambda: correlated_rows(600, 20, seed=1),
    "tumours": benign_tumours,
    "wine": lambda: np.asarray(load_wine().data),
    "diabetes": lambda: np.asarray(load_diabetes(scaled=False).data),
}


def spoil(kind: str, rows: Matrix, normal: Matrix, seed: int) -> tuple[Matrix, BoolMatrix]:
    """Make rows anomalous in one of five ways; also tell which values were changed.

    Args:
        kind: "shift" (one value, by 1 to 2 standard deviations), "swap" (one value is that of
            another row), "scale" (one value is three times as far from its mean), "pair" (the two
            features that go together most get values of other rows, each from its own), "three"
            (three values shifted).
        rows: Normal rows, (n, d).
        normal: Rows to take means, deviations and values from.
        seed: Seed of the choices.
    """
    rng = np.random.default_rng(seed)
    n, d = rows.shape
    mean, deviation = normal.mean(axis=0), normal.std(axis=0)
    guilty = np.zeros((n, d), dtype=np.bool_)
    if kind == "pair":
        together = np.abs(np.corrcoef(normal.T)) - np.eye(d)
        guilty[:, list(np.unravel_index(together.argmax(), together.shape))] = True
    else:
        keys = rng.random((n, d))
        count = 3 if kind == "three" else 1
        np.put_along_axis(guilty, np.argsort(keys, axis=1)[:, :count], True, axis=1)
    others = normal[rng.integers(len(normal), size=(n, d)), np.arange(d)]
    noise = rng.uniform(1, 2, size=(n, d)) * rng.choice([-1, 1], size=(n, d))
    changed = {
        "shift": rows + noise * deviation,
        "three": rows + noise * deviation,
        "swap": others,
        "pair": others,
        "scale": mean + 3 * (rows - mean),
    }[kind]
    return np.where(guilty, changed, rows), guilty


KINDS = ("shift", "swap", "scale", "pair", "three")


def plant(rows: Matrix, sigmas: float, *, seed: int) -> tuple[Matrix, IntVector]:
    """Move one value of each row, up or down; also tell which."""
    rng = np.random.default_rng(seed)
    n, d = rows.shape
    culprits = rng.integers(d, size=(n,))
    planted = rows.copy()
    planted[np.arange(n), culprits] += (
        sigmas * rng.choice([-1, 1], size=n) * rows.std(axis=0)[culprits]
    )
    return planted, culprits
