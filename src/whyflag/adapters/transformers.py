"""scikit-learn's transformers as maps, with all that is known of each."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy, deepcopy
from functools import partial
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, FastICA, IncrementalPCA, TruncatedSVD
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from whyflag.adapters.kernels import KernelFunction, KernelName
from whyflag.adapters.maps import (
    Beside,
    Chain,
    ColumnwiseMap,
    FourierMap,
    KernelMap,
    LinearMap,
    UnknownMap,
)
from whyflag.arrays import IntVector, Matrix, Vector
from whyflag.score.map import Function, Map


def transform(transformer: Any, X: Matrix) -> Matrix:
    """What a fitted transformer makes of rows, as numbers."""
    image = transformer.transform(with_names(transformer, X))
    rows = np.asarray(image.toarray() if hasattr(image, "toarray") else image, dtype=np.float64)
    return rows.reshape(len(X), -1)  # SparsePCA flattens a single row


def with_names(estimator: Any, X: Matrix) -> Any:
    """Rows as the estimator wants them: with their names if it was fitted with names."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None or hasattr(X, "columns") or hasattr(X, "column_names"):
        return X
    import pandas as pd

    return pd.DataFrame(X, columns=names, copy=False)


def working_steps(steps: Iterable[Any]) -> list[Any]:
    """Steps one after another: those of nested pipelines too, without those that do nothing."""
    found = []
    for step in steps:
        if isinstance(step, Pipeline):
            found += working_steps(step.named_steps.values())
        elif not _does_nothing(step):
            found.append(step)
    return found


def as_map(transformer: Any) -> Map:
    """The map of a fitted transformer, with what is known of it."""
    # Of a subclass nothing is known: it may transform otherwise.
    ours = type(transformer).__module__.startswith("sklearn.")
    if ours or isinstance(transformer, SelectorMixin):
        known = _kernel(transformer) or _side_by_side(transformer) or _by_columns(transformer)
        if known is not None:
            return known
    # Nothing says that it leaves itself alone when it works.
    n_features = getattr(transformer, "n_features_in_", None)
    return UnknownMap(partial(transform, deepcopy(transformer)), n_features)


