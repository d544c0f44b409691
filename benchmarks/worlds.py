"""Gaussian mixtures and rows to measure on."""

from __future__ import annotations

import numpy as np

from whyflag.arrays import IntVector, Matrix
from whyflag.score.mixture import MixtureEnergy


def random_covariance(d: int, condition: float, rng: np.random.Generator) -> Matrix:
    """A covariance with eigenvalues spread evenly, in logarithm, from 1 / condition to 1."""
    rotation, _ = np.linalg.qr(rng.normal(size=(d, d)))
    eigenvalues = np.exp(rng.uniform(-np.log(condition), 0, size=d))
    return (rotation * eigenvalues) @ rotation.T


def random_mixture(d: int, k: int, condition: float, seed: int) -> MixtureEnergy:
    """A mixture of k overlapping components with such covariances."""
    rng = np.random.default_rng(seed)
    covariances = np.array([random_covariance(d, condition, rng) for _ in range(k)])
    log_weights = np.log(rng.dirichlet(np.full(k, 5.0)))
    return MixtureEnergy(log_weights, rng.normal(size=(k, d)), covariances)


def correlated_rows(n: int, d: int = 8, *, seed: int) -> Matrix:
    """Rows of d sensors that follow three hidden causes, each sensor in units of its own."""
    causes = np.random.default_rng(0).normal(size=(3, d))  # the same world for every seed
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 3)) @ causes + 0.5 * rng.normal(size=(n, d))
    return rows * np.geomspace(0.1, 10, d) + np.arange(d)


def plant(rows: Matrix, sigmas: float, *, seed: int) -> tuple[Matrix, IntVector]:
    """Move one value of each row, up or down; also tell which."""
    rng = np.random.default_rng(seed)
    n, d = rows.shape
    culprits = rng.integers(d, size=n)
    planted = rows.copy()
    planted[np.arange(n), culprits] += (
        sigmas * rng.choice([-1, 1], size=n) * rows.std(axis=0)[culprits]
    )
    return planted, culprits
