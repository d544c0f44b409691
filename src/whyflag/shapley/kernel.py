"""Shapley values by weighted regression on a part of the coalitions (kernel SHAP)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from whyflag.arrays import IntVector, Matrix, Vector
from whyflag.batches import batches
from whyflag.checks import check_number, check_whole
from whyflag.shapley.base import Playable, ShapleySolver, ShapleyValues, close_gap, parts_of
from whyflag.shapley.plan import Plan, n_plans, plan_of

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
                times = n_plans(p, size)
                plan = plan_of(p, size // times, self.seed)
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
        self, game: Playable, rows: IntVector, plan: Plan, times: int
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
