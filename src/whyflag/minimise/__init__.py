"""Many small masked minimisations solved as one batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix, Vector
from whyflag.batches import WORK, batches
from whyflag.checks import check_choice, check_number, check_whole
from whyflag.domain import Domain
from whyflag.minimise.ball import within_ball
from whyflag.minimise.finite_difference import FiniteDifference, sloping
from whyflag.minimise.lines import descend_along_columns
from whyflag.minimise.moves import Moves
from whyflag.minimise.newton import FEW, MOST_CALLS, descend_by_parabolas
from whyflag.minimise.pattern_search import search
from whyflag.minimise.problem import Problems, Shape, rounding
from whyflag.minimise.quasi_newton import FLAT, MEMORY, descend
from whyflag.minimise.starts import MARGIN, Basin, Look, solve_by_rows, solve_from_several
from whyflag.outcome import Outcome, ended_if
from whyflag.records import join_rows, per_row
from whyflag.score import Gradient, Score, Trees

__all__ = ["GAMMA", "LIMITS", "Basin", "Limits", "Minimum", "Shape", "minimise"]

GAMMA = 0.01  # the paper's weight of the distance
KINK = 1e-3  # slope, in score per scale: where descent ends on a steeper one, it was at a kink
FAR = 1e6  # scales: whoever has gone so far is asked whether the score still falls there
FURTHER = 1.01  # times as far


@final
@dataclass(frozen=True)
class Limits:
    """What a minimisation may spend, and when it has arrived.

    Attributes:
        max_gradients: Evaluations of a problem with a gradient, from each start.
        max_differences: Gradients that are made of differences, from each start.
        max_rounds: Rounds over all columns of a problem without a gradient.
        other_descents: Starts of a descent besides the row itself.
        other_searches: Starts of a search without a gradient besides the row itself.
        flat: The largest slope, in units of the score per scale of a column, that counts as none.
    """

    max_gradients: int = 2000
    max_differences: int = 200
    max_rounds: int = 100
    other_descents: int = 4
    other_searches: int = 1
    flat: float = FLAT

    def __post_init__(self) -> None:
        for name in ("max_gradients", "max_differences", "max_rounds"):
            check_whole(name, getattr(self, name), at_least=1)
        for name in ("other_descents", "other_searches"):
            check_whole(name, getattr(self, name), at_least=0)
        check_number("flat", self.flat, at_least=0)


LIMITS = Limits()


@final
@dataclass(frozen=True)
class Minimum:
    """Where each minimisation of a batch ended, and why."""

    point: Matrix = per_row()  # b x d
    loss: Vector = per_row()  # b
    ended: IntVector = per_row()  # b: an `Outcome` each
    n_evaluations: IntVector = per_row()  # b

    @property
    def converged(self) -> BoolVector:
        """Which of them have arrived, (b,)."""
        return self.ended == Outcome.ARRIVED


def minimise(
    score: Score,
    X: Matrix,
    keep: BoolMatrix,
    domain: Domain,
    *,
    gamma: float = 0.0,
    radius: float | None = None,
    shape: Shape = "box",
    basin: Basin = "lowest",
    limits: Limits = LIMITS,
) -> Minimum:
    """Minimise the score around each row, some of its columns held (equation 3).

    min_y e(y) + γ·unit/|Sᶜ| Σ_{i∉S} dist((y_i − x_i) / scale_i),  y_S = x_S,  y in the domain

    dist is `whyflag.nearness.distance`. With a gradient: projected L-BFGS, preconditioned by the
    score's curvature where it is known. Of a sum over trees: exact minima along the columns. Else:
    a search that needs no slope, and so works on piecewise constant scores. All begin at several
    places (`minimise/starts.py`).

    The loss never exceeds that of x, and y_S is x_S to the bit. A row outside the bounds is
    brought inside, unless nothing there has a lower loss than the row has where it is.

    Args:
        score: The anomaly score e.
        X: One row for each problem, (b, d).
        keep: The columns S that each problem keeps, bool (b, d).
        domain: Bounds, scales, typical rows, and columns that may not move.
        gamma: Weight of the distance, γ, in units of the score (`Score.unit`).
        radius: Largest move in units of the scale; None for no limit.
        shape: Whether the radius bounds each column's move ("box") or their Euclidean norm
            ("ball").
        basin: Which minimum, if there are several: the "lowest" that was found, or the "nearest"
            that is normal. A sum over trees has no basins: its lowest is taken.
        limits: What each problem may spend.
    """
    check_number("gamma", gamma, at_least=0)
    check_number("radius", radius, above=0, or_none=True)
    check_choice("shape", shape, ("box", "ball"))
    check_choice("basin", basin, ("lowest", "nearest"))
    everything = Problems(
        score, X, keep, domain, gamma=gamma, half_width=np.inf if radius is None else radius
    )
    b, d = X.shape
    n_free = everything.free.sum(axis=1)
    block = int(np.minimum(n_free, d - n_free).max()) if everything.curvature is not None else 0
    n_starts = 1 + limits.other_descents
    each = n_starts * (2 * MEMORY * d + 2 * block**2)
    solve = _Solver(basin, limits)
    parts = []
    for some in batches(b, each, 4 * WORK):  # a descent takes long to begin
        problems = everything.select(some)
        if radius is not None and shape == "ball":
            moves = within_ball(problems, radius, solve)
        else:
            moves = solve(problems)
            _doubt(problems, moves)
        parts.append(_finish(problems, moves))
    return join_rows(parts)


@final
@dataclass(frozen=True)
class _Solver:
    """Solves problems from several starts, by what is known of their score."""

    basin: Basin
    limits: Limits

    def __call__(self, problems: Problems) -> Moves:
        if problems.gradient is None:
            return self._without_gradient(problems)
        found = self._from_several(problems, self._descend)
        # Where the gradient has no answer, it can lead nowhere.
        blind = np.flatnonzero(~np.isfinite(found.loss))
        if len(blind):
            found.put(blind, self._without_gradient(problems.select(blind)))
        return found

    def _without_gradient(self, problems: Problems) -> Moves:
        """Go down the slope of a smooth score; search one that jumps, or is flat in steps."""
        trees = problems.score.find(Trees)
        if trees is not None and trees.by_column:
            solve = partial(self._along_columns, trees=trees)
            return solve_by_rows(problems, solve, self.limits.other_searches)
        if problems.character.rough:
            return self._from_several(problems, self._search, self.limits.other_searches)
        sloped = FiniteDifference(problems.score, problems.domain, problems.character.single)
        most = max(self.limits.other_descents, self.limits.other_searches)
        look = Look.of(problems, most, self.basin, sloped)
        somewhere, everywhere = sloping(look.gradient, problems.free)
        found = Moves.none(problems)
        smooth, stairs = np.flatnonzero(somewhere), np.flatnonzero(~somewhere)
        if len(smooth):
            some = problems.select(smooth)
            solve = partial(self._descend_differences, sloped=sloped)
            down = self._from_several(some, solve, look=look.select(smooth))
            found.put(smooth, self._search_on(some, down, everywhere[smooth]))
        if len(stairs):
            some, others = problems.select(stairs), self.limits.other_searches
            found.put(stairs, self._from_several(some, self._search, others, look.select(stairs)))
        return found

    def _from_several(
        self,
        problems: Problems,
        solve: Callable[[Problems], Moves],
        others: int | None = None,
        look: Look | None = None,
    ) -> Moves:
        others = self.limits.other_descents if others is None else others
        return solve_from_several(problems, solve, others, self.basin, look)

    def _descend(self, problems: Problems) -> Moves:
        return descend(problems, self.limits.max_gradients, self.limits.flat)

    def _descend_differences(self, problems: Problems, sloped: FiniteDifference) -> Moves:
        most, flat = self.limits.max_differences, self.limits.flat
        by_differences = problems.with_gradient(Gradient(sloped.value_and_grad))
        if len(sloped.columns) > FEW or sloped.single:
            down = descend(by_differences, most, flat, KINK)
            down.n_evaluations[:] *= sloped.n_calls
            return down
        down = descend_by_parabolas(problems, sloped, min(most, MOST_CALLS), flat)
        # Among kinks, and between valleys, slopes lead down where parabolas do not.
        lost = np.flatnonzero(~down.converged)
        if len(lost):
            again = descend(by_differences.select(lost), most, flat, KINK)
            again.n_evaluations[:] *= sloped.n_calls
            down.put(lost, again)
        return down

    def _along_columns(self, problems: Problems, trees: Trees) -> Moves:
        return descend_along_columns(problems, trees, problems.X.shape[1] * self.limits.max_rounds)

    def _search(self, problems: Problems) -> Moves:
        begin = Moves.none(problems)
        begin.loss[:] = problems.loss(begin.u)
        begin.n_evaluations[:] = 1
        return search(problems, begin, self.limits.max_rounds)

    def _search_on(self, problems: Problems, down: Moves, everywhere: BoolVector) -> Moves:
        """Search on where descent knew nothing of some columns, or ended on a slope (a kink)."""
        unsure = np.flatnonzero(~down.converged | ~everywhere)
        if len(unsure):
            begin = down.select(unsure)
            begin.n_evaluations[:] = 0
            down.put(unsure, search(problems.select(unsure), begin, self.limits.max_rounds))
        return down


def _doubt(problems: Problems, found: Moves) -> None:
    """A score without a bottom has no minimum: a problem that falls on and on has not arrived."""
    # The distance has been flat for long: the score tells.
    far = np.flatnonzero(np.abs(found.u).max(axis=1) > FAR)
    if len(far):
        some, u = problems.select(far), found.u[far]
        with np.errstate(over="ignore", invalid="ignore"):
            here, further = (some.score(some.points(v)) for v in (u, some.project(FURTHER * u)))
            here, further = here / some.unit, further / some.unit
            found.converged[far] &= ~(further < here - rounding(here, MARGIN))
        found.n_evaluations[far] += 2


def _finish(problems: Problems, moves: Moves) -> Minimum:
    """Turn moves into points; a row outside the bounds stays there if that is better."""
    point = problems.points(moves.u)
    outside = (problems.entry != 0).any(axis=1)
    stay = np.full(len(problems), np.inf)
    if outside.any():
        stay[outside] = problems.score(problems.X[outside]) / problems.unit
    better = stay < moves.loss
    ended = ended_if(moves.converged, Outcome.OUT_OF_BUDGET)
    ended[~moves.converged & (np.abs(moves.u).max(axis=1) > FAR)] = Outcome.NO_BOTTOM
    ended[~moves.converged & ~np.isfinite(moves.loss)] = Outcome.NOT_FINITE
    return Minimum(
        point=np.where(better[:, None], problems.X, point),
        loss=np.where(better, stay, moves.loss) * problems.unit,
        ended=ended,
        n_evaluations=moves.n_evaluations + outside,
    )
