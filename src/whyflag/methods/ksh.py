"""KSH, kernel SHAP: absent features take the values of typical normal rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

import numpy as np

from whyflag.arrays import Matrix, Vector
from whyflag.domain import Domain
from whyflag.games import Background
from whyflag.methods.base import BoundMethod, Method
from whyflag.methods.shapley import ShapleyMethod
from whyflag.score import Score
from whyflag.shapley import Kernel, ShapleySolver


@final
@dataclass(frozen=True)
class KSH(Method):
    """Kernel SHAP with k-means centres of the background as references, weighted by cluster size.

    Every feature gets its value: none is left out, whatever their number.

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

    def _bind(self, score: Score, domain: Domain, background: Matrix) -> BoundMethod:
        centers, sizes = cluster_centers(background, domain, self.n_references, self.seed)
        game = Background(score, centers, sizes, domain)
        return ShapleyMethod(game, self.solver, self.name, self.settings)


def cluster_centers(rows: Matrix, domain: Domain, k: int, seed: int) -> tuple[Matrix, Vector]:
    """Centres of k-means in units of the scales, and their sizes: (k, d), (k,).

    Each value of a centre is rounded to the nearest one of its column, as shap does, so that a
    binary column stays binary. Fewer distinct rows than k are all taken.
    """
    from sklearn.cluster import KMeans

    if k < 1:
        raise ValueError(f"`n_references` must be at least 1, got {k}.")
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    if len(distinct) <= k:
        return distinct, counts.astype(np.float64)
    means = KMeans(k, n_init=10, random_state=seed).fit(rows / domain.scale)
    centers = np.empty((k, rows.shape[1]))
    for j, column in enumerate(rows.T):
        wanted = means.cluster_centers_[:, j] * domain.scale[j]
        centers[:, j] = column[np.abs(column[:, None] - wanted).argmin(axis=0)]
    return centers, np.bincount(means.labels_, minlength=k).astype(np.float64)
