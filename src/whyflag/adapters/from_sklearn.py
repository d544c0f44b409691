"""scikit-learn's detectors, densities and decompositions as scores."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, final

import numpy as np
from sklearn.base import BaseEstimator, is_outlier_detector
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from whyflag.adapters import as_score
from whyflag.adapters.formulas import Formula, formula_of, reconstruct
from whyflag.adapters.maps import Chain
from whyflag.adapters.reconstruction import AffineError, LinearReconstruction, Reconstruction
from whyflag.adapters.transformers import as_map, transform, with_names, working_steps
from whyflag.arrays import Matrix, Vector
from whyflag.score import Score
from whyflag.score.audit import Audit
from whyflag.score.function import from_function
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


def own_score(detector: Any) -> Callable[[Any], Vector] | None:
    """What a fitted estimator itself says, high = anomalous; None where that is no score."""
    return _Own(detector, "score_samples") if hasattr(detector, "score_samples") else None


def _estimator(detector: Any) -> Score:
    name = type(detector).__name__
    if (formula := formula_of(detector)) is not None:
        return replace(formula.to_score(), name=name, audit=Audit(_original(detector, formula)))
    own = deepcopy(detector)  # neighbours' trees, for one, count the times they are asked
    if type(own).__module__.startswith("sklearn.decomposition.") and hasattr(
        own, "inverse_transform"
    ):
        return Reconstruction(partial(reconstruct, own), own.n_features_in_).to_score()
    if hasattr(own, "score_samples"):
        return from_function(_Own(own, "score_samples"), name=name)
    if is_outlier_detector(own) and hasattr(own, "decision_function"):
        return from_function(_Own(own, "decision_function"), threshold=0.0, name=name)
    raise TypeError(
        f"{name} is no anomaly detector: it has no `score_samples`. Of a model "
        "that serves as one pass the score as a function: as_score(function), high = anomalous."
    )


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


def _original(detector: Any, formula: Formula) -> Original:
    # A copy keeps what was fitted, should the detector be fitted again before it is asked.
    # Neighbours' trees count the times they are asked.
    own = (deepcopy if isinstance(detector, LocalOutlierFactor) else copy)(detector)
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
