"""A score of rows that go through maps first: what a pipeline scores, in units of its input."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import lru_cache
from typing import Any, final

import numpy as np

from whyflag.adapters.maps import Chain, Map
from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix, Tensor, Vector
from whyflag.score import (
    AdditiveScore,
    CurvedScore,
    DifferentiableScore,
    MarginalScore,
    Score,
)
from whyflag.score.function import FunctionScore
from whyflag.score.growing import GrowingMarginal

# Maps that leave out a direction leave no curvature along it; the minimiser needs some.
FLOOR = 1e-9  # of the curvature along the axes


def transformed(maps: Sequence[Map], score: Score) -> Score:
    """The score after the maps, with those of its abilities that survive them."""
    if not maps:
        return copy(score)
    chain = Chain(maps)
    abilities = _slopes_behind(chain, score) + _marginals_behind(chain, score)
    if abilities:
        return _composed(abilities)(chain, score)
    # Nothing is known of it: its answers are checked as those of any function.
    plain = FunctionScore(lambda X: score(chain(X)), chain.n_features)
    plain.threshold, plain.unit = score.threshold, score.unit
    return plain


def _slopes_behind(chain: Chain, score: Score) -> tuple[type[Transformed], ...]:
    """A gradient needs the maps' derivatives; a curvature needs them to be constant."""
    if not (chain.smooth and isinstance(score, DifferentiableScore)):
        return ()
    if isinstance(score, CurvedScore) and chain.jacobian is not None:
        return (WithCurvature,)
    return (WithGradient,)


def _marginals_behind(chain: Chain, score: Score) -> tuple[type[Transformed], ...]:
    """A part of the columns must be a part of what comes out."""
    if not (chain.sources is not None and isinstance(score, MarginalScore)):
        return ()
    return (WithParts,) if isinstance(score, AdditiveScore) else (WithMarginals,)


@lru_cache
def _composed(abilities: tuple[type[Transformed], ...]) -> type[Transformed]:
    """The class of scores with these abilities."""
    return type("TransformedScore", abilities, {"abilities": abilities, "__module__": __name__})


def _empty(abilities: tuple[type[Transformed], ...]) -> Transformed:
    return object.__new__(_composed(abilities))


class Transformed(Score):
    """e(T(x)), to be composed with abilities below: one for each that e can have."""

    abilities: tuple[type[Transformed], ...] = ()

    def __init__(self, chain: Chain, score: Any) -> None:
        self.n_features = chain.n_features
        self.threshold, self.unit = score.threshold, score.unit
        self._chain, self._score = chain, score

    def __call__(self, X: Matrix) -> Vector:
        values: Vector = self._score(self._chain(X))
        return values

    def __reduce__(self) -> tuple[Any, ...]:
        # A class made here is found by its abilities, in another process too.
        return _empty, (self.abilities,), vars(self)


class WithGradient(Transformed, DifferentiableScore):
    """The gradient, carried back through the maps."""

    _score: DifferentiableScore

    def value_and_grad(self, X: Matrix) -> tuple[Vector, Matrix]:
        Z, pullback = self._chain.derive(X)
        value, gradient = self._score.value_and_grad(Z)
        return value, pullback(gradient)


class WithCurvature(WithGradient, CurvedScore):
    """J C Jᵀ for the Jacobian J of affine maps."""

    _score: CurvedScore

    def __init__(self, chain: Chain, score: CurvedScore) -> None:
        super().__init__(chain, score)
        jacobian = np.asarray(chain.jacobian)
        self.curvatures = _turned(score.curvatures, jacobian)
        self.centers = _brought_back(score.centers, chain, jacobian)

    def value_grad_curvature(self, X: Matrix) -> tuple[Vector, Matrix, IntVector]:
        Z, pullback = self._chain.derive(X)
        value, gradient, regime = self._score.value_grad_curvature(Z)
        return value, pullback(gradient), regime


class WithMarginals(Transformed, MarginalScore):
    """The marginals, of what columns become."""

    _score: MarginalScore

    def __init__(self, chain: Chain, score: MarginalScore) -> None:
        super().__init__(chain, score)
        self.density = score.density
        self._sources = np.asarray(chain.sources)  # k

    def marginal(self, X: Matrix, keep: BoolMatrix) -> Matrix:
        return self._score.marginal(self._chain(X), keep[:, self._sources])

    def growing(self, X: Matrix, begin: BoolVector) -> GrowingMarginal:
        grown = self._score.growing(self._chain(X), begin[self._sources])
        return TransformedMarginal(grown, self._sources)

    def log_units(self, scale: Vector) -> Vector:
        return self._by_source(self._score.log_units(self._chain.scales(scale))[None, :])[0]

    def _by_source(self, values: Matrix) -> Matrix:
        """Sums of what comes out by where it comes from: (n, k) -> (n, d)."""
        sums = np.zeros((self.n_features or 0, len(values)))
        np.add.at(sums, self._sources, values.T)
        return sums.T


class WithParts(WithMarginals, AdditiveScore):
    """The parts of a sum: that of a column is that of all it becomes."""

    _score: AdditiveScore

    def parts(self, X: Matrix) -> Matrix:
        return self._by_source(self._score.parts(self._chain(X)))


@final
class TransformedMarginal(GrowingMarginal):
    """Sets of columns that grow, by sets of what they become.

    Args:
        grown: Of what comes out of the maps.
        sources: The column that each column of it is made of, (k,).
    """

    def __init__(self, grown: GrowingMarginal, sources: IntVector) -> None:
        self._grown, self._sources = grown, sources

    def added(self, groups: BoolMatrix) -> Matrix:
        return self._grown.added(groups[:, self._sources])

    def add(self, columns: BoolMatrix) -> None:
        self._grown.add(columns[:, self._sources])


def _turned(curvatures: Tensor, jacobian: Matrix | Vector) -> Tensor:
    """J C Jᵀ: (K, k, k) -> (K, d, d)."""
    if jacobian.ndim == 1:
        turned = curvatures * np.outer(jacobian, jacobian)
    else:
        turned = jacobian @ curvatures @ jacobian.T
    return turned * (1 + FLOOR * np.eye(turned.shape[1]))


def _brought_back(centers: Matrix | None, chain: Chain, jacobian: Matrix | Vector) -> Matrix | None:
    """The rows that the maps take to the centres, if each is one row: (K, k) -> (K, d)."""
    whole = jacobian.all() if jacobian.ndim == 1 else jacobian.shape[0] == jacobian.shape[1]
    if centers is None or not whole:
        return None
    away = centers - chain(np.zeros((1, len(jacobian))))
    back = away / jacobian if jacobian.ndim == 1 else np.linalg.solve(jacobian.T, away.T).T
    return np.asarray(back, dtype=np.float64)
