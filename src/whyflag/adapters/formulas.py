"""scikit-learn's detectors, densities and decompositions by formulas of our own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np
from scipy.special import digamma
from sklearn.covariance import EllipticEnvelope
from sklearn.decomposition import PCA, FastICA, IncrementalPCA, TruncatedSVD
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import SGDOneClassSVM
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.svm import OneClassSVM

from whyflag.adapters.forest import IsolationDepth
from whyflag.adapters.kernels import KernelDensityEnergy, KernelExpansion, KernelFunction
from whyflag.adapters.mahalanobis import MahalanobisDistance
from whyflag.adapters.neighbours import local_outlier_factor
from whyflag.adapters.reconstruction import LinearReconstruction
from whyflag.adapters.transformers import kernel_of, transform
from whyflag.arrays import Matrix, Tensor, Vector
from whyflag.score import Score
from whyflag.score.mixture import MixtureEnergy


class Formula(Protocol):
    """A score that is computed by a formula of our own."""

    def to_score(self) -> Score:
        """The score, with all that is known of it."""


def formula_of(detector: Any) -> Formula | None:
    """The formula of a fitted estimator; None where there is none."""
    build = _KNOWN.get(_scored_as(type(detector)))
    return None if build is None else build(detector)


def _scored_as(kind: type) -> type:
    """The class that a class has its scores from: of a subclass we know so for forests only."""
    if not issubclass(kind, IsolationForest):
        return kind
    own = kind.__mro__[: kind.__mro__.index(IsolationForest)]
    changed = any("score" in name for each in own for name in vars(each))
    return kind if changed else IsolationForest


def gaussian_mixture(detector: GaussianMixture | BayesianGaussianMixture) -> MixtureEnergy:
    """The energy of a mixture."""
    k, d = detector.means_.shape
    log_weights = (
        _expected_log_weights(detector)
        if isinstance(detector, BayesianGaussianMixture)
        else np.log(detector.weights_)
    )
    return MixtureEnergy(
        log_weights,
        detector.means_,
        _full(detector.covariances_, detector.covariance_type, k, d),
        whiten=_full(detector.precisions_cholesky_, detector.covariance_type, k, d),
    )


def _full(matrices: Any, covariance_type: str, k: int, d: int) -> Tensor:
    """One matrix for each component, whatever they have in common: (K, d, d)."""
    if covariance_type == "full":
        return matrices
    if covariance_type == "tied":
        return np.broadcast_to(matrices, (k, d, d))
    diagonal = matrices if covariance_type == "diag" else np.repeat(matrices[:, None], d, axis=1)
    return diagonal[:, :, None] * np.eye(d)


def _expected_log_weights(detector: BayesianGaussianMixture) -> Vector:
    """Weights under the variational posterior, with what it adds to each log-density: (K,)."""
    d = detector.means_.shape[1]
    freedom = detector.degrees_of_freedom_  # K
    if detector.weight_concentration_prior_type == "dirichlet_process":
        a, b = detector.weight_concentration_  # K, K: of the sticks
        broken = digamma(b) - digamma(a + b)
        log_weights = digamma(a) - digamma(a + b) + np.append(0.0, np.cumsum(broken)[:-1])
    else:
        concentration = detector.weight_concentration_
        log_weights = digamma(concentration) - digamma(concentration.sum())
    log_determinant = d * np.log(2.0) + digamma(0.5 * (freedom - np.arange(d)[:, None])).sum(
        axis=0
    )  # K: expected, of the precision
    added = log_determinant - d * np.log(freedom) - d / detector.mean_precision_
    return np.asarray(log_weights + 0.5 * added)


def _elliptic_envelope(detector: EllipticEnvelope) -> MahalanobisDistance:
    return MahalanobisDistance(detector.location_, detector.covariance_, detector.get_precision())


def isolation_forest(detector: IsolationForest, added: float = 0.0) -> IsolationDepth:
    """The score of a forest, and what is added to it."""
    trees = [estimator.tree_ for estimator in detector.estimators_]
    return IsolationDepth(trees, detector.estimators_features_, detector.max_samples_, added)


def kernel_density(detector: KernelDensity) -> KernelDensityEnergy | None:
    """The energy of a Gaussian kernel density; None for one of another kind."""
    # scikit-learn's own sum loses all digits far from the data; see docs/detectors.md.
    plain = not detector.metric_params or detector.metric_params == {"p": 2}
    euclidean = detector.metric in ("euclidean", "l2", "minkowski") and plain
    exact = detector.atol == 0 and detector.rtol == 0
    if detector.kernel != "gaussian" or not euclidean or not exact:
        return None
    support = np.asarray(detector.tree_.data)
    weights = detector.tree_.sample_weight
    weights = np.ones(len(support)) if weights is None else np.asarray(weights)
    return KernelDensityEnergy(support, weights, float(detector.bandwidth_))


def _linear_reconstruction(detector: Any) -> LinearReconstruction:
    d = int(detector.n_features_in_)
    # r is affine, so its linear part is seen at the origin; whatever r adds cancels.
    origin = reconstruct(detector, np.zeros((1, d)))
    # Steps as long as what is added, which would otherwise take their last digits.
    step = max(1.0, float(np.abs(getattr(detector, "mean_", origin)).max()))
    matrix = (reconstruct(detector, step * np.eye(d)) - origin) / step
    return LinearReconstruction(partial(reconstruct, detector), matrix)


def reconstruct(detector: Any, X: Matrix) -> Matrix:
    """What is left of rows on the way through a decomposition and back."""
    return np.asarray(detector.inverse_transform(transform(detector, X)), dtype=np.float64)


def one_class_svm(detector: OneClassSVM, added: float = 0.0) -> KernelExpansion | None:
    """The score of a support vector machine, and what is added to it."""
    if detector.kernel == "precomputed":
        raise ValueError(
            "OneClassSVM with a precomputed kernel scores kernel values, not features. Pass the "
            "kernel as a function: OneClassSVM(kernel=function)."
        )
    kernel = kernel_of(detector.kernel, float(detector._gamma), detector)
    if kernel is None:
        return None
    support, coefficients = (
        matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        for matrix in (detector.support_vectors_, detector.dual_coef_)
    )
    return KernelExpansion(kernel, support, coefficients[0], added)


def _sgd_one_class_svm(detector: SGDOneClassSVM) -> KernelExpansion:
    return KernelExpansion(KernelFunction("linear"), detector.coef_.reshape(1, -1), np.ones(1))


_KNOWN: dict[type, Callable[[Any], Formula | None]] = {
    BayesianGaussianMixture: gaussian_mixture,
    EllipticEnvelope: _elliptic_envelope,
    FastICA: _linear_reconstruction,
    GaussianMixture: gaussian_mixture,
    IncrementalPCA: _linear_reconstruction,
    IsolationForest: isolation_forest,
    KernelDensity: kernel_density,
    LocalOutlierFactor: local_outlier_factor,
    OneClassSVM: one_class_svm,
    PCA: _linear_reconstruction,
    SGDOneClassSVM: _sgd_one_class_svm,
    TruncatedSVD: _linear_reconstruction,
}
