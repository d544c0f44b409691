"""Any characteristic function with any solver: what every Shapley method is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from whyflag.arrays import Matrix
from whyflag.contributions import Contributions
from whyflag.games import CharacteristicFunction
from whyflag.methods.base import BoundMethod
from whyflag.outcome import Outcome, ended_if, worst
from whyflag.prepared import Prepared
from whyflag.shapley import ShapleySolver, divide


@final
@dataclass(frozen=True)
class ShapleyValue(BoundMethod):
    """The Shapley value of a characteristic function.

    The characteristic function says what the score is if only some features are present; the solver
    divides score − base value by it.

    >>> from whyflag import Domain, as_score
    >>> from whyflag.games import Background
    >>> from whyflag.shapley import Exact
    >>> import numpy as np
    >>> score = as_score(lambda X: X @ np.array([1.0, 2.0]), n_features=2)
    >>> value = ShapleyValue(Prepared(score, Domain(2)), Background(np.zeros(2)), Exact())
    >>> value.attribute(np.array([[3.0, 4.0]])).values
    array([[3., 8.]])
    """

    prepared: Prepared
    characteristic: CharacteristicFunction
    solver: ShapleySolver

    def attribute(self, X: Matrix) -> Contributions:
        game = self.characteristic.bind(self.prepared.score, self.prepared.domain, X)
        shapley = divide(game, self.solver)
        return Contributions(
            values=shapley.values,
            base_values=shapley.empty,
            scores=shapley.full,
            evaluations=game.n_evaluations.copy(),
            reference=game.reference,
            standard_errors=shapley.standard_errors,
            fallback=game.fallback,
            ended=worst([game.ended, ended_if(shapley.converged, Outcome.OUT_OF_BUDGET)]),
        )
