"""Small worlds that several tests live in."""

from __future__ import annotations

import numpy as np

from whyflag.arrays import BoolMatrix, IntVector, Matrix, Vector
from whyflag.detectors.mixture import MixtureEnergy
from whyflag.minimise.problem import Problems


def random_covariance(d: int, condition: float, rng: np.random.Generator) -> Matrix:
    """A covariance with eigenvalues spread evenly, in logarithm, from 1 / condition to 1."""
    rotation, _ = np.linalg.qr(rng.normal(size=(d, d)))
    eigenvalues = np.exp(rng.uniform(-np.log(condition), 0, size=d))
    return (rotation * eigenvalues) @ rotation.T


def random_mixture(d: int, k: int, condition: float, seed: int) -> MixtureEnergy:
    rng = np.random.default_rng(seed)
    covariances = np.array([random_covariance(d, condition, rng) for _ in range(k)])
    return MixtureEnergy(rng.dirichlet(np.full(k, 5.0)), rng.normal(size=(k, d)), covariances)


def random_coalitions(m: int, p: int, seed: int) -> BoolMatrix:
    return np.random.default_rng(seed).random((m, p)) < 0.5


def adam(problems: Problems, n_steps: int = 2000, step: float = 0.01) -> tuple[Matrix, Vector]:
    """Plain Adam on every problem of a batch, for unbounded problems; moves and losses."""
    which: IntVector = np.arange(len(problems))
    u = problems.start.copy()
    first, second = np.zeros_like(u), np.zeros_like(u)
    for t in range(1, n_steps + 1):
        _, gradient, _ = problems.loss_and_grad(u, which)
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        u = u - step * (first / (1 - 0.9**t)) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
    return u, problems.loss(u, which)
