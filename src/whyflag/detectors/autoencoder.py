"""What VAE and DAGMM share: sizes of networks, the decoder, and the error of a reconstruction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from whyflag.arrays import BoolVector, Matrix
from whyflag.detectors.stack import Layer, Stack

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
        if not number or not size > 0:
            raise ValueError(f"`{name}` must be positive numbers, got {sizes!r}.")
        whole = isinstance(size, (int, np.integer))
        width = int(size) if whole else max(1, round(float(size) * d))
        if width not in widths:
            widths.append(width)
    if not widths:
        raise ValueError(f"`{name}` must have at least one number, got none.")
    return widths


def binary_columns(binary: Any, rows: Matrix) -> BoolVector:
    """Which columns hold 0 and 1: those that say so, or those that were named, (d,)."""
    bits = ((rows == 0) | (rows == 1)).all(axis=0)
    if isinstance(binary, str) and binary == "auto":
        return bits
    mask = np.zeros(rows.shape[1], dtype=np.bool_)
    try:
        mask[np.asarray(binary, dtype=np.int64)] = True
    except (IndexError, TypeError, ValueError):
        raise ValueError(
            f'`binary` must be "auto" or positions of columns from 0 to {len(mask) - 1}, '
            f"got {binary!r}."
        ) from None
    if (mask & ~bits).any():
        column = int(np.argmax(mask & ~bits))
        raise ValueError(f"`binary` column {column} must hold only 0 and 1 in the training rows.")
    return mask


def groups(widths: Sequence[dict[str, int]]) -> Iterator[list[int]]:
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
    return torch.where(binary, torch.sigmoid(outputs), outputs)


def errors(rows: Tensor, outputs: Tensor, binary: Tensor) -> Tensor:
    """−log likelihood of each value but for a constant: squared error, or cross-entropy."""
    return torch.where(binary, softplus(outputs) - rows * outputs, (rows - outputs) ** 2)
