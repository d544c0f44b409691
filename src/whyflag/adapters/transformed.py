"""A score of rows that go through maps first: what a pipeline scores, in units of its input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from whyflag.adapters.transformers import LinearMap, Map
from whyflag.arrays import BoolMatrix, IntVector, Matrix, Tensor, Vector
from whyflag.score import CurvedScore, DifferentiableScore, MarginalScore

# Maps that leave out a direction leave no curvature along it; the minimiser needs some.
FLOOR = 1e-9  # of the curvature along the axes


def transformed(maps: Sequence[Map], score: DifferentiableScore) -> DifferentiableScore:
    """The score after the maps, with as many of its capabilities as survive them."""
    chain = Chain(tuple(maps))
    linear = [step for step in maps if isinstance(step, LinearMap)]
    if len(linear) < len(maps) or not isinstance(score, CurvedScore):
        return TransformedScore(chain, score)
    curved = CurvedTransformedScore(chain, score, _curvatures(linear, score.curvatures))
    if isinstance(score, MarginalScore) and all(step.columnwise for step in linear):
        return ColumnwiseTransformedScore(chain, score, curved)
    return curved


@final
@dataclass(frozen=True)
class Chain:
    """Maps one after another."""

    maps: tuple[Map, ...]

    def __call__(self, X: Matrix) -> Matrix:
        for step in self.maps:
            X = step(X)
        return X

    def inputs(self, X: Matrix) -> list[Matrix]:
        """What goes into each map, and what comes out of the last."""
        stages = [X]
        for step in self.maps:
            stages.append(step(stages[-1]))
        return stages

    def pullback(self, stages: list[Matrix], gradient: Matrix) -> Matrix:
        """Turn a gradient by what comes out into one by what went in."""
        for step, X in zip(reversed(self.maps), reversed(stages[:-1]), strict=True):
            gradient = step.pullback(X, gradient)
        return gradient


@final
class TransformedScore(DifferentiableScore):
    """A differentiable score after any maps."""

    def __init__(self, chain: Chain, score: DifferentiableScore) -> None:
        self.threshold, self.unit = score.threshold, score.unit
        self._chain, self._score = chain, score

    def __call__(self, X: Matrix) -> Vector:
        return self._score(self._chain(X))

    def value_and_grad(self, X: Matrix) -> tuple[Vector, Matrix]:
        stages = self._chain.inputs(X)
        value, gradient = self._score.value_and_grad(stages[-1])
        return value, self._chain.pullback(stages, gradient)


@final
class CurvedTransformedScore(CurvedScore):
    """A curved score after affine maps."""

    def __init__(self, chain: Chain, score: CurvedScore, curvatures: Tensor) -> None:
        self.threshold, self.unit = score.threshold, score.unit
        self.curvatures = curvatures
        self._chain, self._score = chain, score

    def __call__(self, X: Matrix) -> Vector:
        return self._score(self._chain(X))

    def value_grad_curvature(self, X: Matrix) -> tuple[Vector, Matrix, IntVector]:
        stages = self._chain.inputs(X)
        value, gradient, regime = self._score.value_grad_curvature(stages[-1])
        return value, self._chain.pullback(stages, gradient), regime


@final
class ColumnwiseTransformedScore(CurvedScore, MarginalScore):
    """A curved score with marginals after maps that leave each column to itself."""

    def __init__(self, chain: Chain, score: MarginalScore, curved: CurvedTransformedScore) -> None:
        self.threshold, self.unit = curved.threshold, curved.unit
        self.curvatures = curved.curvatures
        self._chain, self._score, self._curved = chain, score, curved

    def __call__(self, X: Matrix) -> Vector:
        return self._curved(X)

    def value_grad_curvature(self, X: Matrix) -> tuple[Vector, Matrix, IntVector]:
        return self._curved.value_grad_curvature(X)

    def marginal(self, X: Matrix, keep: BoolMatrix) -> Matrix:
        return self._score.marginal(self._chain(X), keep)


def _curvatures(maps: Sequence[LinearMap], curvatures: Tensor) -> Tensor:
    """J C Jᵀ for the maps' joint Jacobian J: (K, k, k) -> (K, d, d)."""
    for step in reversed(maps):
        jacobian = np.diag(step.jacobian) if step.columnwise else step.jacobian
        curvatures = jacobian @ curvatures @ jacobian.T
    return curvatures * (1 + FLOOR * np.eye(curvatures.shape[1]))
