"""wKSH, kernel SHAP with neighbours: absent features take the values of the nearest normal rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

from whyflag.checks import check_kind, check_whole
from whyflag.games import Background, Nearest
from whyflag.methods.base import BoundMethod, Method
from whyflag.methods.shapley import ShapleyValue
from whyflag.prepared import Prepared
from whyflag.shapley import Kernel, ShapleySolver


@final
@dataclass(frozen=True)
class WKSH(Method):
    """Kernel SHAP with the background rows nearest to x as references, all of equal weight.

    The Shapley value, where absent features take the values of these rows, on average.

    Args:
        n_references: Number of rows.
        solver: How the sum over coalitions is done.
    """

    name: ClassVar[str] = "wKSH"
    needs_background: ClassVar[bool] = True

    n_references: int = 8
    solver: ShapleySolver = field(default_factory=Kernel)

    def __post_init__(self) -> None:
        check_whole("n_references", self.n_references, at_least=1)
        check_kind("solver", self.solver, ShapleySolver, "a ShapleySolver such as Kernel()")

    def _bind(self, prepared: Prepared) -> BoundMethod:
        nearest = Nearest(prepared.background, prepared.domain, self.n_references)
        return ShapleyValue(prepared, Background(nearest), self.solver)
