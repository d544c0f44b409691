"""PyOD's detectors as scores."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from sklearn.exceptions import NotFittedError

from whyflag.adapters import sklearn
from whyflag.adapters.kernels import KernelExpansion
from whyflag.adapters.mahalanobis import MahalanobisDistance
from whyflag.adapters.pyod_networks import NETWORKS, NetworkItself, network_score
from whyflag.adapters.tails import TailProbability
from whyflag.adapters.transformed import transformed
from whyflag.adapters.transformers import as_map
from whyflag.arrays import Matrix, Vector
from whyflag.score import DifferentiableScore, Score
from whyflag.score.audit import Original
from whyflag.score.function import FunctionScore


def adapt(detector: Any) -> Score:
    """The score of a fitted PyOD detector.

    A score is that of `decision_function`. The threshold is the detector's `threshold_`.
    """
    if not hasattr(detector, "decision_scores_"):
        raise NotFittedError(f"{type(detector).__name__} must be fitted before it is explained.")
    # Some of PyOD's detectors write to themselves when they score.
    own = deepcopy(detector)
    score = _known(own) or FunctionScore(own.decision_function)
    if not isinstance(score, FunctionScore):
        score.original = _original(detector)
    score.threshold = float(own.threshold_)
    return score


def _original(detector: Any) -> Original:
    name = type(detector).__name__
    network = name in NETWORKS
    return Original(
        NetworkItself(deepcopy(detector)) if network else _Own(copy(detector)),
        name,
        "Pass the detector's own function: as_score(detector.decision_function).",
        alone=name in ("COPOD", "ECOD"),  # they count a row among those that it comes with
        precision=float(np.finfo(np.float32).eps if network else np.finfo(np.float64).eps),
    )


@final
@dataclass(frozen=True)
class _Own:
    """What a detector itself says."""

    detector: Any

    def __call__(self, X: Matrix) -> Vector:
        own = deepcopy(self.detector)
        rows = X
        if inner := {"GMM": "detector_", "KDE": "kde_"}.get(type(own).__name__):
            detector, rows = sklearn.keeping_digits(getattr(own, inner), X)
            setattr(own, inner, detector)
        return np.asarray(own.decision_function(rows), dtype=np.float64)


def _known(detector: Any) -> Score | None:
    """A score that is faster, or exact where the detector's own function is not."""
    name = type(detector).__name__
    if not type(detector).__module__.startswith("pyod.models."):
        return None
    if name in _SCORES:
        return _SCORES[name](detector)
    if name in NETWORKS:
        return network_score(detector)
    return None


def _one_class_svm(detector: Any) -> Score:
    score = sklearn.adapt(detector.detector_)
    if not isinstance(score, KernelExpansion):
        return FunctionScore(detector.decision_function)
    # PyOD counts from the boundary, scikit-learn's `score_samples` from zero.
    return score.raised(float(detector.detector_.offset_[0]))


def _isolation_forest(detector: Any) -> Score:
    forest = detector.detector_
    return sklearn.isolation_forest(forest, added=float(forest.offset_))


def _minimum_covariance(detector: Any) -> MahalanobisDistance:
    robust = detector.detector_
    return MahalanobisDistance(robust.location_, robust.covariance_, robust.get_precision())


def _principal_components(detector: Any) -> Score:
    score = DistanceSum(detector.selected_components_, 1 / detector.selected_w_components_)
    if not detector.standardization:
        return score
    return transformed([as_map(detector.scaler_)], score)


@final
class DistanceSum(DifferentiableScore):
    """e(x) = Σ_j w_j ‖x − c_j‖.

    Args:
        points: c, (m, d).
        weights: w, (m,).
    """

    def __init__(self, points: Matrix, weights: Vector) -> None:
        self.n_features = points.shape[1]
        self._points, self._weights = points, weights

    def __call__(self, X: Matrix) -> Vector:
        return self.value_and_grad(X)[0]

    def value_and_grad(self, X: Matrix) -> tuple[Vector, Matrix]:
        value, gradient = np.zeros(len(X)), np.zeros_like(X)
        for point, weight in zip(self._points, self._weights, strict=True):
            away = X - point
            distance = np.linalg.norm(away, axis=1)
            value += weight * distance
            gradient += weight * away / np.where(distance > 0, distance, 1.0)[:, None]
        return value, gradient


_SCORES: dict[str, Callable[[Any], Score | None]] = {
    "COPOD": lambda detector: TailProbability(detector.X_train, average=True),
    "ECOD": lambda detector: TailProbability(detector.X_train, average=False),
    "GMM": lambda detector: sklearn.adapt(detector.detector_),
    "IForest": _isolation_forest,
    "KDE": lambda detector: sklearn.adapt(detector.kde_),
    "MCD": _minimum_covariance,
    "OCSVM": _one_class_svm,
    "PCA": _principal_components,
}
