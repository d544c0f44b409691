"""Which coalitions are asked for, and what each tells about each player."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import final

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix, Vector
from whyflag.shapley.design import design
from whyflag.shapley.interactions import MOST_PAIRS, Interactions


@final
@dataclass(frozen=True)
class Plan:
    """Pairs of coalitions, and what each tells about each player."""

    coalitions: BoolMatrix  # (2 + 2h) x p: none, all, one of each pair, then their complements
    excess: Matrix  # h x p: membership less its average over the players
    size: Vector  # h: share of the players in the coalition less that in its complement
    influence: Matrix  # p x h: value of each player for one unit that a pair has over
    unseen: Vector  # h: share of the pairs of this size that were not chosen
    interactions: Interactions | None = None

    def standard_errors(self, residual: Matrix) -> Matrix:
        """Standard errors from the residuals of the pairs: (r, h) -> (r, p).

        Pairs stand in the order of their sizes, so differences between neighbours are differences
        within a size: that serves few draws of a size as well as many, and one draw alone.
        """
        count = int(self._drawn.sum())
        if count < 2:
            # Exact if every coalition is there; else nothing tells how far off the values are.
            p = len(self.influence)
            return np.full((len(residual), p), 0.0 if self.complete else np.inf)
        error = residual[:, self._drawn]  # r x drawn
        # In parts of the largest: squares of gross scores are no numbers.
        largest = np.abs(error).max(axis=1, keepdims=True)
        error = np.divide(error, largest, out=np.zeros_like(error), where=largest > 0)
        squares, products = self._variance
        # Σ (u_k − u_{k+1})² / 2, multiplied out so that no array has rows x players x pairs.
        variance = error**2 @ squares - (error[:, 1:] * error[:, :-1]) @ products
        return largest * np.sqrt(np.maximum(variance, 0.0) * count / (count - 1))

    @cached_property
    def ordered(self) -> tuple[BoolMatrix, IntVector]:
        """The coalitions in the order of binary numbers, and where each of them stands.

        Points that follow each other are alike then, and go the same way through most trees.
        """
        order = np.lexsort(self.coalitions.T)
        return self.coalitions[order], order.argsort()

    @property
    def complete(self) -> bool:
        """Whether every coalition is there."""
        return len(self.coalitions) == 2 ** len(self.influence)

    @cached_property
    def leverage(self) -> Vector:
        """How far each pair draws the regression towards itself, (h,), the more the fewer."""
        return np.asarray(2 * np.einsum("ph,hp->h", self.influence, self.excess))

    @cached_property
    def _drawn(self) -> BoolVector:
        return self.unseen > 0

    @cached_property
    def _variance(self) -> tuple[Matrix, Matrix]:
        """What squares of residuals, and products of neighbours, add to each player's variance."""
        ways = [self.influence]
        if self.interactions is not None:
            # What a pair adds through what others expect is in part in the residuals of these.
            # On made games of 11 to 16 players errors were too small without it, too large with
            # all of it, and covered 93 to 97 % with the mean of both.
            correction = self.interactions.correction
            back = 2 * (correction @ self.excess) @ self.influence
            ways.append(self.influence + correction - back)
        drawn = self._drawn
        weight = np.array(ways)[:, :, drawn] / np.sqrt(len(ways))  # ways x p x drawn
        weight *= np.sqrt(self.unseen[drawn]) / (1 - self.leverage[drawn])
        squares = (weight**2).sum(axis=0).T  # drawn x p
        squares[[0, -1]] /= 2
        return squares, (weight[..., 1:] * weight[..., :-1]).sum(axis=0).T


def n_plans(p: int, budget: int) -> int:
    """Into how many plans, whose players have other roles, a budget is cut.

    None has more pairs than interactions are seen in: 4,216 coalitions of 30 players at once have
    1.4 times the error of twice 2,108. But all stay together where each plan would have few pairs
    for a player, or all together are many of those that there are.
    """
    pairs = budget // 2
    times = max(1, -(-pairs // MOST_PAIRS))
    return times if 4 * p * times <= pairs and 8 * pairs <= 2 ** (p - 1) else 1


@lru_cache(maxsize=4)
def plan_of(p: int, budget: int, seed: int) -> Plan:
    """Choose coalitions, and factor their regression.

    With φ = gain/p + b, Σ b_i = 0, the constraint is gone: b is the regression on what each
    coalition has beyond its size.
    """
    half, weights, unseen = design(p, budget, np.random.default_rng(seed))
    share = half.mean(axis=1)  # h
    excess = half - share[:, None]  # h x p
    weighted = excess * weights[:, None]  # h x p
    # Twice, for the complements. The normal matrix ignores shifts of b; one more rank holds them.
    normal = 2 * excess.T @ weighted + np.full((p, p), weights.sum() or 1.0)
    ends = np.array([[False] * p, [True] * p])
    coalitions = np.vstack([ends, half, ~half])
    influence = cho_solve(cho_factor(normal), weighted.T)
    # Where every pair is there, the regression is exact.
    interactions = Interactions.of(half, influence, excess) if unseen.any() else None
    return Plan(coalitions, excess, 2 * share - 1, influence, unseen, interactions)
