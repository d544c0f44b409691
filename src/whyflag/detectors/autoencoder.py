"""What VAE and DAGMM share: sizes and training of candidates, decoder, error of reconstruction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from whyflag.arrays import BoolVector, Matrix
from whyflag.detectors.selection import Candidate, Selection, choose
from whyflag.detectors.stack import Layer, Stack, Widths
from whyflag.detectors.training import Trained, train_together

DECODER = (
    Layer("decoder_1", "latent", "hidden"),
    Layer("decoder_2", "hidden", "hidden"),
    Layer("output", "hidden", "input"),
)

# Up to this number of columns, candidates of all sizes train together: their steps are overhead.
# Above, arithmetic counts, and only those of the same hidden size do.
FEW_COLUMNS = 64


def widths_of(name: str, sizes: Any, d: int) -> list[int]:
    """Numbers of units: a float is a multiple of the number of columns, an int a number."""
    given = sizes if isinstance(sizes, (Sequence, np.ndarray)) else [sizes]
    widths: list[int] = []
    for size in given:
        number = isinstance(size, (int, float, np.number)) and not isinstance(size, bool)
        if not number or not 0 < size < np.inf:
            raise ValueError(f"`{name}` must be positive numbers, got {sizes!r}.")
        whole = isinstance(size, (int, np.integer))
        width = int(size) if whole else max(1, round(float(size) * d))
        if width not in widths:
            widths.append(width)
    if not widths:
        raise ValueError(f"`{name}` must have at least one number, got none.")
    return widths


def binary_columns(binary: Any, rows: Matrix) -> BoolVector:
    """Which columns hold 0 and 1: those that say so, or those that are told, (d,)."""
    bits = ((rows == 0) | (rows == 1)).all(axis=0)
    if isinstance(binary, str) and binary == "auto":
        return bits
    mask = np.zeros(rows.shape[1], dtype=np.bool_)
    given = np.asarray(binary)
    try:
        mask[given if given.dtype == np.bool_ else given.astype(np.int64)] = True
    except (IndexError, TypeError, ValueError):
        raise ValueError(
            f'`binary` must be "auto", positions of columns from 0 to {len(mask) - 1} or a bool '
            f"for each, got {binary!r}."
        ) from None
    if (mask & ~bits).any():
        column = int(np.argmax(mask & ~bits))
        raise ValueError(f"`binary` column {column} must hold only 0 and 1 in the training rows.")
    return mask


class Network(Protocol):
    """What training needs to know of a detector: its settings."""

    learning_rate: float
    batch_size: int
    max_updates: int
    patience: int
    random_state: int


def train_candidates(
    detector: Network,
    layers: Sequence[Layer],
    widths: Sequence[Widths],
    rows: Tensor,
    loss: Callable[[Stack, Tensor, torch.Generator], Tensor],
    held_out_loss: Callable[[Stack], Tensor],
    batch_size: int | None = None,
) -> list[Trained]:
    """Train a network for each candidate's widths, as many side by side as pays."""
    trained: dict[int, Trained] = {}
    for together in _groups(widths):
        results = train_together(
            Stack.random(
                layers,
                [widths[i] for i in together],
                [(detector.random_state, i) for i in together],
                torch.float32,
            ),
            rows,
            loss,
            held_out_loss,
            learning_rate=detector.learning_rate,
            batch_size=detector.batch_size if batch_size is None else batch_size,
            max_updates=detector.max_updates,
            patience=detector.patience,
            seed=detector.random_state,
            label=f"{type(detector).__name__}, {len(together)} of {len(widths)} candidates",
        )
        trained |= dict(zip(together, results, strict=True))
    return [trained[i] for i in range(len(widths))]


def selection_of(criterion: str, widths: Sequence[Widths], trained: list[Trained]) -> Selection:
    """The choice among trained candidates, by the sizes that a user has a say in."""
    chosen_sizes = ("n_components", "latent", "hidden")
    return choose(
        criterion,
        [
            Candidate(
                {name: each[name] for name in chosen_sizes if name in each},
                result.held_out_loss,
                result.outcome,
            )
            for each, result in zip(widths, trained, strict=True)
        ],
    )


def _groups(widths: Sequence[Widths]) -> Iterator[list[int]]:
    """Positions of the candidates that train together."""
    if widths[0]["input"] <= FEW_COLUMNS:
        yield list(range(len(widths)))
        return
    for hidden in sorted({each["hidden"] for each in widths}):
        yield [i for i, each in enumerate(widths) if each["hidden"] == hidden]


def decode(stack: Stack, codes: Tensor) -> Tensor:
    """What the decoder puts out, before a binary column's sigmoid: (C, n, z) -> (C, n, d)."""
    return stack.linear("output", stack.hidden("decoder_2", stack.hidden("decoder_1", codes)))


def reconstruction(outputs: Tensor, binary: Tensor) -> Tensor:
    """Values as the decoder sees them: of a binary column, the probability of 1."""
    if not binary.any():
        return outputs
    return torch.where(binary, torch.sigmoid(outputs), outputs)


def errors(rows: Tensor, outputs: Tensor, binary: Tensor) -> Tensor:
    """−log likelihood of each value but for a constant: squared error, or cross-entropy."""
    missed = (rows - outputs) ** 2
    if binary.any():  # of these only: a softplus takes longer than a layer of the network
        logits = outputs[..., binary]
        missed[..., binary] = softplus(logits) - rows[..., binary] * logits
    return missed
