"""Definitions of the paper's printed formulas and of its authors' program, where they depart.

Nothing else uses these. `whyflag_paper.audit` sets their figures beside those of
the definitions in the paper's text; docs/audit.md explains each.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb, factorial

import numpy as np
import torch
from torch import Tensor

from whyflag.arrays import BoolMatrix, Matrix, Vector
from whyflag.detectors.autoencoder import decode, errors
from whyflag.detectors.latent_mixture import LatentMixture
from whyflag.detectors.stack import Layer, Stack
from whyflag.detectors.training import Trained, train_together
from whyflag.detectors.vae import LAYERS, divergence, encode
from whyflag.score import Score
from whyflag.score.mixture import MixtureEnergy
from whyflag.shapley.coalitions import numbered


def compensation(x: Matrix, score_at_minimum: Vector) -> Matrix:
    """|x − e(x*)|: the row against a number, instead of against the point x*."""
    return np.abs(x - score_at_minimum[:, None])


def marginal_energies(mixture: MixtureEnergy, X: Matrix) -> Matrix:
    """Energies of single columns by entries of the precision, which are conditional, (n, d)."""
    precisions = np.linalg.inv(mixture.covariances)  # K x d x d
    own = np.einsum("kdd->kd", precisions)  # K x d
    Z = (X - mixture.location) / mixture.spread
    away = Z[:, None, :] - mixture.means  # n x K x d
    log_joint = mixture.log_weights[:, None] + 0.5 * (
        np.log(own / (2 * np.pi)) - own * away**2
    )  # n x K x d
    return np.asarray(-np.logaddexp.reduce(log_joint, axis=1))


def relaxed_points(
    x: Vector, minima: Matrix, coalitions: BoolMatrix, *, once: bool = False
) -> Matrix:
    """The paper's equation 4 as printed: x*(∅) once for each member of S, (m, d).

    Args:
        x: The row, (d,).
        minima: x*(∅), then x*({i}) for each i, (d + 1, d).
        coalitions: bool (m, d).
        once: x*(∅) counts once, as the text has it.
    """
    size = coalitions.sum(axis=1, keepdims=True)  # m x 1
    times = 1 if once else np.maximum(size, 1)  # printed, ∅ would have an empty sum: zero
    outside = (coalitions @ minima[1:] + times * minima[0]) / (size + 1)
    return np.where(coalitions, x, outside)


def printed_weight(d: int, size: int) -> float:
    """|S|! (d − |S| − 1)! / d!, the weight of Algorithm 1 as printed."""
    return factorial(size) * factorial(d - size - 1) / factorial(d)


def kernel_weight(d: int, size: int) -> float:
    """The Shapley kernel, for comparison: (d − 1) / (C(d, |S|) |S| (d − |S|))."""
    return (d - 1) / (comb(d, size) * size * (d - size))


def weights(coalitions: BoolMatrix, weigh: Callable[[int, int], float] = kernel_weight) -> Vector:
    """The weight of each coalition, bool (m, d) -> (m,)."""
    d = coalitions.shape[1]
    return np.array([weigh(d, int(size)) for size in coalitions.sum(axis=1)])


def regression(
    coalitions: BoolMatrix, worth: Vector, weights: Vector, empty: float, full: float
) -> Vector:
    """Weighted least squares, efficiency eliminated: (m, d), (m,), (m,) -> (d,)."""
    z = coalitions.astype(np.float64)
    last = z[:, -1]
    design = z[:, :-1] - last[:, None]
    target = worth - empty - last * (full - empty)
    scaled = design * weights[:, None]
    first = np.linalg.lstsq(scaled.T @ design, scaled.T @ target, rcond=None)[0]
    return np.append(first, full - empty - first.sum())


def inner_coalitions(d: int, leave_out: int | None = None) -> BoolMatrix:
    """All coalitions but ∅ and D, and but those of a size that is left out, bool (m, d)."""
    every = numbered(0, 2**d, d)
    size = every.sum(axis=1)
    return np.asarray(every[(size > 0) & (size < d) & (size != leave_out)])


def sampled_sizes(d: int) -> Vector:
    """Chances of the sizes 2 to d − 2: the weight of one coalition, without their number."""
    weight = _inner_weights(d)
    return np.asarray(weight / weight.sum())


def sampled_weight(d: int) -> float:
    """The one weight of all that is drawn: the mean over sizes."""
    return float(_inner_weights(d).mean())


def _inner_weights(d: int) -> Vector:
    return np.array([kernel_weight(d, size) for size in range(2, d - 1)])


def adam_minimum(
    score: Score, X: Matrix, free: BoolMatrix, gamma: float, *, max_steps: int = 2000
) -> Matrix:
    """Adam from x, step 0.01, on e/d + γ · mean ((y − x)/x)², until it changes by under 1e-6."""
    d = X.shape[1]
    unit = np.maximum(np.abs(X), 1e-4)
    share = gamma / np.maximum(free.sum(axis=1), 1)  # b
    Y, first, second = X.copy(), np.zeros_like(X), np.zeros_like(X)
    before = np.full(len(X), np.inf)
    moving = np.arange(len(X))
    for step in range(1, max_steps + 1):
        x, y, some = X[moving], Y[moving], free[moving]
        value, gradient = score.value_and_grad(y)
        away = (y - x) / unit[moving]
        loss = value / d + share[moving] * (away**2 * some).sum(axis=1)
        slope = (gradient / d + 2 * share[moving, None] * away / unit[moving]) * some
        first[moving] = 0.9 * first[moving] + 0.1 * slope
        second[moving] = 0.999 * second[moving] + 0.001 * slope**2
        corrected = np.sqrt(second[moving] / (1 - 0.999**step)) + 1e-8
        Y[moving] = y - 0.01 * first[moving] / (1 - 0.9**step) / corrected
        past = before[moving]
        going = ~(np.isfinite(past) & (np.abs(past - loss) <= 1e-6 * np.abs(past)))
        before[moving] = loss
        moving = moving[going]
        if not len(moving):
            break
    return np.where(free, Y, X)


def flipped_rows(x: Vector, flips: BoolMatrix) -> Matrix:
    """Neighbours whose 0/1 flips are taken for row indices: two of them change, wholly, (N, d)."""
    near = np.tile(x, (len(flips), 1))
    near[flips.astype(int)] = 1 - near[flips.astype(int)]
    return near


def contributions(x: Vector, near: Matrix, scores: Vector) -> Vector:
    """ACE's shares by a ridge through zero, with weights exp(−‖z − x‖² / σ) for σ², (d,).

    Args:
        x: The row, (d,).
        near: Its neighbours z, (N, d).
        scores: Their scores, (N,), counted from nowhere.
    """
    n, d = near.shape
    weight = np.exp(-((near - x) ** 2).sum(axis=1) / (0.75 * np.sqrt(d)))  # N
    weighted = near * weight[:, None]  # N x d
    w = np.linalg.solve(weighted.T @ near + np.eye(d) / n, weighted.T @ scores)
    soft = np.logaddexp(0.0, w * x)
    return np.asarray(soft / soft.sum())


def logit(scores: Vector) -> Vector:
    """The link of kernel SHAP on Lympho: NaN for a score outside (0, 1)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.log(scores / (1 - scores)))


