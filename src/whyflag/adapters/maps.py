"""Maps of rows, and what is known of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from whyflag.adapters.kernels import KernelFunction
from whyflag.arrays import IntVector, Matrix, Vector
from whyflag.score.map import Function, Map

STEP = 1e-6  # of a value's magnitude


@final
class LinearMap(Map):
    """z = x J + c, with the transformer's own arithmetic.

    Args:
        function: What makes z.
        jacobian: J, (d, k), or its diagonal, (d,).
    """

    smooth = True

    def __init__(self, function: Function, jacobian: Matrix | Vector) -> None:
        self.n_features = len(jacobian)
        self.jacobian = self._jacobian = jacobian
        self.sources = _sources(jacobian)
        self._function = function

    def __call__(self, X: Matrix) -> Matrix:
        return self._function(X)

    def derive(self, X: Matrix) -> tuple[Matrix, Function]:
        if self._jacobian.ndim == 1:
            return self(X), lambda gradient: gradient * self._jacobian
        return self(X), lambda gradient: gradient @ self._jacobian.T

    def scales(self, scale: Vector) -> Vector:
        # Where each column of z has one source, one term of the product is not zero.
        slopes = np.abs(self._jacobian)
        return scale * slopes if slopes.ndim == 1 else scale @ slopes


@final
class ColumnwiseMap(Map):
    """Each column by a function of its own, whose slope is measured if it is `smooth`."""

    def __init__(
        self, function: Function, n_features: int, *, smooth: bool, kinked: bool = False
    ) -> None:
        self.n_features = n_features
        self.smooth, self.kinked = smooth, kinked
        self.sources = np.arange(n_features)
        self._function = function

    def __call__(self, X: Matrix) -> Matrix:
        return self._function(X)

    def derive(self, X: Matrix) -> tuple[Matrix, Function]:
        # No column touches another, so two calls measure all slopes.
        step = STEP * np.maximum(np.abs(X), STEP)
        ahead, behind = X + step, X - step
        slopes = (self(ahead) - self(behind)) / (ahead - behind)
        return self(X), lambda gradient: gradient * slopes

    def scales(self, scale: Vector) -> Vector:
        # Behind a bend the units of x are gone: what comes out is counted as it is.
        return np.ones_like(scale)


@final
class KernelMap(Map):
    """z = k(x, S) N, the Nystroem approximation of a kernel."""

    smooth = True

    def __init__(self, kernel: KernelFunction, support: Matrix, normalization: Matrix) -> None:
        self.n_features = support.shape[1]
        self._kernel = kernel
        self._support = support
        self._normalization = normalization

    def __call__(self, X: Matrix) -> Matrix:
        return self._kernel(X, self._support) @ self._normalization.T

    def derive(self, X: Matrix) -> tuple[Matrix, Function]:
        return self(X), lambda gradient: self._kernel.pullback(
            X, self._support, gradient @ self._normalization
        )


@final
class FourierMap(Map):
    """z = a cos(x W + b), random Fourier features."""

    smooth = True

    def __init__(self, weights: Matrix, offset: Vector, amplitude: float) -> None:
        self.n_features = len(weights)
        self._weights = weights
        self._offset = offset
        self._amplitude = amplitude

    def __call__(self, X: Matrix) -> Matrix:
        return self._amplitude * np.cos(X @ self._weights + self._offset)

    def derive(self, X: Matrix) -> tuple[Matrix, Function]:
        slope = -self._amplitude * np.sin(X @ self._weights + self._offset)
        return self(X), lambda gradient: (gradient * slope) @ self._weights.T


@final
class UnknownMap(Map):
    """A map of which nothing is known but what it makes of rows."""

    known = False

    def __init__(self, function: Function, n_features: int | None) -> None:
        self.n_features = n_features
        self._function = function

    def __call__(self, X: Matrix) -> Matrix:
        return self._function(X)


@final
class Chain(Map):
    """Maps one after another; of none, rows stay as they are."""

    def __init__(self, maps: Sequence[Map]) -> None:
        self.maps = tuple(maps)
        self.n_features = maps[0].n_features if maps else None
        self.known = all(step.known for step in maps)
        self.smooth = all(step.smooth for step in maps)
        self.kinked = any(step.kinked for step in maps)
        for i, step in enumerate(maps):
            self.jacobian = _product(self.jacobian, step.jacobian) if i else step.jacobian
            self.sources = _composed(self.sources, step.sources) if i else step.sources

    def __call__(self, X: Matrix) -> Matrix:
        for step in self.maps:
            X = step(X)
        return X

    def derive(self, X: Matrix) -> tuple[Matrix, Function]:
        back = []
        for step in self.maps:
            X, pull = step.derive(X)
            back.append(pull)

        def pullback(gradient: Matrix) -> Matrix:
            for pull in reversed(back):
                gradient = pull(gradient)
            return gradient

        return X, pullback

    def scales(self, scale: Vector) -> Vector:
        for step in self.maps:
            scale = step.scales(scale)
        return scale


@final
class Beside(Map):
    """Maps side by side, each of some columns, times a weight: z is what they make, in a row.

    Args:
        parts: Columns, map and weight of each.
        n_features: The number of columns of x.
    """

    def __init__(self, parts: Sequence[tuple[IntVector, Map, float]], n_features: int) -> None:
        self.parts = tuple(parts)
        self.n_features = self._width = n_features
        self.known = all(step.known for _, step, _ in parts)
        self.smooth = all(step.smooth for _, step, _ in parts)
        self.kinked = any(step.kinked for _, step, _ in parts)
        sources = [columns[step.sources] for columns, step, _ in parts if step.sources is not None]
        if len(sources) == len(parts):
            self.sources = np.concatenate(sources)
        jacobians = [
            self._placed(columns, weight * _full(step.jacobian))
            for columns, step, weight in parts
            if step.jacobian is not None
        ]
        if len(jacobians) == len(parts):
            self.jacobian = np.hstack(jacobians)

    def __call__(self, X: Matrix) -> Matrix:
        return np.hstack([weight * step(X[:, columns]) for columns, step, weight in self.parts])

    def derive(self, X: Matrix) -> tuple[Matrix, Function]:
        derived = [step.derive(X[:, columns]) for columns, step, _ in self.parts]
        ends = np.cumsum([image.shape[1] for image, _ in derived])

        def pullback(gradient: Matrix) -> Matrix:
            total = np.zeros_like(X)
            pieces = np.split(gradient, ends[:-1], axis=1)
            for (columns, _, weight), (_, pull), piece in zip(
                self.parts, derived, pieces, strict=True
            ):
                total[:, columns] += weight * pull(piece)
            return total

        weights = [weight for _, _, weight in self.parts]
        images = [weight * image for weight, (image, _) in zip(weights, derived, strict=True)]
        return np.hstack(images), pullback

    def scales(self, scale: Vector) -> Vector:
        return np.concatenate(
            [abs(weight) * step.scales(scale[columns]) for columns, step, weight in self.parts]
        )

    def _placed(self, columns: IntVector, jacobian: Matrix) -> Matrix:
        """The part's Jacobian by all columns: (c, k) -> (d, k)."""
        placed = np.zeros((self._width, jacobian.shape[1]))
        placed[columns] = jacobian
        return placed


def _full(jacobian: Matrix | Vector) -> Matrix:
    return np.diag(jacobian) if jacobian.ndim == 1 else jacobian


def _sources(jacobian: Matrix | Vector) -> IntVector | None:
    if jacobian.ndim == 1:
        return np.arange(len(jacobian))
    single = bool(((jacobian != 0).sum(axis=0) == 1).all())
    return (jacobian != 0).argmax(axis=0) if single else None


def _product(one: Matrix | Vector | None, other: Matrix | Vector | None) -> Matrix | Vector | None:
    if one is None or other is None:
        return None
    if one.ndim == 1 and other.ndim == 2:
        return one[:, None] * other
    return one * other if other.ndim == 1 else one @ other


def _composed(one: IntVector | None, other: IntVector | None) -> IntVector | None:
    return None if one is None or other is None else one[other]
