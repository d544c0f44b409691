"""KSH, kernel SHAP: absent features take the values of typical normal rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

from whyflag.checks import check_kind, check_whole
from whyflag.clusters import cluster_centers
from whyflag.games import Background
from whyflag.methods.base import BoundMethod, Method
from whyflag.methods.shapley import ShapleyValue
from whyflag.prepared import Prepared
from whyflag.shapley import Kernel, ShapleySolver


@final
@dataclass(frozen=True)
class KSH(Method):
    """Kernel SHAP with k-means centres of the background as references, weighted by cluster size.

    The Shapley value, where absent features take the values of the references, on average. Every
    feature gets its value: none is left out, whatever their number.

    Args:
        n_references: Number of centres.
        solver: How the sum over coalitions is done.
        seed: Seed of k-means.
    """

    name: ClassVar[str] = "KSH"
    needs_background: ClassVar[bool] = True

    n_references: int = 8
    solver: ShapleySolver = field(default_factory=Kernel)
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole("n_references", self.n_references, at_least=1)
        check_kind("solver", self.solver, ShapleySolver, "a ShapleySolver such as Kernel()")
        check_whole("seed", self.seed, at_least=0, at_most=2**32 - 1)

    def _bind(self, prepared: Prepared) -> BoundMethod:
        rows, scale = prepared.background, prepared.domain.scale
        centers, sizes = cluster_centers(rows, scale, self.n_references, self.seed)
        return ShapleyValue(prepared, Background(centers, sizes), self.solver)