# The shape of the authors' networks: two hidden layers in the encoder, one in the decoder.
TURNED_LAYERS = (
    Layer("encoder", "input", "hidden"),
    Layer("encoder_2", "hidden", "hidden"),
    Layer("mean", "hidden", "latent"),
    Layer("log_variance", "hidden", "latent"),
    Layer("decoder_1", "latent", "hidden"),
    Layer("output", "hidden", "input"),
)


def trained_vae(
    rows: Matrix,
    held: Matrix,
    *,
    latent: int,
    hidden: int,
    variance_as_deviation: bool = False,
    turned: bool = False,
    max_updates: int = 6000,
    seed: int = 0,
) -> tuple[float, float]:
    """Held-out negative ELBO of a VAE: as it was trained, and as the ELBO is defined.

    Args:
        rows: Training rows, (n, d).
        held: Held-out rows, (m, d).
        latent: Size of the latent variable.
        hidden: Size of the hidden layers.
        variance_as_deviation: Noise is multiplied by the variance of q(z | x).
        turned: Two hidden layers in the encoder and one in the decoder.
        max_updates: Most updates of the weights.
        seed: Seed of weights, order of rows, and noise.
    """
    no_binary = torch.zeros(rows.shape[1], dtype=torch.bool)
    held_rows = torch.tensor(held, dtype=torch.float32)
    draws = torch.randn((len(held), latent), generator=torch.Generator().manual_seed(seed))

    def bound(stack: Stack, x: Tensor, noise: Tensor, power: float) -> Tensor:
        x = x.expand(1, -1, -1)
        if turned:
            inner = stack.hidden("encoder_2", stack.hidden("encoder", x))
            mean, spread = stack.linear("mean", inner), stack.linear("log_variance", inner)
        else:
            mean, spread = encode(stack, x)
        codes = mean + torch.exp(power * spread) * noise
        inner = stack.hidden("decoder_1", codes) if turned else codes
        outputs = stack.linear("output", inner) if turned else decode(stack, codes)
        missed = errors(x, outputs, no_binary).sum(dim=2)
        return (missed + divergence(mean, spread)).mean(dim=1)

    power = 1.0 if variance_as_deviation else 0.5

    def loss(stack: Stack, batch: Tensor, generator: torch.Generator) -> Tensor:
        noise = torch.randn((len(batch), latent), generator=generator)
        return bound(stack, batch, noise, power)

    layers = TURNED_LAYERS if turned else LAYERS
    widths = [{"latent": latent, "hidden": hidden, "input": rows.shape[1]}]
    trained: Trained = train_together(
        Stack.random(layers, widths, [(seed, 0)], torch.float32),
        torch.tensor(rows, dtype=torch.float32),
        loss,
        lambda stack: bound(stack, held_rows, draws, power),
        learning_rate=1e-3,
        batch_size=128,
        max_updates=max_updates,
        patience=600,
        seed=seed,
        label="VAE",
    )[0]
    stack = Stack.of(layers, widths, [trained.arrays], torch.float32)
    with torch.no_grad():
        defined = float(bound(stack, held_rows, draws, 0.5)[0])
    return trained.held_out_loss, defined


