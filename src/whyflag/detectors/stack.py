"""Networks of several sizes side by side, as one network with a leading dimension.

Candidates of a model selection are small; a step of training is mostly overhead, and one step for
all of them costs little more than one step for one. They are padded to the largest width: units
that a candidate does not have put out zero, so that no gradient reaches their weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

Widths = Mapping[str, int]  # by the name of a layer: "input", "hidden", "latent" …


@final
@dataclass(frozen=True)
class Layer:
    """An affine map from one named width to another."""

    name: str
    source: str
    target: str


@final
class Stack:
    """C networks of the same layers and different widths.

    Args:
        layers: What the networks consist of.
        widths: The widths of each network, C.
        flat: All weights, one row for each network, (C, P).
        padded: The widths that all are padded to; the largest of each if None.
    """

    def __init__(
        self,
        layers: Sequence[Layer],
        widths: Sequence[Widths],
        flat: Tensor,
        padded: Widths | None = None,
    ) -> None:
        self.layers, self.widths = tuple(layers), tuple(widths)
        self.flat = flat
        self.padded = largest = _largest(widths) if padded is None else padded
        self.masks = {
            name: _mask([each[name] for each in widths], size).to(flat)
            for name, size in largest.items()
        }  # C x 1 x width
        # One split has one backward pass; a slice for each layer would have as many of full size.
        sizes = [size for layer in layers for size in _sizes(layer, largest)]
        parts = iter(torch.split(flat, sizes, dim=1))
        self._weights, self._biases = {}, {}
        for layer in layers:
            shape = (-1, largest[layer.source], largest[layer.target])
            self._weights[layer.name] = next(parts).view(shape)  # C x source x target
            self._biases[layer.name] = next(parts).unsqueeze(1)  # C x 1 x target

    @classmethod
    def random(
        cls,
        layers: Sequence[Layer],
        widths: Sequence[Widths],
        seeds: Sequence[Sequence[int]],
        dtype: torch.dtype,
    ) -> Stack:
        """Uniform within ±1/√(fan-in), as PyTorch does; each network by a seed of its own."""
        networks = []
        for each, seed in zip(widths, seeds, strict=True):
            rng = np.random.default_rng(seed)
            arrays = {}
            for layer in layers:
                bound = 1 / np.sqrt(each[layer.source])
                shape = (each[layer.source], each[layer.target])
                arrays[f"{layer.name}.weight"] = rng.uniform(-bound, bound, size=shape)
                arrays[f"{layer.name}.bias"] = rng.uniform(-bound, bound, size=shape[1])
            networks.append(arrays)
        return cls.of(layers, widths, networks, dtype)

    @classmethod
    def of(
        cls,
        layers: Sequence[Layer],
        widths: Sequence[Widths],
        networks: Sequence[Mapping[str, np.ndarray]],
        dtype: torch.dtype = torch.float64,
    ) -> Stack:
        """Put networks side by side, each with its own arrays."""
        largest = _largest(widths)
        rows = []
        for arrays in networks:
            parts = []
            for layer in layers:
                padded = np.zeros((largest[layer.source] + 1, largest[layer.target]))
                weight, bias = arrays[f"{layer.name}.weight"], arrays[f"{layer.name}.bias"]
                padded[: weight.shape[0], : weight.shape[1]] = weight
                padded[-1, : bias.shape[0]] = bias
                parts.append(padded.ravel())
            rows.append(np.concatenate(parts))
        return cls(layers, widths, torch.tensor(np.array(rows), dtype=dtype))

    def arrays(self, which: int) -> dict[str, np.ndarray]:
        """One network's own arrays, without the padding."""
        cut = {}
        for layer in self.layers:
            source, target = self.widths[which][layer.source], self.widths[which][layer.target]
            weight = self._weights[layer.name][which, :source, :target]
            bias = self._biases[layer.name][which, 0, :target]
            cut[f"{layer.name}.weight"] = weight.detach().double().numpy().copy()
            cut[f"{layer.name}.bias"] = bias.detach().double().numpy().copy()
        return cut

    def with_weights(self, flat: Tensor) -> Stack:
        """The same networks with other weights."""
        return Stack(self.layers, self.widths, flat, self.padded)

    def select(self, which: Sequence[int]) -> Stack:
        """Some of the networks, padded as before."""
        widths = [self.widths[i] for i in which]
        return Stack(self.layers, widths, self.flat.detach()[list(which)], self.padded)

    def linear(self, name: str, inputs: Tensor) -> Tensor:
        """An affine layer: (C, n, source) -> (C, n, target)."""
        return torch.baddbmm(self._biases[name], inputs, self._weights[name])

    def hidden(self, name: str, inputs: Tensor) -> Tensor:
        """A layer with softplus, zero where a network has no unit."""
        return softplus(self.linear(name, inputs)) * self.masks["hidden"]


def _largest(widths: Sequence[Widths]) -> dict[str, int]:
    return {name: max(each[name] for each in widths) for name in widths[0]}


def _sizes(layer: Layer, largest: Widths) -> tuple[int, int]:
    return largest[layer.source] * largest[layer.target], largest[layer.target]


def _mask(sizes: Sequence[int], largest: int) -> Tensor:
    return (torch.arange(largest) < torch.tensor(sizes)[:, None]).double().unsqueeze(1)
