"""Marginal energies of a Gaussian mixture on sets of columns that grow."""

from __future__ import annotations

from typing import final

import numpy as np

from whyflag.arrays import BoolMatrix, IntVector, Matrix, Tensor, Vector
from whyflag.score.growing import GrowingMarginal

LOG_2PI = float(np.log(2 * np.pi))


@final
class ConditionedMixture(GrowingMarginal):
    """The energy of a mixture's marginals, by conditioning each component on one column more.

    That costs K d² operations for a row, where a marginal asked for anew costs K d³.

    Args:
        log_weights: Logarithms of the mixture weights, (K,).
        means: Means of the standardised rows, (K, d).
        covariances: Covariances of the standardised rows, (K, d, d).
        log_spread: Logarithms of what each column was divided by, (d,).
        Z: The standardised rows, (n, d).
    """

    def __init__(
        self, log_weights: Vector, means: Matrix, covariances: Tensor, log_spread: Vector, Z: Matrix
    ) -> None:
        self._log_spread = log_spread
        self._log_joint = np.tile(log_weights, (len(Z), 1))  # n x K: of the columns inside
        # Of the columns outside, given those inside.
        self._away = Z[:, None, :] - means  # n x K x d
        self._covariance = np.tile(covariances, (len(Z), 1, 1, 1))  # n x K x d x d

    def added(self, groups: BoolMatrix) -> Matrix:
        alone = groups.sum(axis=1) == 1
        scores = np.empty((len(self._away), len(groups)))
        column = groups[alone].argmax(axis=1)
        variance = np.einsum("nkii->nki", self._covariance)[:, :, column]  # n x K x singles
        log_density = (
            -0.5 * (self._away[:, :, column] ** 2 / variance + np.log(variance) + LOG_2PI)
            - self._log_spread[column]
        )
        scores[:, alone] = -log_sum_exp(self._log_joint[:, :, None] + log_density, axis=1)
        for j in np.flatnonzero(~alone):
            log_density = self._log_density(np.flatnonzero(groups[j]))  # n x K
            scores[:, j] = -log_sum_exp(self._log_joint + log_density, axis=1)
        return scores

    def _log_density(self, columns: IntVector) -> Matrix:
        """Log-density of columns given those inside: n x K."""
        block = self._covariance[:, :, columns[:, None], columns]  # n x K x g x g
        factor = np.linalg.cholesky(block)
        white = np.linalg.solve(factor, self._away[:, :, columns, None])[..., 0]
        log_det = np.log(np.einsum("nkii->nki", factor)).sum(axis=2)
        log_det += self._log_spread[columns].sum()
        return -0.5 * (white**2).sum(axis=2) - log_det - 0.5 * len(columns) * LOG_2PI

    def add(self, columns: BoolMatrix) -> None:
        left = columns.copy()
        while (rows := np.flatnonzero(left.any(axis=1))).size:
            chosen = left[rows].argmax(axis=1)
            left[rows, chosen] = False
            self._condition(rows, chosen)

    def _condition(self, rows: IntVector, column: IntVector) -> None:
        """Condition each of these rows on one column."""
        covariance, away = self._covariance[rows], self._away[rows]
        each = np.arange(len(rows))
        shared = covariance[each, :, column]  # r x K x d: of the column with every other
        variance = shared[each, :, column][:, :, None]  # r x K x 1
        residual = away[each, :, column][:, :, None]  # r x K x 1
        self._log_joint[rows] -= 0.5 * (residual**2 / variance + np.log(variance) + LOG_2PI)[..., 0]
        self._log_joint[rows] -= self._log_spread[column][:, None]
        slope = shared / variance
        covariance -= slope[..., :, None] * shared[..., None, :]
        away -= slope * residual
        # What is inside stays out of the way: uncorrelated, of variance one.
        covariance[each, :, column, :] = covariance[each, :, :, column] = 0.0
        covariance[each, :, column, column] = 1.0
        self._covariance[rows], self._away[rows] = covariance, away


def log_sum_exp(log_terms: Tensor, axis: int) -> Tensor:
    """Log Σ exp along one dimension, that of the components."""
    # SciPy's logsumexp is as exact and several times slower on a handful of components.
    largest = log_terms.max(axis=axis, keepdims=True)
    terms = log_terms - largest
    np.exp(terms, out=terms)
    return largest.squeeze(axis) + np.log(terms.sum(axis=axis))
