"""Anomaly scores e(x): what whyflag needs of a detector, and nothing else of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar, final

import numpy as np

from whyflag.arrays import Matrix, Vector
from whyflag.score.ability import Ability
from whyflag.score.answers import PRECISION, check_answer, check_finite
from whyflag.score.audit import Audit, Fixed
from whyflag.score.gradient import Gradient
from whyflag.score.map import Map

A = TypeVar("A", bound=Ability)

USUAL = 0.95  # of normal rows that raise no alarm, where the detector names no threshold
DIGITS = 1e-10  # of a score: what normal rows differ by less is rounding


@final
@dataclass(frozen=True, eq=False, repr=False)
class Score:
    """An anomaly score e(x), high = anomalous, and what else is known of it.

    A score is deterministic and works row by row: the answer for a row depends on nothing else.
    Away from the data it may be infinite or NaN where the detector has no answer; whoever needs
    a number asks through `evaluate`.

    Attributes:
        function: Rows (n, d) to scores (n,). One that rounds its answers to fewer digits than
            double precision has an attribute `precision`, the relative rounding.
        abilities: What else is known: see `Gradient`, `Curvature`, `Marginals`, `Additive`,
            `Trees`, `Distances`, `Products`.
        n_features: The number of columns; None: any number.
        feature_names: The names of the columns; None: they are known by position.
        threshold: A higher score is an alarm; None: the detector names none.
        alarms: The part of normal rows that raise one, where the threshold has to be found by
            their scores.
        unit: What corresponds to one nat of an energy, −log density: the weight of distances is
            counted in it. 1 for an energy; None: not known (see `unit_from`).
        name: What messages call it.
        audit: Looks at the first rows; None for scores that need no check.

    >>> score = Score(lambda X: (X**2).sum(axis=1), n_features=2)
    >>> score(np.array([[3.0, 4.0]]))
    array([25.])
    >>> score
    Score(the score, 2 features, nothing else known)
    """

    function: Callable[[Matrix], Vector]
    abilities: tuple[Ability, ...] = ()
    n_features: int | None = None
    feature_names: tuple[str, ...] | None = None
    threshold: float | None = None
    alarms: float | None = None
    unit: float | None = None
    name: str = "the score"
    audit: Audit | None = None

    def __repr__(self) -> str:
        many = "any number of" if self.n_features is None else self.n_features
        known = [type(ability).__name__ for ability in self.abilities] or ["nothing else known"]
        return f"Score({self.name}, {many} features, {', '.join(known)})"

    def __call__(self, X: Matrix) -> Vector:
        """Score rows: (n, d) -> (n,)."""
        if self.audit is None:
            return self.function(X)
        try:
            values = self.function(X)
        except Exception as error:
            error.add_note(
                f"This happened in the score, called with a float64 array of shape {X.shape}. "
                "For a function of PyTorch tensors see whyflag.adapters.torch_score."
            )
            raise
        self.audit.look(self, X, values)
        return values

    @property
    def precision(self) -> float:
        """The relative rounding of its answers."""
        return float(getattr(self.function, "precision", PRECISION))

    def value_and_grad(self, X: Matrix) -> tuple[Vector, Matrix]:
        """Score rows and differentiate: (n, d) -> (n,), (n, d)."""
        gradient = self.need(Gradient)
        if self.audit is not None and not self.audit.done:
            self(X)
        return gradient(X)

    def find(self, kind: type[A]) -> A | None:
        """The ability of this kind, if the score has it."""
        return next((each for each in self.abilities if isinstance(each, kind)), None)

    def need(self, kind: type[A]) -> A:
        """The ability of this kind, or an error that says what is missing."""
        found = self.find(kind)
        if found is None:
            raise TypeError(f"What is needed is {kind.meaning}, got {self.name}.")
        return found

    def having(self, *abilities: Ability) -> Score:
        """The same score with these abilities, which take the place of others of their kind."""
        kept = self.without(*map(type, abilities)).abilities
        return replace(self, abilities=(*kept, *abilities))

    def without(self, *kinds: type[Ability]) -> Score:
        """The same score without abilities of these kinds."""
        kept = tuple(each for each in self.abilities if not isinstance(each, kinds))
        return replace(self, abilities=kept)

    def after(self, step: Map) -> Score:
        """The score of rows that go through a map first, e(T(x)), with what is left of it."""
        left = (ability.after(step) for ability in self.abilities)
        return replace(
            self,
            function=_After(self, step),
            abilities=tuple(ability for ability in left if ability is not None),
            n_features=step.n_features,
            feature_names=None,
            audit=None if step.known else Audit(Fixed()),
        )


@final
@dataclass(frozen=True)
class _After:
    """e(T(x))."""

    score: Score
    step: Map

    def __call__(self, X: Matrix) -> Vector:
        return self.score(self.step(X))

    @property
    def precision(self) -> float:
        return self.score.precision


def evaluate(score: Score, X: Matrix, chunk: int | None = None) -> Vector:
    """Score rows, at most `chunk` at a time, where every answer must be a finite number."""
    size = chunk or len(X)
    values = np.concatenate([score(X[begin : begin + size]) for begin in range(0, len(X), size)])
    check_answer(values, X, score.name)
    check_finite(values, X)
    return values


def usual_alarm(scores: Vector) -> float:
    """What stands in for a threshold: a score that 95 % of these, of normal rows, do not exceed."""
    return float(np.quantile(scores, USUAL, method="higher"))


def unit_from(scores: Vector, n_features: int) -> float:
    """The unit of a score by its values at normal rows.

    The energy of a Gaussian with d features has a standard deviation of √(d/2) nats over the rows
    that it generates.
    """
    lower, upper = np.percentile(scores, [25, 75])
    # Quartiles, because a few anomalous rows among the normal ones would inflate a deviation.
    least = DIGITS * np.median(np.abs(scores))
    for spread in ((upper - lower) / 1.349, scores.std()):
        if spread > least:
            return float(spread / np.sqrt(n_features / 2))
    return 1.0
