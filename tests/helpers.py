"""What several tests need."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from whyflag import Attribution, Domain, as_score
from whyflag.arrays import BoolMatrix, Matrix, Vector
from whyflag.games import Background, LocalMinimum, NeighborhoodMinimum, RelaxedMinimum
from whyflag.minimise import Limits
from whyflag.score import Ability, Curvature, Gradient, Score


def random_coalitions(m: int, p: int, seed: int) -> BoolMatrix:
    return np.random.default_rng(seed).random((m, p)) < 0.5


def assert_same_rows(one: Attribution, other: Attribution, within: float = 1e-9) -> None:
    """To a part of each row's largest value, with the features in the same order but for ties."""
    largest = np.abs(other.values).max(axis=1, keepdims=True)
    off = np.abs(one.values - other.values)
    assert (off <= within * largest).all(), f"off by {(off / largest).max():.1e} of the largest"
    in_its_order = np.take_along_axis(other.values, one.order, axis=1)
    assert (np.diff(in_its_order, axis=1) <= 1e-12 * largest).all(), "in another order"


def every_game(d: int) -> dict[str, Any]:
    """Each way to be absent, for d columns."""
    return {
        "relaxed": RelaxedMinimum(),
        "local": LocalMinimum(),
        "box": NeighborhoodMinimum(radius=0.7),
        "ball": NeighborhoodMinimum(0.7, "ball"),
        "background": Background(np.zeros((2, d))),
    }


# So few evaluations that a bowl has its minimum, and a curved valley has not.
FEW = Limits(max_gradients=12)

SWITCH = Domain(3, fixed=[2])
SWITCHED = np.array([[3.0, 2.0, 0.0], [-1.5, 2.0, 1.0], [1.0, -1.0, 0.0]])


def switched() -> Score:
    """A bowl x0² + x1²; in rows whose switch x2 is on, Rosenbrock's valley of the same columns.

    Of `SWITCHED` the second row is in the valley: a bowl takes 3 evaluations, a valley more than
    30, unless x0 is kept: then it is a bowl as well.
    """

    def value(X: Matrix) -> Vector:
        x, y, on = X.T
        return np.where(on == 1, (1 - x) ** 2 + 100 * (y - x**2) ** 2, x**2 + y**2)

    def slope(X: Matrix) -> Matrix:
        x, y, on = X.T
        first = np.where(on == 1, 2 * (x - 1) - 400 * x * (y - x**2), 2 * x)
        second = np.where(on == 1, 200 * (y - x**2), 2 * y)
        return np.stack([first, second, np.zeros(len(X))], axis=1)

    return as_score(value, slope, n_features=3)


class Counted:
    """How many rows a score is asked for: by itself, for its gradient, for its curvature."""

    def __init__(self, score: Score) -> None:
        self.count = 0
        abilities: list[Ability] = []
        if gradient := score.find(Gradient):
            abilities.append(Gradient(self._counted(gradient)))
        if curvature := score.find(Curvature):
            known = curvature.matrices, curvature.centers
            abilities.append(Curvature(self._counted(curvature), *known))
        self.score = replace(
            score, function=self._counted(score), abilities=tuple(abilities), audit=None
        )

    def _counted(self, function: Any) -> Any:
        def counted(X: Matrix) -> Any:
            self.count += len(X)
            return function(X)

        return counted
