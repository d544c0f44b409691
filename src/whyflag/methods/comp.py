"""comp, anomaly compensation: how far each feature must move for the row to become normal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from whyflag.arrays import Matrix, check_rows
from whyflag.attribution import Attribution
from whyflag.checks import check_number
from whyflag.domain import Domain
from whyflag.methods.base import BoundMethod, Method, describe
from whyflag.minimise import minimise
from whyflag.score import Score, evaluate


@final
@dataclass(frozen=True)
class COMP(Method):
    """|x̂*(∅) − x|, each column in units of its scale.

    These are distances, not parts of the score: they do not add up to it. A player of several
    columns gets the Euclidean norm of its columns. Needs no background rows.

    Args:
        gamma: Weight of the distance from x in the minimisation, γ, in units of the score.
    """

    name: ClassVar[str] = "comp"

    gamma: float = 0.01

    def __post_init__(self) -> None:
        check_number("gamma", self.gamma, at_least=0)

    def _bind(self, score: Score, domain: Domain, background: Matrix | None) -> BoundMethod:
        return _BoundCOMP(score, domain, self)


@final
@dataclass(frozen=True)
class _BoundCOMP(BoundMethod):
    score: Score
    domain: Domain
    method: COMP

    def attribute(self, X: Matrix) -> Attribution:
        domain = self.domain
        rows = check_rows(X, domain.n_columns, columns=domain.columns)
        nothing_kept = np.zeros(rows.shape, dtype=np.bool_)
        minimum = minimise(
            self.score, rows, nothing_kept, domain, gamma=self.method.gamma, basin="nearest"
        )
        moved = (minimum.point - rows) / domain.scale  # n x d
        return Attribution(
            values=np.sqrt(moved**2 @ domain.membership.T),
            base_values=evaluate(self.score, minimum.point),
            scores=evaluate(self.score, rows),
            **describe(domain, rows),
            evaluations=minimum.n_evaluations + 2,
            method=self.method.name,
            settings=self.method.settings,
            additive=False,
            reference=minimum.point,
            converged=minimum.converged,
        )
