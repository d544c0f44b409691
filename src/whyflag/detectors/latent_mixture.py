"""Gaussian mixtures over what networks make of rows, for several networks at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from torch import Tensor

LOG_2PI = float(np.log(2 * np.pi))


@final
@dataclass(frozen=True)
class LatentMixture:
    """For each of C networks a mixture of K Gaussians over D features.

    Padding counts for nothing: a component that a network does not have has weight zero, and a
    feature that it does not have is zero in all rows, with variance one.

    Attributes:
        weights: π, (C, K).
        means: μ, (C, K, D).
        whiten: Inverse Cholesky factors L⁻¹ of the covariances, (C, K, D, D).
        variances: Diagonals of the covariances, (C, K, D).
        real: Which features a network has, (C, 1, D).
    """

    weights: Tensor
    means: Tensor
    whiten: Tensor
    variances: Tensor
    real: Tensor

    @classmethod
    def estimate(
        cls, features: Tensor, memberships: Tensor, real: Tensor, floor: float
    ) -> LatentMixture:
        """The mixture of rows whose memberships are known: (C, n, D), (C, n, K), (C, 1, D).

        Nearly singular covariances are what makes this model diverge: sums are in double
        precision, a floor is added to variances, and no inverse is formed but that of a triangle.
        """
        features, memberships, real = features.double(), memberships.double(), real.double()
        C, n, D = features.shape
        K = memberships.shape[2]
        # Rows come last: they are many, and a processor works along the last dimension.
        features, memberships = features.mT.contiguous(), memberships.mT.contiguous()
        total = memberships.sum(dim=2)  # C x K
        some = total.clamp_min(1e-12)
        # Around the middle of all rows, a second moment less the square of the mean loses digits
        # far below the floor, and needs one product for all components.
        middle = features.mean(dim=2, keepdim=True)
        away = features - middle  # C x D x n
        means = memberships @ away.mT / some.unsqueeze(2)  # C x K x D
        weighted = (memberships.unsqueeze(2) * away.unsqueeze(1)).view(C, K * D, n)
        moments = (weighted @ away.mT).view(C, K, D, D) / some[:, :, None, None]
        covariances = moments - means.unsqueeze(3) * means.unsqueeze(2)  # C x K x D x D
        padding = 1 - real  # C x 1 x D
        covariances = covariances + torch.diag_embed(floor * real + padding)
        # A network that has diverged has no factor; its NaN must not end the others' training.
        factor, _ = torch.linalg.cholesky_ex(covariances)
        identity = torch.eye(factor.shape[-1], dtype=factor.dtype).expand_as(factor)
        whiten = torch.linalg.solve_triangular(factor, identity, upper=False)
        variances = torch.diagonal(covariances, dim1=2, dim2=3)
        return cls(total / n, means + middle.mT, whiten, variances, real)

    def energy(self, features: Tensor) -> Tensor:
        """−log density of each row: (C, n, D) -> (C, n)."""
        C, K, D = self.means.shape
        # The first component's mean as the origin: a difference of products, but of small numbers.
        origin = self.means[:, :1]  # C x 1 x D
        white_means = (self.whiten @ (self.means - origin).unsqueeze(3)).view(C, K * D, 1)
        away = (features.double() - origin).mT  # C x D x n
        white = torch.baddbmm(white_means, self.whiten.reshape(C, K * D, D), away, beta=-1)
        squares = (white * white).view(C, K, D, -1).sum(dim=2)  # C x K x n
        log_scale = torch.diagonal(self.whiten, dim1=2, dim2=3).log().sum(dim=2)  # C x K
        dimension = self.real.sum(dim=(1, 2))[:, None]  # C x 1
        constant = self.weights.clamp_min(1e-300).log() + log_scale - 0.5 * LOG_2PI * dimension
        return -torch.logsumexp(constant.unsqueeze(2) - 0.5 * squares, dim=1)

    def singularity(self, components: Tensor) -> Tensor:
        """Sum of inverse variances, which grows without bound towards singularity: (C,).

        Args:
            components: Which components a network has, (C, 1, K).
        """
        inverse = self.real / self.variances  # C x K x D
        return (inverse.sum(dim=2) * components[:, 0]).sum(dim=1)
