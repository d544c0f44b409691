"""Anyone's detector as a `Score`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

from whyflag.adapters.from_torch import torch_score
from whyflag.arrays import Matrix
from whyflag.checks import check_choice, check_number, check_whole
from whyflag.score import Score
from whyflag.score.function import from_function
from whyflag.score.trees import sum_score

__all__ = ["as_score", "torch_score"]


def as_score(
    detector: Any,
    gradient: Callable[[Matrix], Any] | None = None,
    *,
    n_features: int | None = None,
    higher_is_anomalous: bool = True,
    threshold: float | None = None,
    scale: Literal["score", "depth"] = "score",
) -> Score:
    """Turn a detector into a `Score`, high = anomalous.

    The detector is not changed, now or when it is explained.

    Args:
        detector: A fitted detector of whyflag, scikit-learn (or a Pipeline that ends in one) or
            PyOD; a PyTorch module; a plain function from rows (n, d) to scores (n,); or a
            `Score`. For a function of PyTorch tensors see `whyflag.adapters.torch_score`.
        gradient: For a plain function: its gradient, (n, d) -> (n, d). Makes the score
            differentiable, and the minimisation behind ASH much faster.
        n_features: For a module or a plain function: the number of columns it takes.
        higher_is_anomalous: For a module or a plain function: False if its low values are the
            anomalous ones. Of detectors the direction is known.
        threshold: A score beyond this is an alarm: in the units of the module or the plain
            function, or else of the `Score`, whose own it replaces.
        scale: For forests: "depth" explains minus the mean depth at which the trees isolate a row,
            in splits, instead of the score, which is 2^(−depth / c). Rows are in the same order.
            On the depth KSH and wKSH are exact, whatever the number of columns.

    >>> import numpy as np
    >>> score = as_score(lambda X: (X**2).sum(axis=1), gradient=lambda X: 2 * X, n_features=2)
    >>> score(np.array([[3.0, 4.0]]))
    array([25.])
    """
    check_whole("n_features", n_features, at_least=1, or_none=True)
    check_number("threshold", threshold, or_none=True)
    check_choice("scale", scale, ("score", "depth"))
    if scale == "depth":
        return sum_score(
            as_score(
                detector,
                gradient,
                n_features=n_features,
                higher_is_anomalous=higher_is_anomalous,
                threshold=threshold,
            )
        )
    score = _adapt(detector)
    if score is None:
        return _from_function(detector, gradient, n_features, higher_is_anomalous, threshold)
    if gradient is not None or not higher_is_anomalous:
        name = "gradient" if gradient is not None else "higher_is_anomalous"
        raise TypeError(
            f"`{name}` goes with a plain function, got it with a {type(detector).__name__}."
        )
    if n_features not in (None, score.n_features) and score.n_features is not None:
        raise ValueError(
            f"{type(detector).__name__} scores rows of {score.n_features} features, "
            f"got n_features={n_features}."
        )
    return score if threshold is None else replace(score, threshold=float(threshold))


def _adapt(detector: Any) -> Score | None:
    """The score of an object whose direction is known; None for all else."""
    if isinstance(detector, Score):
        return detector
    if isinstance(detector, type):
        return None
    if hasattr(detector, "to_score"):
        score: Score = detector.to_score()
        return score
    # PyOD's detectors are scikit-learn's estimators too, but of the other direction.
    if _is_instance(detector, "pyod.models.base", "BaseDetector"):
        from whyflag.adapters import from_pyod

        return from_pyod.adapt(detector)
    if _is_instance(detector, "sklearn.base", "BaseEstimator"):
        from whyflag.adapters import from_sklearn

        return from_sklearn.adapt(detector)
    return None


def _from_function(
    function: Any,
    gradient: Callable[[Matrix], Any] | None,
    n_features: int | None,
    higher_is_anomalous: bool,
    threshold: float | None,
) -> Score:
    if not callable(function) or isinstance(function, type):
        raise TypeError(
            "`detector` must be a fitted detector of whyflag, scikit-learn or PyOD, a PyTorch "
            "module, a Score, or a function from rows (n, d) to scores (n,), got "
            f"{_describe(function)}. Of any other object pass the scoring function: "
            "`as_score(detector.score_samples, higher_is_anomalous=False)`, say."
        )
    _refuse_labels(function)
    if higher_is_anomalous:
        _refuse_turned(function)
    sign = 1.0 if higher_is_anomalous else -1.0
    if not _is_instance(function, "torch.nn", "Module"):
        return from_function(
            function, gradient, n_features=n_features, sign=sign, threshold=threshold
        )
    if gradient is not None:
        raise TypeError("A PyTorch module has a gradient of its own; `gradient` is for others.")
    from whyflag.adapters import from_torch

    score = from_torch.adapt(function, n_features, higher_is_anomalous)
    return replace(score, threshold=None if threshold is None else sign * threshold)


def _refuse_labels(function: Any) -> None:
    """Refuse the method of a detector that says no more than whether there is an alarm."""
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    if name not in ("predict", "fit_predict"):
        return
    if _is_instance(owner, "pyod.models.base", "BaseDetector") or _is_detector(owner):
        raise ValueError(
            f"{type(owner).__name__}.{name} returns labels, and a score must say how anomalous a "
            "row is. Pass the detector itself."
        )


def _is_detector(owner: Any) -> bool:
    if not _is_instance(owner, "sklearn.base", "BaseEstimator"):
        return False
    from sklearn.base import is_outlier_detector

    return bool(is_outlier_detector(owner))


def _refuse_turned(function: Any) -> None:
    """Refuse a method of a scikit-learn detector that is high for normal rows."""
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    if not _is_instance(owner, "sklearn.base", "BaseEstimator"):
        return
    if _is_instance(owner, "pyod.models.base", "BaseDetector"):
        return
    turned = ("decision_function",) if _is_detector(owner) else ()
    if name in ("score_samples", *turned):
        raise ValueError(
            f"{type(owner).__name__}.{name} is high for normal rows, and a score must be high for "
            "anomalous ones. Pass the detector itself, or say which it is: "
            f"as_score(detector.{name}, higher_is_anomalous=False)."
        )


def _is_instance(detector: Any, module: str, name: str) -> bool:
    """Whether an object is of a library's class; whoever has one has imported the library."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(detector, getattr(loaded, name))


def _describe(detector: Any) -> str:
    if isinstance(detector, type):
        return f"the class {detector.__name__} (a fitted instance is needed)"
    return f"an object of type {type(detector).__name__}"
