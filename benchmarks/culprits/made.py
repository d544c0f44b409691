"""Made rows of known structure: how columns go together, in seven ways."""

from __future__ import annotations

import numpy as np

from whyflag.arrays import Matrix

Generator = np.random.Generator


def in_units(rows: Matrix, rng: Generator) -> Matrix:
    """The same rows with each column in a unit and with an origin of its own."""
    d = rows.shape[1]
    return rows * rng.permutation(np.geomspace(0.1, 10, d)) + rng.normal(size=d)


def gaussian(n: int, d: int, rng: Generator) -> Matrix:
    """Columns that follow a few hidden causes."""
    causes = rng.normal(size=(2 + d // 6, d)) / np.sqrt(2 + d // 6)
    rows = rng.normal(size=(n, len(causes))) @ causes + 0.4 * rng.normal(size=(n, d))
    return in_units(rows, rng)


def curved(n: int, d: int, rng: Generator) -> Matrix:
    """Waves and squares of three hidden positions, with a little noise."""
    t = rng.uniform(-1, 1, size=(n, 3)) @ rng.normal(size=(3, d))  # n x d
    shapes = np.stack([np.sin(2 * t), np.cos(2 * t), t**2])  # 3 x n x d
    rows = shapes[np.arange(d) % 3, :, np.arange(d)].T  # n x d
    return in_units(rows + 0.1 * rng.normal(size=(n, d)), rng)


def clusters(n: int, d: int, rng: Generator) -> Matrix:
    """Four groups, each with a centre and with bonds of its own."""
    centres = 2 * rng.normal(size=(4, d))
    bonds = rng.normal(size=(4, 3, d)) / np.sqrt(3)
    group = rng.integers(4, size=n)
    inside = np.einsum("nk,nkd->nd", rng.normal(size=(n, 3)), bonds[group])
    return in_units(centres[group] + inside + 0.3 * rng.normal(size=(n, d)), rng)


def heavy(n: int, d: int, rng: Generator) -> Matrix:
    """Student's t with three degrees of freedom; every third column is log-normal."""
    causes = rng.normal(size=(2 + d // 6, d)) / np.sqrt(2 + d // 6)
    rows = rng.normal(size=(n, len(causes))) @ causes + 0.4 * rng.normal(size=(n, d))
    rows = rows / np.sqrt(rng.chisquare(3, size=(n, 1)) / 3)
    rows[:, ::3] = np.exp(rows[:, ::3].clip(-8, 8) / 2)
    return in_units(rows, rng)


def integers(n: int, d: int, rng: Generator) -> Matrix:
    """Counts whose rates follow two hidden causes."""
    causes = 0.4 * rng.normal(size=(2, d))
    rate = np.exp(rng.uniform(0.5, 3, size=d) + rng.normal(size=(n, 2)) @ causes)
    return rng.poisson(rate).astype(np.float64)


def collinear(n: int, d: int, rng: Generator) -> Matrix:
    """A third of the columns is free; the others are sums of them, but for a hundredth."""
    free = rng.normal(size=(n, max(2, d // 3)))
    weights = rng.normal(size=(free.shape[1], d - free.shape[1])) / np.sqrt(free.shape[1])
    rows = np.hstack([free, free @ weights])
    return in_units(rows + 0.01 * rng.normal(size=(n, d)), rng)


def mixed(n: int, n_real: int, sizes: tuple[int, ...], rng: Generator) -> Matrix:
    """Real columns and one-hot categories that follow the same two causes: reals first."""
    causes = rng.normal(size=(n, 2))
    real = causes @ rng.normal(size=(2, n_real)) + 0.4 * rng.normal(size=(n, n_real))
    hot = []
    for size in sizes:
        leaning = 2 * causes @ rng.normal(size=(2, size)) + rng.gumbel(size=(n, size))
        hot.append(np.eye(size)[leaning.argmax(axis=1)])
    return np.hstack([in_units(real, rng), *hot])
