"""The deep autoencoding Gaussian mixture model as an anomaly detector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal, final

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from whyflag.arrays import Matrix
from whyflag.checks import check_number
from whyflag.detectors.autoencoder import (
    DECODER,
    binary_columns,
    decode,
    errors,
    reconstruction,
    selection_of,
    train_candidates,
    widths_of,
)
from whyflag.detectors.base import Detector, standardisation
from whyflag.detectors.floor import variance_floor
from whyflag.detectors.latent_mixture import LatentMixture
from whyflag.detectors.stack import Layer, Stack
from whyflag.detectors.training import Trained
from whyflag.score import Score
from whyflag.score.autograd import from_tensors

LAYERS = (
    Layer("encoder", "input", "hidden"),
    Layer("code", "hidden", "latent"),
    *DECODER,
    Layer("estimator", "features", "hidden"),
    Layer("membership", "hidden", "n_components"),
)
# Weights of the energy and of the penalty on singularity, as Zong et al. (ICLR 2018) have them.
ENERGY_WEIGHT = 0.1
SINGULARITY_WEIGHT = 0.005
ROWS_PER_FEATURE = 8  # in a batch, so that its covariances are not singular
# Lengths of rows and errors count from here, so that a row of zeros has a direction.
SHORTEST = 1e-3
# Training rows whose mixture held-out rows are judged by while training: the mixture of all of
# them at each look takes longer than the training itself.
MIXTURE_ROWS = 2048


@final
class DAGMM(Detector):
    """Deep autoencoding Gaussian mixture model (Zong et al., ICLR 2018); the score is its energy.

    An autoencoder with the shape of `VAE`'s; the features of a row are its latent code and two
    measures of its reconstruction (relative distance, cosine); an estimation network with one
    hidden layer says to which component a row belongs, and the mixture of all training rows by
    these memberships gives the energy, −log density (the paper's appendix, "Deep autoencoding
    Gaussian mixture models").

    Args:
        n_components: Numbers of components to choose from, or one number.
        latent: Sizes of the latent code to choose from: a float is a multiple of the number of
            columns, rounded; an int is a size.
        hidden: Sizes of the hidden layers to choose from, likewise.
        binary: "auto" for the columns that hold only 0 and 1, their positions, or a bool for each.
        reg_covar: Added to the variances of the mixture; without it that of `GMM` for as many
            columns (docs/design/nearness.md).
        learning_rate: Adam's.
        batch_size: Rows in a batch, or eight times the number of the mixture's features if that is
            more: while training each batch has a mixture of its own.
        max_updates: Most updates of the weights.
        patience: Updates without a gain in the held-out loss after which a candidate is stopped.
        validation_fraction: Part of the rows that is held out, unless `fit` is given held-out rows.
        contamination: Part of the training rows that `predict` calls anomalous.
        random_state: Seed of the split, the weights and the order of rows.

    Attributes:
        n_components_: The chosen number of components.
        latent_: The chosen size of the latent code.
        hidden_: The chosen size of the hidden layers.
        reg_covar_: What was added to the variances.
        selection_: The candidates and the loss of held-out rows with each.
        weights_: The chosen network's arrays by name.
        mixture_: The arrays of its mixture by name.
        offset_: `score_samples` below this is anomalous.
    """

    def __init__(
        self,
        n_components: int | Sequence[int] = (2, 3, 4),
        latent: float | Sequence[float] = (0.2, 0.4, 0.6, 0.8),
        hidden: float | Sequence[float] = (0.5, 1.0, 2.0),
        *,
        binary: Literal["auto"] | Sequence[int] | Sequence[bool] = "auto",
        reg_covar: float | None = None,
        learning_rate: float = 1e-4,
        batch_size: int = 128,
        max_updates: int = 20_000,
        patience: int = 600,
        validation_fraction: float = 0.2,
        contamination: float = 0.01,
        random_state: int = 0,
    ) -> None:
        self.n_components = n_components
        self.latent = latent
        self.hidden = hidden
        self.binary = binary
        self.reg_covar = reg_covar
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_updates = max_updates
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.contamination = contamination
        self.random_state = random_state

    def _check_settings(self) -> None:
        super()._check_settings()
        check_number("reg_covar", self.reg_covar, above=0, or_none=True)

    def fit(self, X: Any, y: Any = None, *, X_valid: Any = None) -> DAGMM:
        rows, seen, held = self._read(X, X_valid)
        d = rows.shape[1]
        sizes = product(
            widths_of("n_components", self.n_components, 1),
            widths_of("hidden", self.hidden, d),
            widths_of("latent", self.latent, d),
        )
        widths = [
            {"n_components": k, "latent": z, "hidden": h, "features": z + 2, "input": d}
            for k, h, z in sizes
        ]
        self.reg_covar_ = variance_floor(d) if self.reg_covar is None else self.reg_covar
        self.binary_ = binary_columns(self.binary, rows)
        self.location_, self.spread_ = standardisation(rows, leave=self.binary_)
        trained = self._train(widths, seen, held)
        self.selection_ = selection_of("loss of held-out rows", widths, trained)
        best = self.selection_.candidates.index(self.selection_.best)
        self.n_components_ = widths[best]["n_components"]
        self.latent_, self.hidden_ = widths[best]["latent"], widths[best]["hidden"]
        self.weights_ = trained[best].arrays
        stack = self._stack()
        binary = torch.as_tensor(self.binary_)
        features, _ = describe(stack, self._standardised(rows), binary)
        mixture = mixture_of(stack, features, self.reg_covar_)
        self.mixture_ = {
            name: getattr(mixture, name)[0].numpy() for name in ("weights", "means", "whiten")
        }
        self.offset_ = self._offset(self._build(), rows)
        return self

    def to_score(self) -> Score:
        check_is_fitted(self)
        return self._named(self._build(), self.offset_)

    def _build(self) -> Score:
        stack = self._stack()
        binary, location, spread = (
            torch.as_tensor(part) for part in (self.binary_, self.location_, self.spread_)
        )
        weights, means, whiten = (
            torch.as_tensor(self.mixture_[name]).unsqueeze(0)
            for name in ("weights", "means", "whiten")
        )
        mixture = LatentMixture(weights, means, whiten, means, stack.masks["features"])
        energy = _Energy(stack, binary, location, spread, mixture)
        return replace(from_tensors(energy, len(self.location_)), unit=1.0)

    def _stack(self) -> Stack:
        widths = {
            "input": len(self.location_),
            "hidden": self.hidden_,
            "latent": self.latent_,
            "features": self.latent_ + 2,
            "n_components": self.n_components_,
        }
        return Stack.of(LAYERS, [widths], [self.weights_])

    def _standardised(self, rows: Matrix, dtype: torch.dtype = torch.float64) -> Tensor:
        return torch.tensor((rows - self.location_) / self.spread_, dtype=dtype)

    def _train(self, widths: list[dict[str, int]], seen: Matrix, held: Matrix) -> list[Trained]:
        binary = torch.as_tensor(self.binary_)
        seen_rows, held_rows = (self._standardised(part, torch.float32) for part in (seen, held))
        some = np.random.default_rng(self.random_state).permutation(len(seen))[:MIXTURE_ROWS]

        def loss(stack: Stack, rows: Tensor, generator: torch.Generator) -> Tensor:
            features, outputs = describe(stack, rows, binary)
            mixture = mixture_of(stack, features, self.reg_covar_)
            return objective(stack, rows, features, outputs, mixture, binary)

        def held_out_loss(stack: Stack) -> Tensor:
            seen_features, _ = describe(stack, seen_rows[some], binary)
            mixture = mixture_of(stack, seen_features, self.reg_covar_)
            features, outputs = describe(stack, held_rows, binary)
            return objective(stack, held_rows, features, outputs, mixture, binary)

        widest = max(each["features"] for each in widths)
        return train_candidates(
            self,
            LAYERS,
            widths,
            seen_rows,
            loss,
            held_out_loss,
            batch_size=max(self.batch_size, ROWS_PER_FEATURE * widest),
        )


@final
@dataclass(frozen=True)
class _Energy:
    """The energy of rows by a fitted network: a record, so that a score of it can be pickled."""

    stack: Stack
    binary: Tensor
    location: Tensor
    spread: Tensor
    mixture: LatentMixture

    def __call__(self, rows: Tensor) -> Tensor:
        features, _ = describe(self.stack, (rows - self.location) / self.spread, self.binary)
        return self.mixture.energy(features)[0]


def describe(stack: Stack, rows: Tensor, binary: Tensor) -> tuple[Tensor, Tensor]:
    """What the mixture sees of rows, and what the decoder makes of them.

    Features are the relative distance and the cosine between row and reconstruction, then the
    latent code, zero where a network has no unit: (n, d) -> (C, n, D), (C, n, d).
    """
    rows = rows.expand(len(stack.widths), -1, -1)  # C x n x d
    codes = stack.linear("code", stack.hidden("encoder", rows)) * stack.masks["latent"]
    outputs = decode(stack, codes)
    seen = reconstruction(outputs, binary)
    length, seen_length, missed = _length(rows), _length(seen), _length(rows - seen)
    cosine = (rows * seen).sum(dim=2, keepdim=True) / (length * seen_length)
    return torch.cat([missed / length, cosine, codes], dim=2), outputs


def mixture_of(stack: Stack, features: Tensor, floor: float) -> LatentMixture:
    """The mixture of rows, each belonging to components as the estimation network says."""
    absent = stack.masks["n_components"] == 0
    logits = stack.linear("membership", stack.hidden("estimator", features))
    memberships = torch.softmax(logits.masked_fill(absent, -torch.inf), dim=2)
    return LatentMixture.estimate(features, memberships, stack.masks["features"], floor)


def objective(
    stack: Stack,
    rows: Tensor,
    features: Tensor,
    outputs: Tensor,
    mixture: LatentMixture,
    binary: Tensor,
) -> Tensor:
    """Reconstruction error, energy and penalty, of each network on all rows: (C,)."""
    missed = errors(rows, outputs, binary).sum(dim=2).mean(dim=1)  # C
    energy = mixture.energy(features).mean(dim=1)
    singularity = mixture.singularity(stack.masks["n_components"])
    return missed + ENERGY_WEIGHT * energy + SINGULARITY_WEIGHT * singularity


def _length(vectors: Tensor) -> Tensor:
    return torch.sqrt((vectors**2).sum(dim=2, keepdim=True) + SHORTEST**2)
