"""What pairs of coalitions tell about interactions, and these about Shapley values.

With σ_i = 1 for members and −1 for others, a game is a sum of terms c_T Π_{i∈T} σ_i, and what a
coalition has over its complement is twice its terms of odd order, the only ones that Shapley values
depend on: 2 c_T / |T| for each i ∈ T (Fumagalli et al. 2026). A regression on single players takes
all but the first order for noise. But part of the rest is likely to be

- of third order, all c_T alike;
- players whose worth depends on how many others are there: σ_i z² and σ_i z⁴, z the mean of all σ.

Of what the regression leaves, such a game g has a covariance K with itself and C with its Shapley
values, both in closed form, so that no term is ever written out. The best linear prediction ĝ from
the pairs corrects the regression A: φ̂ = A (u − ĝ) + φ(ĝ). What ĝ does not have is estimated as
before. A game that has nothing of it, pure noise, has errors 3 to 11 % larger. Proportions were
chosen on games of 30 and 59 players (docs/performance.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from whyflag.arrays import BoolMatrix, Matrix, Vector

THIRD, BY_SIZE, NOISE = 2.0, 1.0, 1.0  # variance of third order, of each power of z, of the rest
MOST_PAIRS = 2**11  # whose covariance is kept: 32 MB


@final
@dataclass(frozen=True)
class Interactions:
    """What the residuals of a regression on single players tell.

    Attributes:
        correction: Of each player's value by the residual of each pair, (p, h).
        unexpected: What each pair has that the residuals of all others do not let expect, from the
            residuals, (h, h).
    """

    correction: Matrix
    unexpected: Matrix

    @classmethod
    def of(cls, half: BoolMatrix, influence: Matrix, excess: Matrix) -> Interactions | None:
        """Those of pairs, one coalition of each, bool (h, p), for a regression on them.

        None where pairs are too few to leave anything, or too many.

        Args:
            half: One coalition of each pair.
            influence: A, (p, h).
            excess: What the regression makes of values, over 2, (h, p).
        """
        h, p = half.shape
        if p < 4 or not 2 * p <= h <= MOST_PAIRS:
            return None

        def left(matrix: Matrix) -> Matrix:
            """Of columns what the regression leaves."""
            return matrix - 2 * excess @ (influence @ matrix)

        covariance, with_values = NOISE * np.eye(h), np.zeros((h, p))
        for variance, own, shares in _likely(np.where(half, 1.0, -1.0)):
            residual = left(left(own).T)  # h x h
            unit = variance * h / np.trace(residual)
            covariance += unit * residual
            with_values += unit * left(shares - own @ influence.T)
        inverse = cho_solve(cho_factor(covariance), np.eye(h))
        # With the regression free, so that a pair left out is out of that as well.
        by_excess = inverse @ excess  # h x p
        alone = inverse - by_excess @ np.linalg.pinv(excess.T @ by_excess) @ by_excess.T
        return cls(with_values.T @ inverse, alone / np.diag(alone)[:, None])


def _likely(sigma: Matrix) -> Iterator[tuple[float, Matrix, Matrix]]:
    """Games that are likely: variance, covariances of pairs, (h, h), and with values, (h, p).

    Both are of what a pair has over at fair shares, u = f(S) − f(Sᶜ) − z (f(D) − f(∅)), and of
    values beyond fair shares.
    """
    p = sigma.shape[1]
    z = sigma.mean(axis=1)
    yield THIRD, *_third_order(sigma, z)
    sizes = 2 * np.arange(p + 1) / p - 1  # z of all sizes
    for power in (2, 4):
        over = 2 * (sigma * z[:, None] ** power - z[:, None])  # h x p, one game for each player
        # f = σ_i z^k goes from −1 to 1: the player's own part, and that of each other one.
        own = (sizes[1:] ** power + sizes[:-1] ** power).mean()
        other = (2 - own) / (p - 1)
        value = np.full((p, p), other) + (own - other) * np.eye(p) - 2 / p
        yield BY_SIZE, over @ over.T, over @ value


def _third_order(sigma: Matrix, z: Vector) -> tuple[Matrix, Matrix]:
    """Σ_T u_T u_Tᵀ and Σ_T u_T φ_Tᵀ over all T of three players."""
    _, p = sigma.shape
    n_terms = p * (p - 1) * (p - 2) / 6
    total = p * z  # Σ σ
    ends = _triples(total, p)  # h: f(S), where each term is 1 with all present
    covariance = _triples(sigma @ sigma.T, p)  # h x h
    covariance -= np.outer(ends, z) + np.outer(z, ends)
    covariance += n_terms * np.outer(z, z)
    others = total[:, None] - sigma  # h x p: Σ σ of all others, of whom two join a player
    shares = sigma * (others**2 - (p - 1)) / 2 - (p - 1) * (p - 2) / 2 * z[:, None]
    shares -= shares.mean(axis=1, keepdims=True)
    return 4 * covariance, 4 / 3 * shares


def _triples(total: Matrix | Vector, p: int) -> Matrix | Vector:
    """Σ_{i<j<k} t_i t_j t_k of p numbers ±1 by their sum."""
    return total * (total**2 - (3 * p - 2)) / 6
