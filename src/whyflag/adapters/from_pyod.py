"""PyOD's detectors as scores."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from sklearn.exceptions import NotFittedError

from whyflag.adapters import formulas
from whyflag.adapters.from_sklearn import keeping_digits
from whyflag.adapters.mahalanobis import MahalanobisDistance
from whyflag.adapters.neighbours import local_outlier_factor, nearest_distance
from whyflag.adapters.pyod_networks import NETWORKS, NetworkItself, network_score, says_the_same
from whyflag.adapters.tails import TailProbability
from whyflag.adapters.transformers import as_map
from whyflag.arrays import Matrix, Vector
from whyflag.score import Gradient, Score
from whyflag.score.audit import Audit, Fixed
from whyflag.score.function import from_function
from whyflag.score.original import Original


def adapt(detector: Any) -> Score:
    """The score of a fitted PyOD detector.

    A score is that of `decision_function`. The threshold is the detector's `threshold_`, unless
    that was made of other scores: then it is to be found on normal rows.
    """
    if not hasattr(detector, "decision_scores_"):
        raise NotFittedError(f"{type(detector).__name__} must be fitted before it is explained.")
    # Some of PyOD's detectors write to themselves when they score.
    own = deepcopy(detector)
    name = type(own).__name__
    score = _known(own)
    if score is None:
        score = from_function(own.decision_function)
    else:
        questions = [Fixed()] if name in NETWORKS else []
        score = replace(score, audit=Audit(*questions, _original(detector)))
    score = replace(score, name=name)
    if name in NETWORKS and not says_the_same(detector, score.function):
        part = detector.contamination
        return replace(score, alarms=float(part) if isinstance(part, (int, float)) else None)
    return replace(score, threshold=float(own.threshold_))


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
            detector, rows = keeping_digits(getattr(own, inner), X)
            setattr(own, inner, detector)
        return np.asarray(own.decision_function(rows), dtype=np.float64)


def _known(detector: Any) -> Score | None:
    """A score that is faster, or exact where the detector's own function is not."""
    name = type(detector).__name__
    if not type(detector).__module__.startswith("pyod.models."):
        return None
    if name in NETWORKS:
        return network_score(detector)
    formula = _FORMULAS[name](detector) if name in _FORMULAS else None
    if formula is None:
        return None
    score: Score = formula.to_score()
    if name == "PCA" and detector.standardization:
        return score.after(as_map(detector.scaler_))
    return score


def _one_class_svm(detector: Any) -> formulas.Formula | None:
    # PyOD counts from the boundary, scikit-learn's `score_samples` from zero.
    machine = detector.detector_
    return formulas.one_class_svm(machine, added=float(machine.offset_[0]))


def _isolation_forest(detector: Any) -> formulas.Formula:
    forest = detector.detector_
    return formulas.isolation_forest(forest, added=float(forest.offset_))


def _minimum_covariance(detector: Any) -> MahalanobisDistance:
    robust = detector.detector_
    return MahalanobisDistance(robust.location_, robust.covariance_, robust.get_precision())


def _principal_components(detector: Any) -> DistanceSum:
    return DistanceSum(detector.selected_components_, 1 / detector.selected_w_components_)


@final
class DistanceSum:
    """e(x) = Σ_j w_j ‖x − c_j‖.

    Args:
        points: c, (m, d).
        weights: w, (m,).
    """

    def __init__(self, points: Matrix, weights: Vector) -> None:
        self._points, self._weights = points, weights

    def to_score(self) -> Score:
        """The sum as a score, with its gradient."""
        return Score(self, (Gradient(self.value_and_grad),), n_features=self._points.shape[1])

    def __call__(self, X: Matrix) -> Vector:
        return self.value_and_grad(X)[0]

    def value_and_grad(self, X: Matrix) -> tuple[Vector, Matrix]:
        """The sum and its gradient: (n, d) -> (n,), (n, d)."""
        value, gradient = np.zeros(len(X)), np.zeros_like(X)
        for point, weight in zip(self._points, self._weights, strict=True):
            away = X - point
            distance = np.linalg.norm(away, axis=1)
            value += weight * distance
            gradient += weight * away / np.where(distance > 0, distance, 1.0)[:, None]
        return value, gradient


_FORMULAS: dict[str, Callable[[Any], formulas.Formula | None]] = {
    "COPOD": lambda detector: TailProbability(detector.X_train, average=True),
    "ECOD": lambda detector: TailProbability(detector.X_train, average=False),
    "GMM": lambda detector: formulas.gaussian_mixture(detector.detector_),
    "IForest": _isolation_forest,
    "KDE": lambda detector: formulas.kernel_density(detector.kde_),
    "KNN": nearest_distance,
    "LOF": lambda detector: local_outlier_factor(detector.detector_),
    "MCD": _minimum_covariance,
    "OCSVM": _one_class_svm,
    "PCA": _principal_components,
}
