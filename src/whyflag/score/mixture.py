"""The energy of a Gaussian mixture, with its gradient and its true marginals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

import numpy as np
from scipy.linalg import solve_triangular

from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix, Tensor, Vector
from whyflag.batches import CALL, batches
from whyflag.score.base import Score
from whyflag.score.conditioned_mixture import LOG_2PI, ConditionedMixture, log_sum_exp
from whyflag.score.curvature import Curvature
from whyflag.score.gradient import Gradient
from whyflag.score.growing import GrowingMarginal
from whyflag.score.marginals import Marginals

FEWEST = 256  # rows at a time: with fewer, matrix products are slow


@final
class MixtureEnergy:
    """Negative log-density of a Gaussian mixture.

    e(x) = −log Σ_k π_k N(x; μ_k, Σ_k)

    The mixture is given for standardised rows (x − location) / spread; the energy is that of x
    itself, in nats.

    Args:
        log_weights: Logarithms of the mixture weights π, (K,).
        means: Means of the standardised rows, (K, d).
        covariances: Covariances of the standardised rows, (K, d, d).
        location: What was subtracted from each column, (d,).
        spread: What each column was divided by, (d,).
        whiten: Triangular W_k with Σ_k⁻¹ = W_k W_kᵀ, (K, d, d), if they are known: where
            covariances are nearly singular, only a detector's own give the detector's own scores.
    """

    def __init__(
        self,
        log_weights: Vector,
        means: Matrix,
        covariances: Tensor,
        location: Vector | None = None,
        spread: Vector | None = None,
        *,
        whiten: Tensor | None = None,
    ) -> None:
        d = means.shape[1]
        self.log_weights = log_weights
        self.means = means
        self.covariances = covariances
        self.location = np.zeros(d) if location is None else location
        self.spread = np.ones(d) if spread is None else spread
        if whiten is None:
            whiten = np.array([_inverse_cholesky(covariance).T for covariance in covariances])
        # One below the other, so that one matrix product serves all components.
        self._whiten = np.vstack([w.T / self.spread for w in whiten])  # Kd x d
        # Where one component dominates, its precision is the second derivative of the energy.
        self.curvatures = np.array(
            [w @ w.T / np.outer(self.spread, self.spread) for w in whiten]
        )  # K x d x d
        self.centers = self.location + self.spread * means
        self._whitened_means = np.hstack([mean @ w for mean, w in zip(means, whiten, strict=True)])[
            :, None
        ]  # Kd x 1
        log_det = np.array([np.log(np.diag(w)).sum() for w in whiten])  # K
        self._log_constant = (
            self.log_weights + log_det - 0.5 * d * LOG_2PI - np.log(self.spread).sum()
        )[:, None]  # K x 1

    def to_score(self) -> Score:
        """The energy as a score, with all that is known of it."""
        return Score(
            self,
            (
                Gradient(self.value_and_grad),
                Curvature(self.value_grad_regime, self.curvatures, self.centers),
                Marginals(self.marginal, self.growing, np.log),
            ),
            n_features=self.means.shape[1],
            unit=1.0,
            name="a Gaussian mixture",
        )

    def __call__(self, X: Matrix) -> Vector:
        value = np.empty(len(X))
        for some in self._blocks(len(X)):
            value[some] = -log_sum_exp(self._log_joint(self._whitened(X[some])), axis=0)
        return value

    def value_and_grad(self, X: Matrix) -> tuple[Vector, Matrix]:
        """The energy and its gradient: (n, d) -> (n,), (n, d)."""
        value, gradient, _ = self.value_grad_regime(X)
        return value, gradient

    def value_grad_regime(self, X: Matrix) -> tuple[Vector, Matrix, IntVector]:
        """The same, and which component rules: (n,)."""
        value, gradient = np.empty(len(X)), np.empty(X.shape, order="F")
        regime = np.empty(len(X), dtype=np.int64)
        for some in self._blocks(len(X)):
            value[some], gradient[some], regime[some] = self._derive(X[some])
        return value, gradient, regime

    def _derive(self, X: Matrix) -> tuple[Vector, Matrix, IntVector]:
        white = self._whitened(X)  # K x d x n
        log_joint = self._log_joint(white)  # K x n
        log_density = log_sum_exp(log_joint, axis=0)  # n
        white *= np.exp(log_joint - log_density)[:, None, :]
        gradient = self._whiten.T @ white.reshape(-1, len(X))  # d x n
        return -log_density, gradient.T, log_joint.argmax(axis=0)

    def marginal(self, X: Matrix, keep: BoolMatrix) -> Matrix:
        """Energy of the marginal density of the columns in `keep`; of no column it is 0.

        The marginal of a Gaussian has the block of the covariance (whose inverse is not the
        block of the precision).
        """
        Z = (X - self.location) / self.spread
        return np.stack([self._marginal(Z, np.flatnonzero(columns)) for columns in keep], axis=1)

    def growing(self, X: Matrix, begin: BoolVector) -> GrowingMarginal:
        """The same on sets of columns that grow."""
        Z = (X - self.location) / self.spread
        grown = ConditionedMixture(
            self.log_weights, self.means, self.covariances, np.log(self.spread), Z
        )
        grown.add(np.broadcast_to(begin, X.shape))
        return grown

    def _marginal(self, Z: Matrix, columns: np.ndarray) -> Vector:
        if len(columns) == 0:
            return np.zeros(len(Z))
        log_joint = np.empty((len(Z), len(self.means)))
        for k, (mean, covariance) in enumerate(zip(self.means, self.covariances, strict=True)):
            factor = np.linalg.cholesky(covariance[np.ix_(columns, columns)])
            white = solve_triangular(factor, (Z[:, columns] - mean[columns]).T, lower=True)
            log_det = np.log(np.diag(factor)).sum() + np.log(self.spread[columns]).sum()
            log_joint[:, k] = (
                self.log_weights[k]
                - 0.5 * (white**2).sum(axis=0)
                - log_det
                - 0.5 * len(columns) * LOG_2PI
            )
        return -log_sum_exp(log_joint, axis=1)

    def _blocks(self, n: int) -> Iterator[slice]:
        """Rows few enough for what is made of them to stay in a cache."""
        return batches(n, self.means.size, CALL, FEWEST)

    def _whitened(self, X: Matrix) -> Tensor:
        # Rows come last: then every sum and maximum runs along thousands of rows instead of
        # along a handful of components, which is several times faster.
        white = self._whiten @ (X - self.location).T  # Kd x n
        white -= self._whitened_means
        return white.reshape(*self.means.shape, len(X))  # K x d x n

    def _log_joint(self, white: Tensor) -> Matrix:
        half_squares = -0.5 * np.einsum("kdn,kdn->kn", white, white)
        return half_squares + self._log_constant


def _inverse_cholesky(covariance: Matrix) -> Matrix:
    factor = np.linalg.cholesky(covariance)
    return solve_triangular(factor, np.eye(len(covariance)), lower=True)
