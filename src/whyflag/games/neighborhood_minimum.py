"""v: absent features go to the lowest score in a compact neighbourhood of x (equation 2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from whyflag.arrays import Matrix
from whyflag.checks import check_choice, check_kind, check_number
from whyflag.domain import Domain
from whyflag.games.base import CharacteristicFunction, Game
from whyflag.games.coalition_minimum import CoalitionMinimum
from whyflag.minimise import LIMITS, Limits, Shape
from whyflag.score import Score


@final
@dataclass(frozen=True)
class NeighborhoodMinimum(CharacteristicFunction):
    """Absent features take the values of lowest score within a radius of x: v.

    v(S; x) = e(x*(S)), where x*(S) minimises e(y) over y ∈ M_x, y_S = x_S.

    M_x holds the points of the domain within a radius of x, in units of the columns' scales: a
    box (each column within the radius) or a ball (the Euclidean norm of all columns). The minimum
    is the one that descent from x finds; a score with several may have a lower one.

    Args:
        radius: Size of M_x in units of the scale. A row outside the range of normal rows is first
            brought to the nearest point inside: M_x is around that.
        shape: "box" or "ball".
        limits: What a minimisation may spend.
    """

    radius: float = 1.0
    shape: Shape = "box"
    limits: Limits = field(default=LIMITS, repr=False)

    def __post_init__(self) -> None:
        check_number("radius", self.radius, above=0)
        check_choice("shape", self.shape, ("box", "ball"))
        check_kind("limits", self.limits, Limits, "Limits(...)")

    def _bind(self, score: Score, domain: Domain, X: Matrix) -> Game:
        return CoalitionMinimum(
            score, domain, X, radius=self.radius, shape=self.shape, limits=self.limits
        )