def _does_nothing(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")


def _one_map(transformer: Any, n_features: int) -> Map:
    """The map of what may be a pipeline, or do nothing."""
    maps = [as_map(step) for step in working_steps([transformer])]
    return Chain(maps) if maps else LinearMap(np.asarray, np.ones(n_features))


def _kernel(transformer: Any) -> Map | None:
    if isinstance(transformer, Nystroem):
        d = transformer.n_features_in_
        gamma = 1.0 / d if transformer.gamma is None else float(transformer.gamma)
        kernel = kernel_of(transformer.kernel, gamma, transformer)
        dense = isinstance(transformer.components_, np.ndarray)
        if kernel is None or transformer.kernel_params is not None or not dense:
            return None
        return KernelMap(kernel, transformer.components_, transformer.normalization_)
    if isinstance(transformer, RBFSampler):
        amplitude = float(np.sqrt(2.0 / transformer.n_components))
        return FourierMap(transformer.random_weights_, transformer.random_offset_, amplitude)
    return None


def _side_by_side(transformer: Any) -> Map | None:
    """The map of a FeatureUnion or a ColumnTransformer; None if its columns are not clear."""
    if isinstance(transformer, FeatureUnion):
        steps = [(name, step, slice(None)) for name, step in transformer.transformer_list]
        widths = (getattr(step, "n_features_in_", None) for _, step, _ in steps)
        n_features = next((width for width in widths if width is not None), None)
    elif isinstance(transformer, ColumnTransformer):
        steps, n_features = transformer.transformers_, transformer.n_features_in_
    else:
        return None
    if n_features is None:
        return None
    weights = transformer.transformer_weights or {}
    parts = []
    for name, step, which in steps:
        if isinstance(step, str) and step == "drop":
            continue
        columns = _positions(which, n_features, getattr(transformer, "feature_names_in_", None))
        if columns is None:
            return None
        if len(columns):
            parts.append((columns, _one_map(step, len(columns)), float(weights.get(name, 1.0))))
    return Beside(parts, n_features) if parts else None


def _positions(which: Any, n_features: int, names: Any) -> IntVector | None:
    """The columns that a ColumnTransformer gives to a step; None if it gives no table."""
    if not isinstance(which, slice):
        which = np.asarray(which)
        if which.ndim != 1:
            return None
        if which.size and which.dtype.kind in "UO":  # by name
            place = {name: i for i, name in enumerate(names)}
            return np.array([place[name] for name in which])
        if not which.size:
            return np.zeros(0, dtype=np.int64)
    elif isinstance(which.start, str) or isinstance(which.stop, str):
        return None
    return np.arange(n_features)[which]


def _by_columns(transformer: Any) -> Map | None:
    """The map of a transformer that is affine, or leaves each column to itself."""
    n_features = getattr(transformer, "n_features_in_", None)
    if n_features is None:
        return None
    # Without names, rows need not become a DataFrame first.
    nameless = copy(transformer)
    vars(nameless).pop("feature_names_in_", None)
    function = partial(transform, nameless)
    if (jacobian := _jacobian(transformer, n_features)) is not None:
        return LinearMap(_arithmetic(transformer) or function, jacobian)
    if isinstance(transformer, (PowerTransformer, QuantileTransformer)):
        kinked = isinstance(transformer, QuantileTransformer)  # joined by straight lines
        return ColumnwiseMap(function, n_features, smooth=True, kinked=kinked)
    if _is_columnwise(transformer):
        return ColumnwiseMap(function, n_features, smooth=False)
    return None


def _arithmetic(transformer: Any) -> Function | None:
    """What an affine transformer computes, to the bit, without the checks that take longer."""
    if isinstance(transformer, StandardScaler):
        location = transformer.mean_ if transformer.with_mean else 0.0
        return partial(_standardise, location, transformer.scale_ if transformer.with_std else 1.0)
    if isinstance(transformer, RobustScaler):
        location = transformer.center_ if transformer.with_centering else 0.0
        spread = transformer.scale_ if transformer.with_scaling else 1.0
        return partial(_standardise, location, spread)
    if isinstance(transformer, MaxAbsScaler):
        return partial(_standardise, 0.0, transformer.scale_)
    if isinstance(transformer, MinMaxScaler):
        return partial(_stretch, transformer.scale_, transformer.min_)
    if isinstance(transformer, (FunctionTransformer, SimpleImputer)):
        return np.asarray
    return None


def _standardise(location: Vector | float, spread: Vector | float, X: Matrix) -> Matrix:
    return (X - location) / spread


def _stretch(scale: Vector, offset: Vector, X: Matrix) -> Matrix:
    return X * scale + offset


def _is_columnwise(transformer: Any) -> bool:
    """Whether a transformer with steps or flat parts leaves each column to itself."""
    if isinstance(transformer, FunctionTransformer):
        plain = isinstance(transformer.func, np.ufunc) and transformer.func.nin == 1
        return plain and not transformer.kw_args
    if isinstance(transformer, KBinsDiscretizer):
        return bool(transformer.encode == "ordinal")
    return isinstance(transformer, (Binarizer, MaxAbsScaler, MinMaxScaler))


def kernel_of(name: Any, gamma: float, settings: Any) -> KernelFunction | None:
    """A kernel by scikit-learn's name, with the other settings of its estimator."""
    known: dict[Any, KernelName] = {
        "linear": "linear",
        "poly": "poly",
        "polynomial": "poly",
        "rbf": "rbf",
        "sigmoid": "sigmoid",
    }
    if not isinstance(name, str) or name not in known:
        return None
    # Nystroem leaves what is not given to the kernel function, whose defaults are these.
    coef0 = 1.0 if settings.coef0 is None else float(settings.coef0)
    degree = 3.0 if settings.degree is None else float(settings.degree)
    return KernelFunction(known[name], gamma, coef0, degree)


def _jacobian(transformer: Any, n_features: int) -> Matrix | Vector | None:
    """(d, k), or the diagonal (d,), of a transformer that is affine; None for all others."""
    ones = np.ones(n_features)
    if isinstance(transformer, (StandardScaler, RobustScaler)):
        return ones if transformer.scale_ is None else 1 / transformer.scale_
    if isinstance(transformer, MaxAbsScaler):
        return None if getattr(transformer, "clip", False) else 1 / transformer.scale_
    if isinstance(transformer, MinMaxScaler):
        return None if transformer.clip else transformer.scale_
    if isinstance(transformer, SelectorMixin):
        return np.eye(n_features)[:, transformer.get_support()]
    if isinstance(transformer, FunctionTransformer):
        return ones if transformer.func is None else None
    if isinstance(transformer, SimpleImputer):
        # Rows are finite, so that nothing is imputed; but columns without a value are dropped.
        kept = len(transformer.get_feature_names_out()) == n_features
        plain = kept and not transformer.add_indicator and transformer.missing_values is np.nan
        return ones if plain else None
    if isinstance(transformer, (PCA, IncrementalPCA)):
        columns = transformer.components_.T  # d x k
        return columns / np.sqrt(transformer.explained_variance_) if transformer.whiten else columns
    if isinstance(transformer, (TruncatedSVD, FastICA)):
        return transformer.components_.T
    return None
