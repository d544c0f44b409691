"""scikit-learn's transformers as maps that a gradient can be carried back through."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, final

import numpy as np
from sklearn.decomposition import PCA, FastICA, IncrementalPCA, TruncatedSVD
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from whyflag.adapters.kernels import KernelFunction, KernelName
from whyflag.arrays import Matrix, Vector

STEP = 1e-6  # of a value's magnitude


class Map(ABC):
    """x ↦ z, with the derivative."""

    @abstractmethod
    def __call__(self, X: Matrix) -> Matrix:
        """(n, d) -> (n, k)."""

    @abstractmethod
    def pullback(self, X: Matrix, gradient: Matrix) -> Matrix:
        """Turn a gradient by z at the image of X into one by x: (n, d), (n, k) -> (n, d)."""


@final
class LinearMap(Map):
    """z = x J + c, with the transformer's own arithmetic.

    Args:
        transformer: What makes z.
        jacobian: J, (d, k), or its diagonal, (d,).
    """

    def __init__(self, transformer: Any, jacobian: Matrix | Vector) -> None:
        self.transformer = transformer
        self.jacobian = jacobian

    def __call__(self, X: Matrix) -> Matrix:
        return X if self.transformer is None else transform(self.transformer, X)

    def pullback(self, X: Matrix, gradient: Matrix) -> Matrix:
        return gradient * self.jacobian if self.columnwise else gradient @ self.jacobian.T

    @property
    def columnwise(self) -> bool:
        """Whether each column is mapped by itself."""
        return self.jacobian.ndim == 1


@final
class ColumnwiseMap(Map):
    """Each column by a function of its own, whose slope is measured."""

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def __call__(self, X: Matrix) -> Matrix:
        return transform(self.transformer, X)

    def pullback(self, X: Matrix, gradient: Matrix) -> Matrix:
        # No column touches another, so two calls measure all slopes.
        step = STEP * np.maximum(np.abs(X), STEP)
        ahead, behind = X + step, X - step
        return gradient * (self(ahead) - self(behind)) / (ahead - behind)


@final
class KernelMap(Map):
    """z = k(x, S) N, the Nystroem approximation of a kernel."""

    def __init__(self, kernel: KernelFunction, support: Matrix, normalization: Matrix) -> None:
        self.kernel = kernel
        self.support = support
        self.normalization = normalization

    def __call__(self, X: Matrix) -> Matrix:
        return self.kernel(X, self.support) @ self.normalization.T

    def pullback(self, X: Matrix, gradient: Matrix) -> Matrix:
        return self.kernel.pullback(X, self.support, gradient @ self.normalization)


@final
class FourierMap(Map):
    """z = a cos(x W + b), random Fourier features."""

    def __init__(self, weights: Matrix, offset: Vector, amplitude: float) -> None:
        self.weights = weights
        self.offset = offset
        self.amplitude = amplitude

    def __call__(self, X: Matrix) -> Matrix:
        return self.amplitude * np.cos(X @ self.weights + self.offset)

    def pullback(self, X: Matrix, gradient: Matrix) -> Matrix:
        slope = -self.amplitude * np.sin(X @ self.weights + self.offset)
        return (gradient * slope) @ self.weights.T


def transform(transformer: Any, X: Matrix) -> Matrix:
    """What a fitted transformer makes of rows, as numbers."""
    return np.asarray(transformer.transform(with_names(transformer, X)), dtype=np.float64)


def with_names(estimator: Any, X: Matrix) -> Any:
    """Rows as the estimator wants them: with their names if it was fitted with names."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return X
    import pandas as pd

    return pd.DataFrame(X, columns=names, copy=False)


def as_map(transformer: Any, n_features: int) -> Map | None:
    """The map of a fitted transformer; None if its derivative is not known here."""
    if transformer is None or transformer == "passthrough":
        return LinearMap(None, np.ones(n_features))
    if isinstance(transformer, (PowerTransformer, QuantileTransformer)):
        return ColumnwiseMap(transformer)
    if isinstance(transformer, Nystroem):
        gamma = 1.0 / n_features if transformer.gamma is None else float(transformer.gamma)
        kernel = kernel_of(transformer.kernel, gamma, transformer)
        dense = isinstance(transformer.components_, np.ndarray)
        if kernel is None or transformer.kernel_params is not None or not dense:
            return None
        return KernelMap(kernel, transformer.components_, transformer.normalization_)
    if isinstance(transformer, RBFSampler):
        amplitude = float(np.sqrt(2.0 / transformer.n_components))
        return FourierMap(transformer.random_weights_, transformer.random_offset_, amplitude)
    jacobian = _jacobian(transformer, n_features)
    return None if jacobian is None else LinearMap(transformer, jacobian)


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