def subtracted_weights(mixture: LatentMixture, features: Tensor) -> Tensor:
    """DAGMM's energy with the logarithm of the weights subtracted, as in the training loss."""
    turned = mixture.weights.clamp_min(1e-300) ** -1
    other = LatentMixture(turned, mixture.means, mixture.whiten, mixture.variances, mixture.real)
    return other.energy(features)


def in_single_precision(mixture: MixtureEnergy, X: Matrix) -> Vector:
    """The energy of a mixture with every step in single precision."""
    Z = ((X - mixture.location) / mixture.spread).astype(np.float32)
    log_joint = []
    for weight, mean, covariance in zip(
        mixture.log_weights, mixture.means, mixture.covariances, strict=True
    ):
        precision = np.linalg.inv(covariance.astype(np.float32))
        away = Z - mean.astype(np.float32)
        square = np.einsum("ni,ij,nj->n", away, precision, away)
        _, log_det = np.linalg.slogdet(covariance.astype(np.float32))
        log_joint.append(
            np.float32(weight) - 0.5 * (square + log_det + Z.shape[1] * np.log(2 * np.pi))
        )
    jacobian = float(np.log(mixture.spread).sum())
    return np.asarray(-np.logaddexp.reduce(log_joint, axis=0) + jacobian, dtype=np.float64)
