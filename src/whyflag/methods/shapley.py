"""Any characteristic function with any solver: the shape of every Shapley method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

from whyflag.arrays import Matrix
from whyflag.attribution import Attribution
from whyflag.games import CharacteristicFunction
from whyflag.methods.base import BoundMethod, describe
from whyflag.shapley import ShapleySolver


@final
@dataclass(frozen=True)
class ShapleyMethod(BoundMethod):
    """The Shapley value of a characteristic function.

    >>> from whyflag import Domain, as_score
    >>> from whyflag.games import Background
    >>> from whyflag.shapley import Exact
    >>> import numpy as np
    >>> score = as_score(lambda X: X @ np.array([1.0, 2.0]), n_features=2)
    >>> method = ShapleyMethod(Background(score, np.zeros(2)), Exact())
    >>> method.attribute(np.array([[3.0, 4.0]])).values
    array([[3., 8.]])
    """

    characteristic: CharacteristicFunction
    solver: ShapleySolver
    name: str = "Shapley"
    settings: Mapping[str, Any] = field(default_factory=dict)

    def attribute(self, X: Matrix) -> Attribution:
        game = self.characteristic.bind(X)
        shapley = self.solver.solve(game)
        return Attribution(
            values=shapley.values,
            base_values=shapley.empty,
            scores=shapley.full,
            **describe(self.characteristic.domain, X),
            evaluations=game.n_evaluations.copy(),
            method=self.name,
            settings=self.settings,
            reference=game.reference,
            standard_errors=shapley.standard_errors,
            fallback=game.fallback,
            converged=shapley.converged
            if game.converged is None
            else game.converged & shapley.converged,
        )
