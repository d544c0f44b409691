"""What several tests need."""

from __future__ import annotations

from typing import Any

import numpy as np

from whyflag import Attribution, Domain, as_score
from whyflag.arrays import BoolMatrix, IntVector, Matrix, Vector
from whyflag.games import Background, LocalMinimum, NeighborhoodMinimum, RelaxedMinimum
from whyflag.score import AdditiveScore, CurvedScore, DifferentiableScore, MarginalScore, Score
from whyflag.score.mixture import MixtureEnergy

# What each ability must be able to answer.
_ANSWERS: dict[type[Score], tuple[str, ...]] = {
    CurvedScore: ("value_grad_curvature", "value_and_grad"),
    DifferentiableScore: ("value_and_grad",),
    AdditiveScore: ("parts", "marginal", "growing", "log_units"),
    MarginalScore: ("marginal", "log_units"),
}
_KNOWN = ("n_features", "feature_names", "threshold", "unit", "density", "curvatures", "centers")


def random_coalitions(m: int, p: int, seed: int) -> BoolMatrix:
    return np.random.default_rng(seed).random((m, p)) < 0.5


def assert_same_rows(one: Attribution, other: Attribution, within: float = 1e-9) -> None:
    """To a part of each row's largest value, with the features in the same order but for ties."""
    largest = np.abs(other.values).max(axis=1, keepdims=True)
    off = np.abs(one.values - other.values)
    assert (off <= within * largest).all(), f"off by {(off / largest).max():.1e} of the largest"
    in_its_order = np.take_along_axis(other.values, one.order, axis=1)
    assert (np.diff(in_its_order, axis=1) <= 1e-12 * largest).all(), "in another order"


def without(score: Score, *gone: type[Score]) -> Score:
    """The same score, with its threshold and unit, that cannot do what these can.

    Without `Score` it is a plain function. What marginals have besides `marginal` itself goes with
    `AdditiveScore`: then sets of columns that grow are asked for anew.
    """
    kept = [
        ability
        for ability in _ANSWERS
        if isinstance(score, ability) and not issubclass(ability, gone)
    ]
    # Of an ability and what it implies, the ability.
    kept = [one for one in kept if not any(one in other.__mro__[1:] for other in kept)]
    answers = {name: _forward(score, name) for ability in kept for name in _ANSWERS[ability]}
    less = type(
        "Less", tuple(kept) or (Score,), {"__call__": _forward(score, "__call__")} | answers
    )
    known = {name: getattr(score, name) for name in _KNOWN if hasattr(score, name)}
    without_them: Score = less()
    vars(without_them).update(known)
    return without_them


def _forward(score: Score, name: str) -> Any:
    return lambda self, *arguments: getattr(score, name)(*arguments)


def every_game(d: int) -> dict[str, Any]:
    """Each way to be absent, made of a score and a domain of d columns."""
    return {
        "relaxed": lambda score, domain: RelaxedMinimum(score, domain),
        "local": lambda score, domain: LocalMinimum(score, domain),
        "box": lambda score, domain: NeighborhoodMinimum(score, domain, radius=0.7),
        "ball": lambda score, domain: NeighborhoodMinimum(score, domain, 0.7, "ball"),
        "background": lambda score, domain: Background(score, np.zeros((2, d)), domain=domain),
    }


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


class Counted(CurvedScore):
    """A mixture's energy that counts the rows it is asked for."""

    def __init__(self, energy: MixtureEnergy) -> None:
        self.energy, self.count = energy, 0
        self.n_features, self.unit = energy.n_features, 1.0
        self.curvatures, self.centers = energy.curvatures, energy.centers

    def __call__(self, X: Matrix) -> Vector:
        self.count += len(X)
        return self.energy(X)

    def value_grad_curvature(self, X: Matrix) -> tuple[Vector, Matrix, IntVector]:
        self.count += len(X)
        return self.energy.value_grad_curvature(X)
