"""The variational autoencoder as an anomaly detector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal, final

import numpy as np
import torch
from scipy.stats import norm, qmc
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from whyflag.arrays import Matrix
from whyflag.batches import CALL
from whyflag.checks import check_choice, check_whole
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
from whyflag.detectors.stack import Layer, Stack
from whyflag.detectors.training import Trained
from whyflag.score import Score
from whyflag.score.autograd import Runner, from_tensor_errors, from_tensors

LAYERS = (
    Layer("encoder", "input", "hidden"),
    Layer("mean", "hidden", "latent"),
    Layer("log_variance", "hidden", "latent"),
    *DECODER,
)
# Far from the data a network may predict any variance; beyond e^±20 its exponential is useless.
MOST_LOG_VARIANCE = 20.0
DRAWS_WHILE_TRAINING = 8

Kind = Literal["reconstruction", "elbo"]


@final
class VAE(Detector):
    """Variational autoencoder; the anomaly score is its reconstruction error or its negative ELBO.

    The paper's appendix, "Variational autoencoders": encoder with one hidden layer, decoder with
    two, softplus; sizes are those with the highest ELBO of held-out rows. Real columns are
    standardised inside, and their −log p(x | z) is the squared error; that of binary columns is
    the cross-entropy.

        VAE-r: e(x) = ‖x − g(f(x))‖²
        VAE-e: e(x) = E_q(z|x) [−log p(x | z)] + KL(q(z | x) ‖ p(z))

    One fit has both: `to_score("reconstruction")` and `to_score("elbo")`. The expectation is the
    mean over draws that are fixed when the detector is fitted, so that the score is deterministic.

    Args:
        latent: Sizes of the latent variable to choose from: a float is a multiple of the number
            of columns, rounded; an int is a size.
        hidden: Sizes of the hidden layers to choose from, likewise.
        kind: Which of the scores `score_samples`, `predict` and `to_score()` use.
        binary: "auto" for the columns that hold only 0 and 1, their positions, or a bool for each.
        learning_rate: Adam's.
        batch_size: Rows in a batch.
        max_updates: Most updates of the weights.
        patience: Updates without a gain in the held-out loss after which a candidate is stopped.
        n_draws: Draws of z for the expectation, an even number.
        validation_fraction: Part of the rows that is held out, unless `fit` is given held-out rows.
        contamination: Part of the training rows that `predict` calls anomalous.
        random_state: Seed of the split, the weights, the order of rows and the draws.

    Attributes:
        latent_: The chosen size of the latent variable.
        hidden_: The chosen size of the hidden layers.
        selection_: The candidates and the mean negative ELBO of held-out rows with each.
        weights_: The chosen network's arrays by name.
        offset_: `score_samples` below this is anomalous.
    """

    def __init__(
        self,
        latent: float | Sequence[float] = (0.2, 0.4, 0.6, 0.8),
        hidden: float | Sequence[float] = (0.5, 1.0, 2.0),
        *,
        kind: Kind = "reconstruction",
        binary: Literal["auto"] | Sequence[int] | Sequence[bool] = "auto",
        learning_rate: float = 1e-3,
        batch_size: int = 128,
        max_updates: int = 20_000,
        patience: int = 600,
        n_draws: int = 32,
        validation_fraction: float = 0.2,
        contamination: float = 0.01,
        random_state: int = 0,
    ) -> None:
        self.latent = latent
        self.hidden = hidden
        self.kind = kind
        self.binary = binary
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_updates = max_updates
        self.patience = patience
        self.n_draws = n_draws
        self.validation_fraction = validation_fraction
        self.contamination = contamination
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, X_valid: Any = None) -> VAE:
        rows, seen, held = self._read(X, X_valid)
        d = rows.shape[1]
        latents, hiddens = widths_of("latent", self.latent, d), widths_of("hidden", self.hidden, d)
        self.binary_ = binary_columns(self.binary, rows)
        self.location_, self.spread_ = standardisation(rows, leave=self.binary_)
        widths = [{"latent": z, "hidden": h, "input": d} for h, z in product(hiddens, latents)]
        trained = self._train(widths, seen, held)
        self.selection_ = selection_of("mean negative ELBO of held-out rows", widths, trained)
        best = self.selection_.candidates.index(self.selection_.best)
        self.latent_, self.hidden_ = widths[best]["latent"], widths[best]["hidden"]
        self.weights_ = trained[best].arrays
        self.draws_ = _draws(self.n_draws, self.latent_, self.random_state)
        self.offsets_ = {kind: self._offset(self._build(kind), rows) for kind in _KINDS}
        self.offset_ = self.offsets_[self.kind]
        return self

    def to_score(self, kind: Kind | None = None) -> Score:
        """The reconstruction error or the negative ELBO, high = anomalous; the setting's if None.

        The error has marginals: those of the columns by themselves.
        """
        check_is_fitted(self)
        kind = self.kind if kind is None else kind
        check_choice("kind", kind, _KINDS)
        return self._named(self._build(kind), float(self.offsets_[kind]))

    def _build(self, kind: Kind) -> Score:
        widths = {"input": len(self.location_), "latent": self.latent_, "hidden": self.hidden_}
        stack = Stack.of(LAYERS, [widths], [self.weights_])
        binary, location, spread, draws = (
            torch.as_tensor(part)
            for part in (self.binary_, self.location_, self.spread_, self.draws_)
        )
        network = _Network(stack, binary, location, spread, draws)
        d = len(self.location_)
        if kind == "reconstruction":
            score = from_tensor_errors(network.errors, d)
        else:
            score = from_tensors(network.bound, d, Runner(chunk=4 * CALL // len(self.draws_)))
        return replace(score, unit=1.0)  # both are −log likelihoods, but for a constant

    def _train(self, widths: list[dict[str, int]], seen: Matrix, held: Matrix) -> list[Trained]:
        binary = torch.as_tensor(self.binary_)
        seen_rows, held_rows = (
            torch.tensor((part - self.location_) / self.spread_, dtype=torch.float32)
            for part in (seen, held)
        )
        widest = max(width["latent"] for width in widths)
        few = torch.tensor(
            _draws(DRAWS_WHILE_TRAINING, widest, self.random_state), dtype=torch.float32
        )

        def loss(stack: Stack, rows: Tensor, generator: torch.Generator) -> Tensor:
            noise = torch.randn((len(rows), stack.padded["latent"]), generator=generator)
            mean, log_variance = encode(stack, rows.expand(len(stack.widths), -1, -1))
            codes = mean + torch.exp(0.5 * log_variance) * noise * stack.masks["latent"]
            missed = errors(rows, decode(stack, codes), binary).sum(dim=2)  # C x n
            return (missed + divergence(mean, log_variance)).mean(dim=1)

        def held_out_loss(stack: Stack) -> Tensor:
            draws = few[:, : stack.padded["latent"]]
            return negative_elbo(stack, held_rows, draws, binary).mean(dim=1)

        return train_candidates(self, LAYERS, widths, seen_rows, loss, held_out_loss)

    def _check_settings(self) -> None:
        super()._check_settings()
        check_choice("kind", self.kind, _KINDS)
        check_whole("n_draws", self.n_draws, at_least=2)
        if self.n_draws % 2:
            raise ValueError(f"`n_draws` must be an even number, got {self.n_draws}.")


_KINDS: tuple[Kind, ...] = ("reconstruction", "elbo")


@final
@dataclass(frozen=True)
class _Network:
    """What a fitted network makes of rows: a record, so that a score of it can be pickled."""

    stack: Stack
    binary: Tensor
    location: Tensor
    spread: Tensor
    draws: Tensor

    def errors(self, rows: Tensor) -> Tensor:
        """Squared errors of the reconstruction: (n, d) -> (n, d)."""
        rows = ((rows - self.location) / self.spread).unsqueeze(0)
        mean, _ = encode(self.stack, rows)
        return ((rows - reconstruction(decode(self.stack, mean), self.binary)) ** 2)[0]

    def bound(self, rows: Tensor) -> Tensor:
        """−ELBO: (n, d) -> (n,)."""
        rows = (rows - self.location) / self.spread
        return negative_elbo(self.stack, rows, self.draws, self.binary)[0]


def encode(stack: Stack, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and log-variance of q(z | x), zero where a network has no unit: (C, n, d) -> C, n, z."""
    hidden = stack.hidden("encoder", rows)
    mean = stack.linear("mean", hidden) * stack.masks["latent"]
    log_variance = stack.linear("log_variance", hidden) * stack.masks["latent"]
    return mean, log_variance.clamp(-MOST_LOG_VARIANCE, MOST_LOG_VARIANCE)


