"""ASH, the anomaly Shapley value: the paper's method."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

from whyflag.checks import check_kind
from whyflag.games import CharacteristicFunction, RelaxedMinimum
from whyflag.methods.base import BoundMethod, Method
from whyflag.methods.shapley import ShapleyValue
from whyflag.prepared import Prepared
from whyflag.shapley import Kernel, ShapleySolver


@final
@dataclass(frozen=True)
class ASH(Method):
    """Anomaly Shapley value: absent features take values that make the row as normal as can be.

    Needs no background rows.

    Args:
        game: What absence means: `RelaxedMinimum()` (v̲, p + 1 minimisations a row),
            `LocalMinimum()` (v̂, one for each coalition), `NeighborhoodMinimum()` (v, within a
            radius of x), each with settings of its own; or a characteristic function of yours.
        solver: How the sum over coalitions is done.
    """

    name: ClassVar[str] = "ASH"

    game: CharacteristicFunction = field(default_factory=RelaxedMinimum)
    solver: ShapleySolver = field(default_factory=Kernel)

    def __post_init__(self) -> None:
        check_kind(
            "game",
            self.game,
            CharacteristicFunction,
            "a characteristic function such as RelaxedMinimum() or LocalMinimum(gamma=0.1)",
        )
        check_kind("solver", self.solver, ShapleySolver, "a ShapleySolver such as Kernel()")

    def _bind(self, prepared: Prepared) -> BoundMethod:
        return ShapleyValue(prepared, self.game, self.solver)
