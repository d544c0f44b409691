"""PyOD's neural networks as scores that can be differentiated.

PyOD's own pass leaves PyTorch on its way. Ours goes through the same modules and computes in
double precision: the same numbers without the rounding, which would be steps in the minimiser's
way.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from whyflag.arrays import Matrix, Vector
from whyflag.score import Score

if TYPE_CHECKING:
    from torch import Tensor

EPSILON = 1e-8  # PyOD adds it to the standard deviations
ROWS = 16  # that tell whether scores are those that the threshold was made of ...
SAME = 1e-3  # ... if they differ by less than this part of the largest: by float32


def network_score(detector: Any) -> Score:
    """The score of one of the `NETWORKS`. Its modules become double: pass a copy."""
    import torch

    from whyflag.score.autograd import Runner, from_tensors

    names, forward = NETWORKS[type(detector).__name__]
    modules = [getattr(detector, name).to("cpu", torch.float64) for name in names]
    for module in modules:
        module.requires_grad_(False)  # only rows are differentiated
        module.eval()  # for good: threads that switch it to and fro disturb one another
    location, spread = (torch.as_tensor(part) for part in _standardisation(detector))
    function = _Forward(detector, forward, location, spread)
    return from_tensors(function, runner=Runner(modules=modules))


@final
@dataclass(frozen=True)
class _Forward:
    """A pass through a network: a record, so that a score of it can be pickled."""

    detector: Any
    forward: Callable[[Any, Tensor], Tensor]
    location: Tensor
    spread: Tensor

    def __call__(self, rows: Tensor) -> Tensor:
        return self.forward(self.detector, (rows - self.location) / self.spread)


@final
@dataclass(frozen=True)
class NetworkItself:
    """What a network's detector itself says, without what it leaves to chance.

    Modules are in evaluation mode, and a variational autoencoder decodes the mean of its draw.
    """

    detector: Any  # a copy

    def __call__(self, X: Matrix) -> Vector:
        import torch

        names, _ = NETWORKS[type(self.detector).__name__]
        for name in names:
            module = getattr(self.detector, name).eval()
            if type(self.detector).__name__ == "VAE":
                module.reparameterize = _mean_of_draw
        self.detector.verbose = 0
        # Batches are drawn with a seed from PyTorch's generator, which is the caller's.
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            return np.asarray(self.detector.decision_function(X), dtype=np.float64)


def says_the_same(detector: Any, function: Callable[[Matrix], Vector]) -> bool:
    """Whether the scores that a detector's threshold was made of are those of this function.

    ALAD scores with dropout, a variational autoencoder decodes a draw, and AnoGAN's scores are of
    a network while it was being fitted.
    """
    import torch

    if type(detector).__name__ == "AnoGAN":
        return False

    own = deepcopy(detector)
    own.verbose = 0
    location, spread = (np.asarray(each, dtype=np.float64) for each in _standardisation(own))
    width = getattr(own, "n_features_", getattr(own, "feature_size", None))
    if width is None and len(location) == 1:
        return True  # those that do not know how many columns they have leave nothing to chance
    rows = location + spread * np.random.default_rng(0).normal(size=(ROWS, width or len(location)))
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        theirs = np.asarray(own.decision_function(rows), dtype=np.float64)
    ours = function(rows)
    return bool((np.abs(theirs - ours) <= SAME * np.abs(ours).max()).all())


def _mean_of_draw(mean: Tensor, log_variance: Tensor) -> Tensor:
    return mean


def _standardisation(detector: Any) -> tuple[Vector, Vector]:
    """What the detector subtracts from its rows, and what it divides them by."""
    if not getattr(detector, "preprocessing", False):
        return np.zeros(1), np.ones(1)
    if (scaler := getattr(detector, "scaler_", None)) is not None:
        return scaler.mean_, scaler.scale_
    if hasattr(detector, "X_mean"):
        return detector.X_mean, detector.X_std + EPSILON
    return detector.mean, detector.std + EPSILON


def _distance(rows: Tensor, others: Tensor) -> Tensor:
    return (rows - others).norm(dim=1)


def _auto_encoder(detector: Any, rows: Tensor) -> Tensor:
    return _distance(rows, detector.model(rows))


def _vae(detector: Any, rows: Tensor) -> Tensor:
    # PyOD decodes a random draw around the latent mean; the mean itself is what does not change.
    mean, _ = detector.model.encode(rows)
    return _distance(rows, detector.model.decode(mean))


def _ae1svm(detector: Any, rows: Tensor) -> Tensor:
    reconstruction, _ = detector.model(rows)
    return _distance(rows, reconstruction)


def _deep_svdd(detector: Any, rows: Tensor) -> Tensor:
    away = detector.model_(rows) - detector.c_.to(rows)
    return (away**2).sum(dim=-1)


def _alad(detector: Any, rows: Tensor) -> Tensor:
    import torch

    generated = detector.dec(detector.enc(rows))
    true = detector.disc_xx(torch.cat((rows, rows), dim=1))
    fake = detector.disc_xx(torch.cat((rows, generated), dim=1))
    return ((true - fake) ** 2).mean(dim=1)


def _ano_gan(detector: Any, rows: Tensor) -> Tensor:
    _, generated, latent = detector.query_model(rows.new_zeros((1, detector.latent_dim_G)))
    by_generator = (rows - generated).abs().mean(dim=-1)
    by_discriminator = (detector.discriminator(rows) - latent).abs().mean(dim=-1)
    return by_generator + by_discriminator


def _discriminator(detector: Any, rows: Tensor) -> Tensor:
    return detector.discriminator(rows).flatten()


def _deviation_network(detector: Any, rows: Tensor) -> Tensor:
    return detector.model(rows).flatten()


# By class: the modules that score, and the pass through them, of standardised rows.
NETWORKS: dict[str, tuple[tuple[str, ...], Callable[[Any, Tensor], Tensor]]] = {
    "AE1SVM": (("model",), _ae1svm),
    "ALAD": (("enc", "dec", "disc_xx"), _alad),
    "AnoGAN": (("query_model", "discriminator"), _ano_gan),
    "AutoEncoder": (("model",), _auto_encoder),
    "DeepSVDD": (("model_",), _deep_svdd),
    "DevNet": (("model",), _deviation_network),
    "MO_GAAL": (("discriminator",), _discriminator),
    "SO_GAAL": (("discriminator",), _discriminator),
    "VAE": (("model",), _vae),
}