def divergence(mean: Tensor, log_variance: Tensor) -> Tensor:
    """KL(q(z | x) ‖ N(0, I)) of each row: (C, n)."""
    return 0.5 * (mean**2 + torch.exp(log_variance) - log_variance - 1).sum(dim=2)


def negative_elbo(stack: Stack, rows: Tensor, draws: Tensor, binary: Tensor) -> Tensor:
    """−ELBO of each row, the expectation over fixed draws of z: (n, d), (s, z) -> (C, n)."""
    mean, log_variance = encode(stack, rows.expand(len(stack.widths), -1, -1))
    deviation = torch.exp(0.5 * log_variance)
    n, s = len(rows), len(draws)
    codes = mean.unsqueeze(2) + deviation.unsqueeze(2) * draws * stack.masks["latent"].unsqueeze(2)
    outputs = decode(stack, codes.flatten(1, 2)).view(len(mean), n, s, -1)  # C x n x s x d
    missed = errors(rows.unsqueeze(1), outputs, binary).sum(dim=3).mean(dim=2)  # C x n
    return missed + divergence(mean, log_variance)


def _draws(n: int, width: int, seed: int) -> Matrix:
    """Draws of N(0, I) that fill the space evenly, each with its mirror image: n x width.

    Scaled to mean squares of one: most of the error of few draws is that their squares are
    too large or too small on average (docs/detectors.md).
    """
    sobol = qmc.Sobol(width, seed=np.random.default_rng(seed))
    half = norm.ppf(sobol.random_base2(int(np.ceil(np.log2(n / 2))))[: n // 2])
    half /= np.sqrt(np.mean(half**2, axis=0))
    return np.stack([half, -half], axis=1).reshape(n, width)
