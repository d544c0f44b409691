"""Gaussian mixtures to measure on."""

from __future__ import annotations

import numpy as np

from whyflag.arrays import Matrix
from whyflag.detectors.mixture import MixtureEnergy


def random_covariance(d: int, condition: float, rng: np.random.Generator) -> Matrix:
    """A covariance with eigenvalues spread evenly, in logarithm, from 1 / condition to 1."""
    rotation, _ = np.linalg.qr(rng.normal(size=(d, d)))
    eigenvalues = np.exp(rng.uniform(-np.log(condition), 0, size=d))
    return (rotation * eigenvalues) @ rotation.T


def random_mixture(d: int, k: int, condition: float, seed: int) -> MixtureEnergy:
    """A mixture of k overlapping components with such covariances."""
    rng = np.random.default_rng(seed)
    covariances = np.array([random_covariance(d, condition, rng) for _ in range(k)])
    return MixtureEnergy(rng.dirichlet(np.full(k, 5.0)), rng.normal(size=(k, d)), covariances)
