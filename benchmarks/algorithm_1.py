"""ASH against a literal transcription of the paper's Algorithm 1, on one core."""

from __future__ import annotations

import time
from math import comb

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from benchmarks.worlds import random_mixture
from whyflag import Domain, Explainer
from whyflag.arrays import Matrix, Vector
from whyflag.minimise import minimise
from whyflag.score.mixture import MixtureEnergy

GAMMA = 0.01
N_ROWS, D, COMPONENTS = 100, 6, 4


class TorchEnergy:
    """The same mixture in PyTorch."""

    def __init__(self, energy: MixtureEnergy) -> None:
        precisions = np.linalg.inv(energy.covariances)
        self.means = torch.as_tensor(energy.means)
        self.precisions = torch.as_tensor(precisions)
        _, log_det = np.linalg.slogdet(precisions)
        constant = energy.log_weights + 0.5 * (log_det - D * np.log(2 * np.pi))
        self.constant = torch.as_tensor(constant)

    def __call__(self, X: torch.Tensor) -> torch.Tensor:
        """Energy of rows, (n, d) -> (n,)."""
        away = X[:, None, :] - self.means
        square = torch.einsum("nki,kij,nkj->nk", away, self.precisions, away)
        return -torch.logsumexp(self.constant - 0.5 * square, dim=1)


def minimum(
    energy: TorchEnergy, x: torch.Tensor, keep: list[int]
) -> tuple[torch.Tensor, float, int]:
    """Line 2: Adam from x, step 0.01, at most 2000 steps, until the loss changes by under 1e-6."""
    free = torch.tensor([i not in keep for i in range(D)])
    moving = x[free].clone().requires_grad_(True)
    adam = torch.optim.Adam([moving], lr=0.01)
    before: float | None = None
    n_steps = 0
    point = x.clone()
    for _ in range(2000):
        adam.zero_grad()
        point = x.clone()
        point[free] = moving
        loss = energy(point[None])[0] + GAMMA * ((moving - x[free]) ** 2).mean()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
        n_steps += 1
        now = loss.item()
        if before is not None and abs(before - now) <= 1e-6 * abs(before):
            break
        before = now
    point = x.clone()
    point[free] = moving.detach()
    last = energy(point[None])[0] + GAMMA * ((point - x)[free] ** 2).mean()
    return point, last.item(), n_steps


def algorithm_1(
    energy: TorchEnergy, x: torch.Tensor, rng: np.random.Generator
) -> tuple[Vector, tuple[float, ...], tuple[int, ...]]:
    """Shapley values of one row, and the losses and steps of its d + 1 minimisations."""
    found = [minimum(energy, x, keep) for keep in [[], *([i] for i in range(D))]]
    stars, losses, n_steps = zip(*found, strict=True)
    m = 2 * D + 2048
    sizes = np.arange(1, D)
    weight = np.array([(D - 1) / (comb(D, s) * s * (D - s)) * comb(D, s) for s in sizes])
    coalitions = np.zeros((m, D), dtype=bool)
    points = []
    for j in range(m):
        size = rng.choice(sizes, p=weight / weight.sum())
        members = rng.choice(D, size=size, replace=False)
        coalitions[j, members] = True
        z = torch.stack([stars[0], *(stars[i + 1] for i in members)]).mean(dim=0)
        z[members] = x[members]
        points.append(z)
    worth = energy(torch.stack(points)).numpy()
    empty, full = energy(stars[0][None]).item(), energy(x[None]).item()
    # ∅ and D are constraints of the regression; a large weight stands for them.
    rows = np.vstack([coalitions, np.ones((1, D))])
    heavy = np.append(np.ones(m), 1e3)
    target = np.append(worth, full) - empty
    values, *_ = np.linalg.lstsq(rows * heavy[:, None], target * heavy, rcond=None)
    return values, losses, n_steps


def our_losses(energy: MixtureEnergy, X: Matrix) -> Vector:
    """The losses of the same minimisations by our minimiser."""
    keep = np.vstack([np.zeros((1, D), dtype=bool), np.eye(D, dtype=bool)])
    rows = np.repeat(X, D + 1, axis=0)
    return minimise(energy, rows, np.tile(keep, (len(X), 1)), Domain(D), gamma=GAMMA).loss


def main() -> None:
    """Print both times, their ratio, and the losses."""
    energy = random_mixture(D, COMPONENTS, 100.0, seed=0)
    X = np.random.default_rng(1).normal(size=(N_ROWS, D)) * 2
    torch.set_num_threads(1)
    print(f"ASH, GMM with {D} features and {COMPONENTS} components, {N_ROWS} rows, one core")
    with threadpool_limits(1):
        explain = Explainer(energy, domain=Domain(D))
        explain(X)
        times = []
        for _ in range(20):
            begin = time.perf_counter()
            attribution = explain(X)
            times.append(time.perf_counter() - begin)
        ours = float(np.median(times)) / N_ROWS

        literal, rng = TorchEnergy(energy), np.random.default_rng(0)
        values: list[Vector] = []
        losses: list[float] = []
        n_steps: list[int] = []
        begin = time.perf_counter()
        for x in tqdm(torch.as_tensor(X), desc="Algorithm 1", disable=None):
            value, row_losses, row_steps = algorithm_1(literal, x, rng)
            values.append(value)
            losses += row_losses
            n_steps += row_steps
        theirs = (time.perf_counter() - begin) / N_ROWS
    mine = our_losses(energy, X)
    spread = np.percentile(times, [25, 75]) / N_ROWS * 1e3
    print(
        f"  whyflag      {ours * 1e3:10.3f} ms a row (quartiles {spread[0]:.3f}, {spread[1]:.3f})"
    )
    print(f"  Algorithm 1  {theirs * 1e3:10.3f} ms a row, {np.median(n_steps):.0f} steps of Adam")
    print(f"  ratio        {theirs / ours:10.0f}")
    print(f"  final loss, median: {np.median(mine):.6f} against {np.median(losses):.6f}")
    print(f"  final loss, mean:   {np.mean(mine):.6f} against {np.mean(losses):.6f}")
    ranks = [np.argmax(a) == np.argmax(b) for a, b in zip(values, attribution.values, strict=True)]
    print(f"  same culprit first: {np.mean(ranks):.0%} of rows")


if __name__ == "__main__":
    main()
