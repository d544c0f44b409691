"""The same detector fitted anew to other normal rows: how far an explanation depends on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from whyflag.arrays import Matrix, Tensor
from whyflag.checks import check_whole
from whyflag.prepared import Prepared
from whyflag.table.holders import in_hand, length, take


def refitted(detector: Any, rows: Any, n: int, seed: int) -> list[Any]:
    """Copies of a detector, each fitted to as many rows, drawn from these with replacement.

    Args:
        detector: An estimator with `fit`: of scikit-learn, PyOD or whyflag. It stays as it is.
        rows: Normal rows, (m, d): an array or a DataFrame.
        n: Number of copies.
        seed: What is drawn follows from it, also in detectors that draw themselves.
    """
    check_whole("refits", n, at_least=2)
    check_whole("seed", seed, at_least=0)
    if isinstance(detector, Prepared):
        raise TypeError("`refits` needs the detector itself, to fit it anew, got a Prepared.")
    if rows is None:
        raise ValueError("`refits` needs normal rows as `background` to fit detectors to.")
    if not (hasattr(detector, "fit") and hasattr(detector, "get_params")):
        raise TypeError(
            "`refits` needs a detector that can be fitted anew, such as an estimator of "
            f"scikit-learn, PyOD or whyflag, got {type(detector).__name__}."
        )
    return [_refitted(detector, rows, rng) for rng in np.random.default_rng(seed).spawn(n)]


def _refitted(detector: Any, rows: Any, rng: np.random.Generator) -> Any:
    from sklearn.base import clone

    other = clone(detector)
    draws = [name for name in other.get_params() if name.endswith("random_state")]
    if draws:
        other.set_params(**{name: int(rng.integers(2**31)) for name in draws})
    rows = in_hand(rows, "background")
    other.fit(take(rows, rng.integers(length(rows), size=length(rows))))
    return other  # not what `fit` returns: PyOD's networks return nothing


def times_first(values: Tensor) -> Matrix:
    """In what part of the refits each feature has the largest value: (m, n, p) -> (n, p).

    Features with equal values share the place.
    """
    first = values == values.max(axis=2, keepdims=True)
    return np.asarray((first / first.sum(axis=2, keepdims=True)).mean(axis=0))
