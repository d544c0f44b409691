"""Scores that are a sum of parts, one for each feature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, final

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix
from whyflag.score.ability import Ability
from whyflag.score.growing import AdditiveMarginal, GrowingMarginal
from whyflag.score.map import Map
from whyflag.score.marginals import Marginals, by_source

Parts = Callable[[Matrix], Matrix]


@final
@dataclass(frozen=True, eq=False)
class Additive(Ability):
    """The part of each feature: (n, d) -> (n, d). A row's parts sum to its score."""

    meaning: ClassVar[str] = "a score that is a sum of parts, one for each feature"

    parts: Parts

    def after(self, step: Map) -> Additive | None:
        """What is left if each column that comes out is made of one: the sum of its parts."""
        if step.sources is None:
            return None
        return Additive(partial(_parts_after, self.parts, step, step.sources))


def of_parts(parts: Parts) -> tuple[Additive, Marginals]:
    """What is known of a score that is a sum of parts."""
    return Additive(parts), Marginals(partial(_marginal, parts), partial(_growing, parts))


def _parts_after(parts: Parts, step: Map, sources: IntVector, X: Matrix) -> Matrix:
    return by_source(parts(step(X)), sources, X.shape[1])


def _marginal(parts: Parts, X: Matrix, keep: BoolMatrix) -> Matrix:
    return parts(X) @ keep.T.astype(np.float64)


def _growing(parts: Parts, X: Matrix, begin: BoolVector) -> GrowingMarginal:
    return AdditiveMarginal(parts(X), begin)
