"""Scores made of kernels between a row and rows that the detector keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from whyflag.arrays import BoolMatrix, Matrix, Vector
from whyflag.batches import CALL, batches
from whyflag.score import Gradient, Marginals, Products, Score

KernelName = Literal["linear", "poly", "rbf", "sigmoid"]


@final
@dataclass(frozen=True)
class KernelFunction:
    """A kernel k(x, s) of scikit-learn, and its derivative by x."""

    name: KernelName
    gamma: float = 1.0
    coef0: float = 0.0
    degree: float = 3.0

    def __call__(self, X: Matrix, S: Matrix) -> Matrix:
        """Kernel of each row with each: (n, d), (m, d) -> (n, m)."""
        if self.name == "rbf":
            values = squared_distances(X, S)
            values *= -self.gamma
            return np.exp(values, out=values)
        dot = X @ S.T
        if self.name == "linear":
            return dot
        if self.name == "poly":
            return (self.gamma * dot + self.coef0) ** self.degree
        return np.tanh(self.gamma * dot + self.coef0)

    def pullback(self, X: Matrix, S: Matrix, weights: Matrix) -> Matrix:
        """Gradient by x of Σ_j w_j k(x, s_j): (n, d), (m, d), (n, m) -> (n, d)."""
        if self.name == "rbf":
            weighted = weights * self(X, S)
            return 2 * self.gamma * (weighted @ S - weighted.sum(axis=1, keepdims=True) * X)
        if self.name == "linear":
            return weights @ S
        if self.name == "poly":
            inner = self.gamma * (X @ S.T) + self.coef0
            return (weights * self.degree * self.gamma * inner ** (self.degree - 1)) @ S
        return (weights * self.gamma * (1 - self(X, S) ** 2)) @ S


@final
class KernelExpansion:
    """e(x) = constant − Σ_j a_j k(x, s_j), the score of a one-class support vector machine."""

    def __init__(
        self, kernel: KernelFunction, support: Matrix, coefficients: Vector, constant: float = 0.0
    ) -> None:
        self._kernel = kernel
        self._support = support
        self._coefficients = coefficients
        self._constant = constant

    def to_score(self) -> Score:
        """The score, with all that is known of it."""
        return Score(
            self,
            (Gradient(self.value_and_grad), *self._products()),
            n_features=self._support.shape[1],
            name="a kernel expansion",
        )

    def _products(self) -> tuple[Products, ...]:
        if self._kernel.name != "rbf":
            return ()
        return (
            Products(
                self._support,
                self._coefficients,
                self._kernel.gamma,
                self._constant,
                logarithm=False,
                sources=np.arange(self._support.shape[1]),
            ),
        )

    def __call__(self, X: Matrix) -> Vector:
        value = np.empty(len(X))
        for rows in batches(len(X), len(self._support), CALL):
            value[rows] = self._kernel(X[rows], self._support) @ self._coefficients
        return self._constant - value

    def value_and_grad(self, X: Matrix) -> tuple[Vector, Matrix]:
        """The score and its gradient: (n, d) -> (n,), (n, d)."""
        gradient = np.empty_like(X)
        for rows in batches(len(X), len(self._support), CALL):
            part = X[rows]
            weights = np.broadcast_to(-self._coefficients, (len(part), len(self._support)))
            gradient[rows] = self._kernel.pullback(part, self._support, weights)
        return self(X), gradient


@final
class KernelDensityEnergy:
    """e(x) = −log Σ_j w_j N(x; s_j, h² I), w summing to one: a Gaussian kernel density."""

    def __init__(self, support: Matrix, weights: Vector, bandwidth: float) -> None:
        self._support = support
        self._log_weights = np.log(weights / weights.sum())
        self._variance = bandwidth**2

    def to_score(self) -> Score:
        """The energy as a score, with all that is known of it."""
        d = self._support.shape[1]
        products = Products(
            self._support,
            np.exp(self._log_weights),
            1 / (2 * self._variance),
            self._log_normaliser(d),
            logarithm=True,
            sources=np.arange(d),
        )
        marginals = Marginals(self.marginal, log_units=np.log)
        return Score(
            self,
            (Gradient(self.value_and_grad), marginals, products),
            n_features=d,
            unit=1.0,
            name="a kernel density",
        )

    def __call__(self, X: Matrix) -> Vector:
        value = np.empty(len(X))
        for rows in batches(len(X), len(self._support), CALL):
            value[rows] = self._energy_and_shares(X[rows])[0]
        return value

    def value_and_grad(self, X: Matrix) -> tuple[Vector, Matrix]:
        """The energy and its gradient: (n, d) -> (n,), (n, d)."""
        value, gradient = np.empty(len(X)), np.empty_like(X)
        for rows in batches(len(X), len(self._support), CALL):
            value[rows], share = self._energy_and_shares(X[rows])
            share /= share.sum(axis=1, keepdims=True)
            gradient[rows] = (X[rows] - share @ self._support) / self._variance
        return value, gradient

    def _energy_and_shares(self, X: Matrix) -> tuple[Vector, Matrix]:
        """The energy, (n,), and what each kernel adds to it in parts of the largest, (n, m)."""
        log_joint = squared_distances(X, self._support)
        log_joint /= -2 * self._variance
        log_joint += self._log_weights
        largest = log_joint.max(axis=1, keepdims=True)
        log_joint -= largest
        share = np.exp(log_joint, out=log_joint)
        value = -(largest[:, 0] + np.log(share.sum(axis=1)))
        return value + self._log_normaliser(X.shape[1]), share

    def marginal(self, X: Matrix, keep: BoolMatrix) -> Matrix:
        """Energy of the marginal density of the columns in `keep`; of no column it is 0."""
        energies = np.zeros((len(X), len(keep)))
        for j, columns in enumerate(keep):
            if columns.any():
                part = KernelDensityEnergy(
                    self._support[:, columns],
                    np.exp(self._log_weights),
                    float(np.sqrt(self._variance)),
                )
                energies[:, j] = part(X[:, columns])
        return energies

    def _log_normaliser(self, d: int) -> float:
        return 0.5 * d * float(np.log(2 * np.pi * self._variance))


def squared_distances(X: Matrix, S: Matrix) -> Matrix:
    """‖x − s‖² of each row with each: (n, d), (m, d) -> (n, m)."""
    # The square of a sum is one matrix product; far from the origin it cancels, so both are moved.
    center = S.mean(axis=0)
    X, S = X - center, S - center
    squares = (-2 * X) @ S.T
    squares += (X * X).sum(axis=1)[:, None]
    squares += (S * S).sum(axis=1)
    return np.maximum(squares, 0.0, out=squares)
