"""ACE, anomaly contribution explainer: shares of a linear model of the score around x."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from whyflag.arrays import BoolMatrix, Matrix, Tensor, Vector
from whyflag.batches import batches
from whyflag.checks import check_number, check_whole
from whyflag.contributions import Contributions
from whyflag.domain import Domain
from whyflag.methods.base import BoundMethod, Method
from whyflag.prepared import Prepared
from whyflag.score import Score, evaluate


@final
@dataclass(frozen=True)
class ACE(Method):
    """Anomaly contribution explainer: shares of a linear model of the score, fitted around x.

    φ_i = softplus(w_i u_i) / Σ_j softplus(w_j u_j), with w from a ridge regression near x:
    min_w Σ_z π(z) (a(z) − w·u(z))² + (α/N) ‖w‖², over N neighbours z of x (Zhang et al. 2019).
    u is a row in units of the scales and a its score in its unit, both counted from the mean of
    the background, where a model without an intercept is zero; π(z) = exp(−‖u(z) − u(x)‖² / σ²),
    σ = ¾ √d. The shares are positive and sum to one: they are not parts of the score, and a
    feature that does not matter has softplus(0) = log 2 before they are normalised.

    Args:
        n_neighbors: Number of neighbours, N; twice the number of columns, at least 64, if none
            is given.
        noise: Standard deviation of real columns around x, in scales.
        flips: Chance that a neighbour has a binary column flipped.
        alpha: Weight of the ridge, α.
        kl: Weight β of ACE-KL, which adds −(β/N) KL(uniform ‖ φ) to what is minimised, so that
            few features stand out. 0 is plain ACE.
        seed: Seed of the neighbours.
    """

    name: ClassVar[str] = "ACE"
    needs_background: ClassVar[bool] = True

    n_neighbors: int | None = None
    noise: float = 0.1
    flips: float = 0.1
    alpha: float = 1.0
    kl: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole("n_neighbors", self.n_neighbors, at_least=2, or_none=True)
        check_number("noise", self.noise, above=0)
        check_number("flips", self.flips, above=0, below=1)
        check_number("alpha", self.alpha, above=0)
        check_number("kl", self.kl, at_least=0)
        check_whole("seed", self.seed, at_least=0)

    def _bind(self, prepared: Prepared) -> BoundMethod:
        mean = prepared.background.mean(axis=0)
        return _BoundACE(prepared.score, prepared.domain, mean, self)


@final
@dataclass(frozen=True)
class _BoundACE(BoundMethod):
    score: Score
    domain: Domain
    mean: Vector  # d
    method: ACE

    def attribute(self, X: Matrix) -> Contributions:
        domain = self.domain
        n, d = X.shape
        n_neighbors = self.method.n_neighbors or max(64, 2 * d)
        # The same draw for every row: a row's attribution does not depend on the other rows.
        rng = np.random.default_rng(self.method.seed)
        noise = self.method.noise * rng.standard_normal((n_neighbors, d)) * domain.scale
        flip = rng.random((n_neighbors, d)) < self.method.flips

        origin = np.where(domain.fixed, X, self.mean)  # n x d
        base = evaluate(self.score, origin)  # n
        coefficients = np.empty((n, d))
        for some in batches(n, n_neighbors * d):
            near = self._neighbours(X[some], noise, flip)  # r x N x d
            scores = evaluate(self.score, near.reshape(-1, d)).reshape(near.shape[:2])
            coefficients[some] = self._regress(X[some], origin[some], near, scores, base[some])
        shares = self._shares(coefficients * (X - origin) / domain.scale)
        return Contributions(
            values=shares,
            base_values=base,
            scores=evaluate(self.score, X),
            evaluations=np.full(n, n_neighbors + 2),
            additive=False,
            reference=origin,
        )

    def _neighbours(self, X: Matrix, noise: Matrix, flip: BoolMatrix) -> Tensor:
        """Neighbours of each row that the domain allows: (n, d) -> (n, N, d)."""
        domain, x = self.domain, X[:, None, :]
        near = np.where(domain.binary, np.where(flip, 1 - x, x), x + noise)
        near = near.clip(np.minimum(domain.lower, x), np.maximum(domain.upper, x))
        return np.where(domain.fixed, x, near)

    def _regress(
        self, X: Matrix, origin: Matrix, near: Tensor, scores: Matrix, base: Vector
    ) -> Matrix:
        """Coefficients of the linear model at each row: n x d."""
        n_neighbors, d = near.shape[1:]
        scale, unit = self.domain.scale, self.score.unit or 1.0
        u = (near - origin[:, None, :]) / scale  # n x N x d
        a = (scores - base[:, None]) / unit  # n x N
        away = (((near - X[:, None, :]) / scale) ** 2).sum(axis=2)  # n x N
        weighted = u * np.exp(-away / (0.75**2 * d))[:, :, None]  # n x N x d
        normal = np.matmul(weighted.transpose(0, 2, 1), u)  # n x d x d
        normal += self.method.alpha / n_neighbors * np.eye(d)
        target = np.einsum("rnd,rn->rd", weighted, a)  # n x d
        w = np.linalg.solve(normal, target[:, :, None])[:, :, 0]
        if self.method.kl == 0:
            return w
        at_x = (X - origin) / scale
        weight = self.method.kl / n_neighbors
        return np.array(
            [
                _highlight(*row, weight, self._taking_part)
                for row in zip(w, normal, target, at_x, strict=True)
            ]
        )

    @property
    def _taking_part(self) -> Matrix:
        """The columns of each player that may move: p x d."""
        return (self.domain.membership & ~self.domain.fixed).astype(np.float64)

    def _shares(self, contributions: Matrix) -> Matrix:
        """Softplus of each player's part of the model, normalised: (n, d) -> (n, p)."""
        players = self._taking_part
        soft = np.where(players.any(axis=1), np.logaddexp(0.0, contributions @ players.T), 0.0)
        total = soft.sum(axis=1, keepdims=True)
        return np.divide(soft, total, out=np.zeros_like(soft), where=total > 0)


def _highlight(
    w: Vector, normal: Matrix, target: Vector, at_x: Vector, weight: float, players: Matrix
) -> Vector:
    """Descend from the ridge's coefficients on its loss less weight · KL(uniform ‖ shares)."""
    # Both take as long to import as all of whyflag.
    from scipy.optimize import minimize
    from scipy.special import expit

    players = players[players.any(axis=1)]
    if len(players) < 2:
        return w

    def loss(w: Vector) -> tuple[float, Vector]:
        part = players @ (w * at_x)  # p
        soft = np.logaddexp(0.0, part)
        # KL(uniform ‖ share) = const − mean log softplus + log Σ softplus. Far below zero,
        # softplus is exp, and the ratio of the slope to it is one.
        slope = expit(part)
        ratio = np.divide(slope, soft, out=np.ones_like(soft), where=part > -30)
        log_soft = np.where(part > -30, np.log(np.maximum(soft, 1e-300)), part)
        kl = np.log(soft.sum()) - log_soft.mean()
        kl_slope = (slope / soft.sum() - ratio / len(soft)) @ players * at_x
        value = w @ normal @ w - 2 * w @ target - weight * kl
        return float(value), 2 * (normal @ w - target) - weight * kl_slope

    return np.asarray(minimize(loss, w, jac=True, method="L-BFGS-B").x)
