"""PyTorch modules and functions as scores."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, final

import numpy as np

from whyflag.checks import check_number, check_whole
from whyflag.extras import require
from whyflag.score import Score
from whyflag.score.audit import Audit, Fixed, Question
from whyflag.score.original import Original
from whyflag.score.slopes import Slopes

if TYPE_CHECKING:
    from torch import Tensor, device, dtype

REMEDY = (
    "Is there a `detach`, an in-place change or a conversion inside? Pass it as a plain function "
    "of arrays instead: as_score(function)."
)


def adapt(module: Any, n_features: int | None, higher_is_anomalous: bool) -> Score:
    """The score of a PyTorch module.

    A module from (n, d) to (n,) or (n, 1) is the score itself; one from (n, d) to (n, d) is a
    reconstruction, and its squared error is the score.
    """
    if n_features is None:
        raise ValueError(
            "A PyTorch module does not tell how many columns it takes: "
            "as_score(module, n_features=...)."
        )
    import torch

    module = _copied(module)
    some = next(chain(module.parameters(), module.buffers()), None)
    dtype = torch.get_default_dtype() if some is None else some.dtype
    device = "cpu" if some is None else some.device
    if str(device) == "cpu" and (exact := _in_double_precision(module, n_features, dtype)):
        score = torch_score(exact, n_features, higher_is_anomalous=higher_is_anomalous)
        own = torch_score(module, n_features, dtype=dtype, higher_is_anomalous=higher_is_anomalous)
        original = Original(
            own,
            type(module).__name__,
            "Pass it as a function: whyflag.adapters.torch_score(module, n_features, "
            "dtype=torch.float32).",
            precision=own.precision,
        )
        return replace(score, audit=_audit(original))
    return torch_score(
        module, n_features, dtype=dtype, device=device, higher_is_anomalous=higher_is_anomalous
    )


def _copied(module: Any) -> Any:
    """A module of our own: one that counts its calls, say, writes to itself when it is asked.

    It is in evaluation mode for good: threads that switch it to and fro disturb one another.
    """
    import torch

    try:
        with torch.inference_mode(False):  # whatever the caller has switched on
            return deepcopy(module).eval()
    except Exception:
        return module  # it cannot be copied


def _in_double_precision(module: Any, n_features: int, dtype: Any) -> Any:
    """A copy of a module in double precision; None where it is none of single, or has no way.

    Rounding to seven digits moves minima about: a row alone would have another normal row than
    the same row in a batch.
    """
    import torch

    if dtype != torch.float32:
        return None
    from whyflag.score.autograd import Runner

    try:
        with torch.inference_mode(False):
            exact = deepcopy(module).double()
        Runner(modules=[exact]).values(exact, np.zeros((2, n_features)))
    except Exception:
        return None  # something inside insists on its type, or cannot be copied
    return exact


def torch_score(
    function: Callable[[Tensor], Tensor],
    n_features: int,
    *,
    dtype: dtype | None = None,
    device: device | str = "cpu",
    higher_is_anomalous: bool = True,
    threshold: float | None = None,
) -> Score:
    """A function of PyTorch tensors as a score, differentiated by autograd.

    Args:
        function: From rows (n, d) to scores (n,), or to reconstructions of the rows (n, d), whose
            squared error is then the score. A module, or a function that calls modules (which
            must be in evaluation mode).
        n_features: The number of columns d.
        dtype: What the function computes in; float64 if none is given.
        device: Where it computes.
        higher_is_anomalous: False if low scores are the anomalous ones.
        threshold: A score beyond this, in the function's units, is an alarm.
    """
    check_whole("n_features", n_features, at_least=1)
    check_number("threshold", threshold, or_none=True)
    torch = require("torch", "torch_score")
    from whyflag.score.autograd import Runner, from_tensor_errors, from_tensors

    modules = [function] if isinstance(function, torch.nn.Module) else []
    runner = Runner(torch.float64 if dtype is None else dtype, device, modules)
    name = getattr(function, "__name__", type(function).__name__)
    answer = runner.values(_only_tensors(function, name), np.zeros((2, n_features)))
    if answer.shape == (2, n_features):
        if not higher_is_anomalous:
            raise TypeError("The error of a reconstruction is always high for anomalous rows.")
        score = from_tensor_errors(_Errors(function), n_features, runner)
        return replace(score, threshold=threshold, name=name, audit=_audit())
    if answer.shape not in ((2,), (2, 1)):
        raise ValueError(
            f"{name} must map rows (n, {n_features}) to scores (n,) or to reconstructions "
            f"(n, {n_features}), got {answer.shape} for n = 2."
        )
    sign = 1.0 if higher_is_anomalous else -1.0
    score = from_tensors(_Turned(function, sign), n_features, runner)
    threshold = None if threshold is None else sign * threshold
    return replace(score, threshold=threshold, name=name, audit=_audit())


def _audit(*questions: Question) -> Audit:
    return Audit(Fixed(), Slopes(REMEDY), *questions)


@final
@dataclass(frozen=True)
class _Errors:
    """Squared errors of a reconstruction."""

    reconstruct: Callable[[Tensor], Tensor]

    def __call__(self, rows: Tensor) -> Tensor:
        return (rows - self.reconstruct(rows)) ** 2


@final
@dataclass(frozen=True)
class _Turned:
    """Scores, high = anomalous, one for each row."""

    function: Callable[[Tensor], Tensor]
    sign: float

    def __call__(self, rows: Tensor) -> Tensor:
        return self.sign * self.function(rows).reshape(len(rows))


def _only_tensors(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def checked(rows: Tensor) -> Tensor:
        answer = function(rows)
        if not hasattr(answer, "detach"):
            raise TypeError(
                f"{name} must return one tensor, got {type(answer).__name__}. Wrap it in a "
                "function that picks the score or the reconstruction, and pass that to "
                "whyflag.adapters.torch_score."
            )
        return answer

    return checked
