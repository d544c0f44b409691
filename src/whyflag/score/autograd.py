"""Functions of PyTorch tensors as scores, with gradients by autograd."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np
import torch

from whyflag.arrays import Matrix, Vector
from whyflag.batches import CALL, batches
from whyflag.score.additive import of_parts
from whyflag.score.answers import check_answer
from whyflag.score.base import Score
from whyflag.score.gradient import Gradient

TensorFunction = Callable[[torch.Tensor], torch.Tensor]


def from_tensors(
    function: TensorFunction, n_features: int | None = None, runner: Runner | None = None
) -> Score:
    """A function of tensors, (n, d) -> (n,), as a score.

    Args:
        function: The function, high = anomalous; differentiable by autograd.
        n_features: The number of columns d.
        runner: How it is run.
    """
    computed = _Computed(function, runner or Runner())
    return Score(computed, (Gradient(computed.value_and_grad),), n_features=n_features)


def from_tensor_errors(
    errors: TensorFunction, n_features: int, runner: Runner | None = None
) -> Score:
    """Errors of each feature, (n, d) -> (n, d), as a score: their sum.

    Arguments as those of `from_tensors`.
    """
    score = from_tensors(_Total(errors), n_features, runner)
    return score.having(*of_parts(partial((runner or Runner()).values, errors)))


@final
@dataclass(frozen=True)
class _Total:
    """The sum of errors."""

    errors: TensorFunction

    def __call__(self, X: torch.Tensor) -> torch.Tensor:
        return self.errors(X).sum(dim=1)


@final
@dataclass(frozen=True)
class _Computed:
    """A function of tensors, of arrays."""

    function: TensorFunction
    runner: Runner

    def __call__(self, X: Matrix) -> Vector:
        values = self.runner.values(self.function, X)
        name = getattr(self.function, "__name__", type(self.function).__name__)
        check_answer(values, X, name)
        return values

    def value_and_grad(self, X: Matrix) -> tuple[Vector, Matrix]:
        """The score and its gradient."""
        return self.runner.value_and_grad(self.function, X)

    @property
    def precision(self) -> float:
        return self.runner.precision


@final
@dataclass(frozen=True)
class Runner:
    """Runs functions of tensors on rows, and leaves no trace in the modules they use.

    Args:
        dtype: What the functions compute in.
        device: Where they compute.
        modules: Modules that they use: these score in evaluation mode, and get their mode back.
        chunk: Most numbers in one call.
    """

    dtype: torch.dtype = torch.float64
    device: torch.device | str = "cpu"
    modules: Sequence[torch.nn.Module] = ()
    chunk: int = CALL

    @property
    def precision(self) -> float:
        """The relative rounding of what is computed."""
        return float(torch.finfo(self.dtype).eps)

    def values(self, function: TensorFunction, X: Matrix) -> Matrix:
        """What the function makes of the rows, whatever its shape."""
        with _evaluation_mode(self.modules), torch.no_grad():
            parts = [_to_numpy(function(self._tensor(part))) for part in self._parts(X)]
        return np.concatenate(parts)

    def value_and_grad(self, function: TensorFunction, X: Matrix) -> tuple[Vector, Matrix]:
        """A function (n, d) -> (n,), and its gradient by the rows."""
        values, gradients = [], []
        # A caller may have switched gradients off, for good reasons of its own.
        with _evaluation_mode(self.modules), torch.inference_mode(False), torch.enable_grad():
            for part in self._parts(X):
                rows = self._tensor(part).requires_grad_()
                value = function(rows)
                if not value.requires_grad:
                    raise ValueError(
                        "The score's value does not depend on the rows by differentiable PyTorch "
                        "operations (is there a `detach` or `numpy` inside?). Pass it as a plain "
                        "function of arrays instead: as_score(function)."
                    )
                (gradient,) = torch.autograd.grad(value.sum(), rows)
                values.append(_to_numpy(value))
                gradients.append(_to_numpy(gradient))
        return np.concatenate(values), np.concatenate(gradients)

    def _parts(self, X: Matrix) -> Iterator[Matrix]:
        return (X[some] for some in batches(max(len(X), 1), X.shape[1], self.chunk))

    def _tensor(self, X: Matrix) -> torch.Tensor:
        # A copy, so that a function that writes into its argument does not reach the caller's.
        return torch.tensor(X, dtype=self.dtype, device=self.device)


@contextmanager
def _evaluation_mode(modules: Sequence[torch.nn.Module]) -> Iterator[None]:
    """Dropout off, batch statistics frozen; every part's own mode afterwards."""
    training = [part for module in modules for part in module.modules() if part.training]
    try:
        if training:  # to switch every part takes as long as a small network does
            for module in modules:
                module.eval()
        yield
    finally:
        for part in training:
            part.training = True


def _to_numpy(tensor: torch.Tensor) -> Matrix:
    return tensor.detach().to("cpu", torch.float64).numpy()
