"""Shapley values by weighted regression on a part of the coalitions (kernel SHAP)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import comb
from typing import final

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix, Vector
from whyflag.batches import batches
from whyflag.checks import check_number, check_whole
from whyflag.shapley.base import Playable, ShapleySolver, ShapleyValues, close_gap, parts_of
from whyflag.shapley.coalitions import of_size, sample_of_size
from whyflag.shapley.interactions import MOST_PAIRS, Interactions

# Rows times parts that are solved at once: with fewer, products of matrices of all pairs, 9 MB,
# wait for memory.
TOGETHER = 64


@final
@dataclass(frozen=True)
class Kernel(ShapleySolver):
    """min_φ Σ_S w(S) (v(S) − v(∅) − Σ_{i∈S} φ_i)², subject to Σ φ_i = v(D) − v(∅).

    w(S) = (p − 1) / (C(p, |S|) |S| (p − |S|)) is the Shapley kernel. Coalitions come in
    complementary pairs. Each size gets an equal share of them, which is proportional to the
    leverage of its coalitions (LeverageSHAP, arXiv 2410.01917): all of a size if the share is
    large enough, else a draw. One set of coalitions and one factorisation serve all rows. The
    constraint is eliminated, so the values add up exactly; with a budget of 2^p − 2 or more they
    are exact. What the pairs tell about interactions corrects it (`whyflag.shapley.interactions`).

    A game that is a sum, as over reference rows, is solved part by part, because each part can
    have coalitions of its own at no cost: the same ones, with the players' roles shuffled. Eight
    references are then as good as up to eight times the budget.

    Standard errors are those of a sample of pairs, stratified by size, without replacement. They
    can not see what no draw has seen: of a game that is quadratic but for a few coalitions, they
    are too small until one of those is drawn. They are infinite if a budget that is too small to
    draw two pairs leaves them unknown.

    Args:
        budget: Number of coalitions besides ∅ and D; 2p + 2048 if none is given.
        seed: Seed of the draws.
        precision: The largest standard error that will do, in units of the score. A row that has
            a larger one starts again with the budget that its standard error asks for (by a
            power of √2), as often as needed.
        max_budget: Where that ends; a row that is not there by then has not `converged`.
    """

    budget: int | None = None
    seed: int = 0
    precision: float | None = None
    max_budget: int = 2**16

    def __post_init__(self) -> None:
        check_whole("budget", self.budget, at_least=0, or_none=True)
        check_whole("seed", self.seed, at_least=0)
        check_number("precision", self.precision, above=0, or_none=True)
        check_whole("max_budget", self.max_budget, at_least=1)

    def solve(self, game: Playable) -> ShapleyValues:
        """Divide the gain of each row's game among its players."""
        n, p = game.n_rows, game.n_players
        everything = 2**p - 2
        first = 2 * (p + 1024) if self.budget is None else self.budget
        self._check(p, first)
        ends, values, errors = np.zeros((n, 2)), np.zeros((n, p)), np.zeros((n, p))
        n_coalitions = np.full(n, 2)
        last = min(max(first, self.max_budget), everything)
        budget = np.full(n, min(first, everything))
        todo = np.arange(n)
        while len(todo):
            for size in np.unique(budget[todo]).tolist():
                rows = todo[budget[todo] == size]
                times = _times(p, size)
                plan = _plan(p, size // times, self.seed)
                ends[rows], values[rows], errors[rows] = self._regress(game, rows, plan, times)
                n_coalitions[rows] += 2 * len(plan.excess) * times
            todo = todo[(errors[todo].max(axis=1) > self._goal) & (budget[todo] < last)]
            budget[todo] = self._next(budget[todo], errors[todo].max(axis=1), last)
        return ShapleyValues(
            values=values,
            empty=ends[:, 0],
            full=ends[:, 1],
            standard_errors=errors,
            n_coalitions=n_coalitions,
            converged=errors.max(axis=1) <= self._goal,
        )

    def _check(self, p: int, budget: int) -> None:
        least = min(2 * p, 2**p - 2)
        if budget < least:
            raise ValueError(
                f"`budget` must be at least {least} for {p} players, so that the "
                f"regression has one solution, got {budget}."
            )

    @property
    def _goal(self) -> float:
        return np.inf if self.precision is None else self.precision

    def _next(self, budget: IntVector, error: Vector, last: int) -> IntVector:
        """The budget that would do: standard errors fall with its square root."""
        # By powers of √2, so that rows share designs, whatever rows are solved together; four
        # times at most, because they fall faster where whole sizes are counted.
        steps = np.ceil(4 * np.log2(error / self._goal)).clip(1, 4)
        return np.minimum(budget * 2.0 ** (steps / 2), last).astype(np.int64)

    def _regress(
        self, game: Playable, rows: IntVector, plan: _Plan, times: int
    ) -> tuple[Matrix, Matrix, Matrix]:
        """Ends, values and standard errors of some rows: r x 2, r x p, r x p."""
        p, n_pairs, n = game.n_players, len(plan.excess), len(rows)
        parts = [game] if plan.complete else [*parts_of(game)] * times
        rng = np.random.default_rng(self.seed)
        roles = [np.arange(p), *(rng.permutation(p) for _ in parts[1:])]
        ends, values, errors = (np.zeros((n, width)) for width in (2, p, p))
        ordered, places = plan.ordered
        for some in batches(len(parts), n, TOGETHER):
            # g x r x (2 + 2h), g parts at a time
            worth = np.stack(
                [
                    part(ordered[:, players], rows)[:, places]
                    for part, players in zip(parts[some], roles[some], strict=True)
                ]
            )
            ends += worth[..., :2].sum(axis=0)
            empty, full, pairs = np.split(worth.reshape(-1, 2 + 2 * n_pairs), [1, 2], axis=1)
            # What a coalition has over its complement, beyond what its size brings at fair shares.
            over = pairs[:, :n_pairs] - pairs[:, n_pairs:] - (full - empty) * plan.size  # gr x h
            beyond = over @ plan.influence.T  # gr x p
            residual = over - 2 * beyond @ plan.excess.T  # gr x h
            if plan.interactions is not None:
                beyond = beyond + residual @ plan.interactions.correction.T
                residual = (residual @ plan.interactions.unexpected.T) * (1 - plan.leverage)
            found = beyond, plan.standard_errors(residual)
            shaped = (each.reshape(-1, n, p) for each in found)  # g x r x p
            for of_part, error, players in zip(*shaped, roles[some], strict=True):
                values += of_part[:, players]
                errors = np.hypot(errors, error[:, players])
        ends, values, errors = ends / times, values / times, errors / times
        gain = ends[:, 1] - ends[:, 0]
        return ends, close_gap(values + gain[:, None] / p, gain), errors


@dataclass(frozen=True)
class _Plan:
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


def _times(p: int, budget: int) -> int:
    """Into how many plans, whose players have other roles, a budget is cut.

    None has more pairs than interactions are seen in: 4,216 coalitions of 30 players at once have
    1.4 times the error of twice 2,108. But all stay together where each plan would have few pairs
    for a player, or all together are many of those that there are.
    """
    pairs = budget // 2
    times = max(1, -(-pairs // MOST_PAIRS))
    return times if 4 * p * times <= pairs and 8 * pairs <= 2 ** (p - 1) else 1


@lru_cache(maxsize=4)
def _plan(p: int, budget: int, seed: int) -> _Plan:
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
    return _Plan(coalitions, excess, 2 * share - 1, influence, unseen, interactions)


def design(p: int, budget: int, rng: np.random.Generator) -> tuple[BoolMatrix, Vector, Vector]:
    """Choose at most budget / 2 pairs, in the order of their sizes.

    Returns one coalition of each pair, bool (h, p); their weights, (h,); and the share of the
    pairs of their size that was left out, (h,).
    """
    halves: list[BoolMatrix] = [np.zeros((0, p), dtype=np.bool_)]  # one player has no pairs
    weights: list[Vector] = [np.zeros(0)]
    unseen: list[Vector] = [np.zeros(0)]

    def add(size: int, half: BoolMatrix, expected: float) -> None:
        # The kernel's weight of all pairs of this size, shared by those that stand for them.
        pairs = (p - 1) / (size * (p - size)) / (2 if 2 * size == p else 1)
        halves.append(half)
        weights.append(np.full(len(half), pairs / expected))
        unseen.append(np.full(len(half), 1 - len(half) / n_pairs(p, size)))

    left = budget // 2
    size = 1
    # With few pairs for each player, single players make sure that there is one solution.
    while size <= p // 2 and n_pairs(p, size) <= (
        left if size == 1 and left < 4 * p else _even_shares(p, size, left)[0]
    ):
        count = n_pairs(p, size)
        # Of the middle size, the first half are those that have player 0.
        add(size, of_size(p, size, count), count)
        left -= count
        size += 1
    if size <= p // 2 and left:
        expected = _even_shares(p, size, left)
        # Systematic sampling: whole numbers of draws that average to the expected ones.
        marks = np.floor(np.concatenate([[0.0], np.cumsum(expected)]) + rng.random())
        draws = np.diff(marks).astype(int).tolist()
        for s, expect, count in zip(range(size, p // 2 + 1), expected.tolist(), draws, strict=True):
            if count:
                add(s, sample_of_size(p, s, count, rng), expect)
    return np.vstack(halves), np.concatenate(weights), np.concatenate(unseen)


def _even_shares(p: int, size: int, left: int) -> Vector:
    """The pairs that each size from `size` to the middle gets of those that are left."""
    # The middle size of an even p has half as many pairs, and gets half as many draws.
    sizes = np.arange(size, p // 2 + 1)
    share = np.where(2 * sizes == p, 0.5, 1.0)
    return left * share / share.sum()


def n_pairs(p: int, size: int) -> int:
    """Number of pairs {S, D ∖ S} with |S| = size."""
    return comb(p, size) // (2 if 2 * size == p else 1)
