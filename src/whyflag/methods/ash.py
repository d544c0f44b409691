"""ASH, the anomaly Shapley value: the paper's method."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, final

from whyflag.arrays import Matrix
from whyflag.checks import check_choice, check_kind, check_number
from whyflag.domain import Domain
from whyflag.games import (
    CharacteristicFunction,
    LocalMinimum,
    NeighborhoodMinimum,
    RelaxedMinimum,
)
from whyflag.methods.base import BoundMethod, Method
from whyflag.methods.shapley import ShapleyMethod
from whyflag.score import Score
from whyflag.shapley import Kernel, ShapleySolver


@final
@dataclass(frozen=True)
class ASH(Method):
    """Anomaly Shapley value: absent features take values that make the row as normal as can be.

    Needs no background rows.

    Args:
        gamma: Weight of the distance from x in the minimisations, γ, in units of the score.
        game: "relaxed" (v̲, p + 1 minimisations a row), "local" (v̂, one for each coalition), or
            "neighborhood" (v, within `radius` scales of x, without γ).
        radius: Half the width of the box that "neighborhood" searches, in scales. A row outside the
            range of normal rows is first brought to the nearest point inside: the box is round it.
        solver: How the sum over coalitions is done.
    """

    name: ClassVar[str] = "ASH"

    gamma: float = 0.01
    game: Literal["relaxed", "local", "neighborhood"] = "relaxed"
    radius: float = 1.0
    solver: ShapleySolver = field(default_factory=Kernel)

    def __post_init__(self) -> None:
        check_number("gamma", self.gamma, at_least=0)
        check_choice("game", self.game, ("relaxed", "local", "neighborhood"))
        check_number("radius", self.radius, above=0)
        check_kind("solver", self.solver, ShapleySolver, "a ShapleySolver such as Kernel()")

    def _bind(self, score: Score, domain: Domain, background: Matrix | None) -> BoundMethod:
        return ShapleyMethod(
            self._characteristic(score, domain), self.solver, self.name, self.settings
        )

    def _characteristic(self, score: Score, domain: Domain) -> CharacteristicFunction:
        if self.game == "relaxed":
            return RelaxedMinimum(score, domain, self.gamma)
        if self.game == "local":
            return LocalMinimum(score, domain, self.gamma)
        return NeighborhoodMinimum(score, domain, self.radius)
