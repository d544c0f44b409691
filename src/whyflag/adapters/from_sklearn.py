"""scikit-learn's detectors, densities and decompositions as scores."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, final

import numpy as np
from scipy.special import digamma
from sklearn.base import BaseEstimator, is_outlier_detector
from sklearn.covariance import EllipticEnvelope
from sklearn.decomposition import PCA, FastICA, IncrementalPCA, TruncatedSVD
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import SGDOneClassSVM
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.pipeline import Pipeline
from sklearn.svm import OneClassSVM
from sklearn.utils.validation import check_is_fitted

from whyflag.adapters import as_score
from whyflag.adapters.forest import IsolationDepth
from whyflag.adapters.kernels import KernelDensityEnergy, KernelExpansion, KernelFunction
from whyflag.adapters.mahalanobis import MahalanobisDistance
from whyflag.adapters.maps import Chain
from whyflag.adapters.reconstruction import AffineError, LinearReconstruction, Reconstruction
from whyflag.adapters.transformers import (
    as_map,
    kernel_of,
    transform,
    with_names,
    working_steps,
)
from whyflag.arrays import Matrix, Tensor, Vector
from whyflag.score import Score
from whyflag.score.audit import Audit
from whyflag.score.function import from_function
from whyflag.score.mixture import MixtureEnergy
from whyflag.score.original import Original


def adapt(detector: Any) -> Score:
    """The score of a fitted scikit-learn estimator.

    A score is that of `score_samples` turned to high = anomalous; of a decomposition, the
    squared error of its reconstruction. The threshold is the estimator's `offset_`.
    """
    if hasattr(detector, "best_estimator_"):  # of a search over settings
        return as_score(detector.best_estimator_)
    if isinstance(detector, LocalOutlierFactor) and not detector.novelty:
        raise ValueError(
            "LocalOutlierFactor can score rows other than its training rows only if it was made "
            "with novelty=True."
        )
    check_is_fitted(detector)
    score = _pipeline(detector) if isinstance(detector, Pipeline) else _estimator(detector)
    # A Pipeline asks its first step, which may be one that does nothing.
    entrance = next(iter(working_steps([detector])))
    names = getattr(entrance, "feature_names_in_", None)
    offset = getattr(detector, "offset_", None) if score.threshold is None else None
    return replace(
        score,
        n_features=getattr(entrance, "n_features_in_", score.n_features),
        feature_names=None if names is None else tuple(str(name) for name in names),
        threshold=score.threshold if offset is None else -float(np.ravel(offset)[0]),
    )


def _estimator(detector: Any) -> Score:
    build = _KNOWN.get(_scored_as(type(detector)))
    name = type(detector).__name__
    if build is not None and (formula := build(detector)) is not None:
        return replace(formula.to_score(), name=name, audit=Audit(_original(detector, formula)))
    own = deepcopy(detector)  # neighbours' trees, for one, count the times they are asked
    if type(own).__module__.startswith("sklearn.decomposition.") and hasattr(
        own, "inverse_transform"
    ):
        return Reconstruction(partial(_reconstruct, own), own.n_features_in_).to_score()
    if hasattr(own, "score_samples"):
        return from_function(_Own(own, "score_samples"), name=name)
    if is_outlier_detector(own) and hasattr(own, "decision_function"):
        return from_function(_Own(own, "decision_function"), threshold=0.0, name=name)
    raise TypeError(
        f"{name} is no anomaly detector: it has no `score_samples`. Of a model "
        "that serves as one pass the score as a function: as_score(function), high = anomalous."
    )


def _scored_as(kind: type) -> type:
    """The class that a class has its scores from: of a subclass we know so for forests only."""
    if not issubclass(kind, IsolationForest):
        return kind
    own = kind.__mro__[: kind.__mro__.index(IsolationForest)]
    changed = any("score" in name for each in own for name in vars(each))
    return kind if changed else IsolationForest


@final
@dataclass(frozen=True)
class _Own:
    """What a detector itself says, high = anomalous."""

    detector: Any
    function: str

    def __call__(self, X: Matrix) -> Vector:
        detector = self.detector
        if isinstance(detector, LocalOutlierFactor):
            # It loses the names on its way, and complains of it. To silence warnings would
            # silence, or not, those of other threads.
            detector = copy(detector)
            vars(detector).pop("feature_names_in_", None)
        said = getattr(detector, self.function)(with_names(detector, X))
        return -np.asarray(said, dtype=np.float64)


@final
@dataclass(frozen=True)
class _KeepingDigits:
    """What a detector itself says, where it loses no digits, high = anomalous."""

    detector: Any

    def __call__(self, X: Matrix) -> Vector:
        detector, rows = keeping_digits(self.detector, X)
        return _Own(detector, "score_samples")(rows)


@final
@dataclass(frozen=True)
class _AfterSteps:
    """What the last step of a pipeline scores, after the steps themselves."""

    steps: Any
    score: Score

    def __call__(self, X: Matrix) -> Vector:
        return self.score(transform(self.steps, X))


def _original(detector: Any, formula: Any) -> Original:
    # A copy keeps what was fitted, should the detector be fitted again before it is asked.
    own = copy(detector)
    if isinstance(formula, LinearReconstruction):
        return Original(
            AffineError(formula.reconstruct, formula.matrix),
            f"{type(detector).__name__}, taken to be linear,",
            "Pass the error of the reconstruction as a function: as_score(function).",
        )
    return Original(
        _KeepingDigits(own),
        type(detector).__name__,
        "Pass the detector's own function: "
        "as_score(detector.score_samples, higher_is_anomalous=False).",
    )


def keeping_digits(detector: Any, X: Matrix) -> tuple[Any, Matrix]:
    """A detector and rows that have the same scores, where scikit-learn loses no digits."""
    own = copy(detector)
    if isinstance(detector, (GaussianMixture, BayesianGaussianMixture)):
        # It multiplies squares out, which cancel far from the origin.
        center = detector.means_.mean(axis=0)
        own.means_ = detector.means_ - center
        return own, X - center
    if isinstance(detector, KernelDensity):
        # With one leaf it adds up kernels, and not their bounds along a tree.
        tree = detector.tree_
        weights = tree.sample_weight
        own.tree_ = type(tree)(
            np.asarray(tree.data),
            leaf_size=len(tree.data),
            metric="euclidean",
            sample_weight=None if weights is None else np.asarray(weights),
        )
    return own, X


def _pipeline(pipeline: Pipeline) -> Score:
    """The score of the last step, of rows as they go into the first."""
    *before, last = pipeline.named_steps.values()
    if not isinstance(last, BaseEstimator):
        raise TypeError(f"The last step of the Pipeline must be a detector, got {last!r}.")
    score = as_score(last)  # another library's, perhaps
    steps = [as_map(step) for step in working_steps(before)]
    if not steps:
        return score
    chain = Chain(steps)
    if not chain.known:
        return score.after(chain)
    original = Original(
        _AfterSteps(pipeline[:-1], as_score(last)),
        "the Pipeline",
        "Pass its own function: as_score(pipeline.score_samples, higher_is_anomalous=False).",
    )
    return replace(score.after(chain), audit=Audit(original))


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
    origin = _reconstruct(detector, np.zeros((1, d)))
    # Steps as long as what is added, which would otherwise take their last digits.
    step = max(1.0, float(np.abs(getattr(detector, "mean_", origin)).max()))
    matrix = (_reconstruct(detector, step * np.eye(d)) - origin) / step
    return LinearReconstruction(partial(_reconstruct, detector), matrix)


def _reconstruct(detector: Any, X: Matrix) -> Matrix:
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


class Formula(Protocol):
    """A score that is computed by a formula of our own."""

    def to_score(self) -> Score:
        """The score, with all that is known of it."""


_KNOWN: dict[type, Callable[[Any], Formula | None]] = {
    BayesianGaussianMixture: gaussian_mixture,
    EllipticEnvelope: _elliptic_envelope,
    FastICA: _linear_reconstruction,
    GaussianMixture: gaussian_mixture,
    IncrementalPCA: _linear_reconstruction,
    IsolationForest: isolation_forest,
    KernelDensity: kernel_density,
    OneClassSVM: one_class_svm,
    PCA: _linear_reconstruction,
    SGDOneClassSVM: _sgd_one_class_svm,
    TruncatedSVD: _linear_reconstruction,
}
