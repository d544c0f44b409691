"""Scores that are a sum of products over columns, or its logarithm."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np

from whyflag.arrays import IntVector, Matrix, Tensor, Vector
from whyflag.score.ability import Ability
from whyflag.score.map import Map


@final
@dataclass(frozen=True, eq=False)
class Products(Ability):
    """e(x) = c − f(Σ_j w_j Π_i exp(−γ (z_i − s_ji)²)), where f is the logarithm or nothing.

    A Gaussian kernel is a product over columns.

    Attributes:
        support: The rows s that kernels stand at, (m, k).
        weights: w, (m,); none negative if there is a logarithm.
        rate: γ.
        constant: c.
        logarithm: Whether f is the logarithm.
        sources: The column of x that each column of z is made of, (k,).
        steps: The maps from x to z, one after another.
    """

    meaning: ClassVar[str] = (
        "a score that is a sum of products over columns, such as a Gaussian kernel density"
    )

    support: Matrix
    weights: Vector
    rate: float
    constant: float
    logarithm: bool
    sources: IntVector
    steps: tuple[Map, ...] = ()

    def exponents(self, X: Matrix, player: IntVector, p: int) -> Tensor:
        """−γ Σ_{i of a player} (z_i − s_ji)², log of each player's factor: (n, d) -> (n, p, m).

        Args:
            X: The rows.
            player: The player that each column of x belongs to, (d,).
            p: Number of players.
        """
        for step in self.steps:
            X = step(X)
        sums = np.zeros((len(X), p, len(self.support)))
        with np.errstate(over="ignore"):  # beyond 10¹⁵⁴ a factor is zero all the same
            for z, s, source in zip(X.T, self.support.T, self.sources, strict=True):
                away = z[:, None] - s  # n x m
                sums[:, player[source]] -= self.rate * away**2
        return sums

    def after(self, step: Map) -> Products | None:
        """What is left if each column that comes out is made of one that goes in."""
        if step.sources is None:
            return None
        return replace(self, sources=step.sources[self.sources], steps=(step, *self.steps))
