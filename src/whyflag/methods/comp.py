"""comp, anomaly compensation: how far each feature must move for the row to become normal."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

import numpy as np

from whyflag.arrays import Matrix
from whyflag.checks import check_kind, check_number
from whyflag.contributions import Contributions
from whyflag.domain import Domain
from whyflag.methods.base import BoundMethod, Method
from whyflag.minimise import GAMMA, LIMITS, Limits, minimise
from whyflag.prepared import Prepared
from whyflag.score import Score, evaluate


@final
@dataclass(frozen=True)
class COMP(Method):
    """Anomaly compensation: how far each feature is from its value in a normal row near x.

    |x̂*(∅) − x|, each column in units of its scale, where x̂*(∅) minimises the score plus a small
    penalty on the distance from x. These are distances, not parts of the score: they do not add up
    to it. A player of several columns gets the Euclidean norm of its columns. Needs no background
    rows.

    Args:
        gamma: Weight of the distance from x in the minimisation, γ, in units of the score.
        limits: What a minimisation may spend.
    """

    name: ClassVar[str] = "comp"

    gamma: float = GAMMA
    limits: Limits = field(default=LIMITS, repr=False)

    def __post_init__(self) -> None:
        check_number("gamma", self.gamma, at_least=0)
        check_kind("limits", self.limits, Limits, "Limits(...)")

    def _bind(self, prepared: Prepared) -> BoundMethod:
        return _BoundCOMP(prepared.score, prepared.domain, self)


@final
@dataclass(frozen=True)
class _BoundCOMP(BoundMethod):
    score: Score
    domain: Domain
    method: COMP

    def attribute(self, X: Matrix) -> Contributions:
        domain = self.domain
        nothing_kept = np.zeros(X.shape, dtype=np.bool_)
        minimum = minimise(
            self.score,
            X,
            nothing_kept,
            domain,
            gamma=self.method.gamma,
            basin="nearest",
            limits=self.method.limits,
        )
        moved = (minimum.point - X) / domain.scale  # n x d
        # Squares of the largest numbers are none.
        size = np.maximum(np.abs(moved).max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        return Contributions(
            values=size * np.sqrt((moved / size) ** 2 @ domain.membership.T),
            base_values=evaluate(self.score, minimum.point),
            scores=evaluate(self.score, X),
            evaluations=minimum.n_evaluations + 2,
            additive=False,
            reference=minimum.point,
            ended=minimum.ended,
        )
