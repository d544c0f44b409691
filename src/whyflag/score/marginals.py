"""Scores that are also defined on a part of the features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, final

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix, Vector
from whyflag.score.ability import Ability
from whyflag.score.growing import AskedMarginal, GrowingMarginal
from whyflag.score.map import Map

Marginal = Callable[[Matrix, BoolMatrix], Matrix]
Grow = Callable[[Matrix, BoolVector], GrowingMarginal]


@final
@dataclass(frozen=True, eq=False)
class Marginals(Ability):
    """The score of rows with only some of their columns.

    Attributes:
        marginal: Scores rows with only the columns of a set: (n, d), bool (m, d) -> (n, m).
        grow: The marginal scores of rows on a set of columns that grows from a first one:
            (n, d), bool (d,) -> GrowingMarginal. None: each set is asked for anew.
        log_units: What the marginal of each column owes to its unit, if a scale is to be one:
            (d,) -> (d,). `np.log` for −log of a density: a column in metres has a marginal that
            is lower by log 1000 than the same in millimetres.
    """

    meaning: ClassVar[str] = (
        "a score of any part of the features (a density, or an error of reconstruction)"
    )

    marginal: Marginal
    grow: Grow | None = None
    log_units: Callable[[Vector], Vector] = np.zeros_like

    def growing(self, X: Matrix, begin: BoolVector) -> GrowingMarginal:
        """The marginal scores of rows, each on a set of columns that grows from `begin`, (d,)."""
        if self.grow is None:
            return AskedMarginal(self.marginal, X, begin)
        return self.grow(X, begin)

    def after(self, step: Map) -> Marginals | None:
        """What is left if each column that comes out is made of one that goes in."""
        if step.sources is None:
            return None
        return Marginals(
            partial(_marginal_after, self.marginal, step, step.sources),
            partial(_grown_after, self.growing, step, step.sources),
            partial(_log_units_after, self.log_units, step, step.sources),
        )


def _marginal_after(
    marginal: Marginal, step: Map, sources: IntVector, X: Matrix, keep: BoolMatrix
) -> Matrix:
    return marginal(step(X), keep[:, sources])


def _grown_after(
    growing: Grow, step: Map, sources: IntVector, X: Matrix, begin: BoolVector
) -> GrowingMarginal:
    return _GrownAfter(growing(step(X), begin[sources]), sources)


def _log_units_after(
    log_units: Callable[[Vector], Vector], step: Map, sources: IntVector, scale: Vector
) -> Vector:
    return by_source(log_units(step.scales(scale))[None, :], sources, len(scale))[0]


def by_source(values: Matrix, sources: IntVector, n_features: int) -> Matrix:
    """Sums of what comes out of a map by where it comes from: (n, k) -> (n, d)."""
    sums = np.zeros((n_features, len(values)))
    np.add.at(sums, sources, values.T)
    return sums.T


@final
class _GrownAfter(GrowingMarginal):
    """Sets of columns that grow, by sets of what they become.

    Args:
        grown: Of what comes out of the map.
        sources: The column that each column of it is made of, (k,).
    """

    def __init__(self, grown: GrowingMarginal, sources: IntVector) -> None:
        self._grown, self._sources = grown, sources

    def added(self, groups: BoolMatrix) -> Matrix:
        return self._grown.added(groups[:, self._sources])

    def add(self, columns: BoolMatrix) -> None:
        self._grown.add(columns[:, self._sources])
