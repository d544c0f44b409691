"""v̂: absent features go to a local minimum, held near x by a penalty (equation 3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from whyflag.arrays import Matrix
from whyflag.checks import check_kind, check_number
from whyflag.domain import Domain
from whyflag.games.base import CharacteristicFunction, Game
from whyflag.games.coalition_minimum import CoalitionMinimum
from whyflag.minimise import GAMMA, LIMITS, Limits
from whyflag.score import Score


@final
@dataclass(frozen=True)
class LocalMinimum(CharacteristicFunction):
    """Absent features take the values of lowest score near x, found anew for each coalition: v̂.

    v̂(S; x) = e(x̂*(S)), where x̂*(S) minimises e(y) + γ/|Sᶜ| Σ_{i∉S} dist(y_i, x_i), y_S = x_S.

    One minimisation for each coalition: 2^p of them for an exact Shapley value.

    Args:
        gamma: Weight of the distance from x, γ, in units of the score. The paper uses 0.01.
        limits: What a minimisation may spend.
    """

    gamma: float = GAMMA
    limits: Limits = field(default=LIMITS, repr=False)

    def __post_init__(self) -> None:
        check_number("gamma", self.gamma, at_least=0)
        check_kind("limits", self.limits, Limits, "Limits(...)")

    def _bind(self, score: Score, domain: Domain, X: Matrix) -> Game:
        return CoalitionMinimum(score, domain, X, gamma=self.gamma, limits=self.limits)
