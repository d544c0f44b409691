"""ASH against a literal transcription of the paper's Algorithm 1."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
import torch

from benchmarks.instrument import Line, line, seconds, threads
from benchmarks.worlds import correlated_rows, random_mixture
from whyflag import Domain, Explainer
from whyflag.arrays import Matrix, Vector
from whyflag.detectors import VAE
from whyflag.minimise import minimise
from whyflag.score import Score

GAMMA = 0.01
N_ROWS, D, COMPONENTS = 100, 6, 4
REPEATS = 20
TensorScore = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Case:
    """One model, for both programs."""

    name: str
    score: Score
    literal: TensorScore
    X: Matrix
    n_literal: int  # rows that the literal program explains
    least: float  # how many times as fast we should be


def cases() -> list[Case]:
    """A mixture, and a variational autoencoder of standardised rows."""
    energy = random_mixture(D, COMPONENTS, 100.0, seed=0)
    X = np.random.default_rng(1).normal(size=(N_ROWS, D)) * 2
    normal = correlated_rows(500, D, seed=1)
    mean, deviation = normal.mean(axis=0), normal.std(axis=0)
    network = VAE(random_state=0).fit((normal - mean) / deviation).to_score("reconstruction")
    rows = (correlated_rows(N_ROWS, D, seed=2) - mean) / deviation
    rows[np.arange(N_ROWS), np.arange(N_ROWS) % D] += 4

    computed: Any = network.function
    return [
        Case(f"GMM, d = {D}", energy, TorchEnergy(energy), X, 10, 3000.0),
        Case(f"VAE, d = {D}", network, computed.function, rows, 5, 1000.0),
    ]


def lines() -> Iterator[Line]:
    """How many times as fast, and how much lower the losses are."""
    with threads(1):
        for case in cases():
            yield from _compare(case)


def _compare(case: Case) -> Iterator[Line]:
    explain = Explainer(case.score, domain=Domain(D))
    attribution = explain(case.X)
    times = [seconds(lambda: explain(case.X)) / N_ROWS for _ in range(REPEATS)]
    rng = np.random.default_rng(0)
    values: list[Vector] = []
    losses: list[float] = []
    n_steps: list[int] = []
    begin = time.process_time()
    for x in torch.as_tensor(case.X[: case.n_literal]):
        value, row_losses, row_steps = algorithm_1(case.literal, x, rng)
        values.append(value)
        losses += row_losses
        n_steps += row_steps
    literal = (time.process_time() - begin) / case.n_literal
    same = np.mean(
        [np.argmax(a) == np.argmax(b) for a, b in zip(values, attribution.values, strict=False)]
    )
    yield line(
        "against Algorithm 1, time",
        f"ASH, {case.name}",
        [literal / each for each in times],
        "literal ÷ whyflag",
        threads=1,
        least=case.least,
        note=f"{literal:.2f} s against {np.median(times) * 1e3:.3f} ms a row; "
        f"{np.median(n_steps):.0f} steps of Adam; same culprit first in {same:.0%} of rows",
    )
    ours = our_losses(case)
    for name, average in (("median", np.median), ("mean", np.mean)):
        yield line(
            "against Algorithm 1, loss",
            f"{case.name}, {name}",
            [float(average(ours) - average(losses))],
            "whyflag − literal",
            threads=1,
            most=0.0,
            note=f"{average(ours):.5f} and {average(losses):.5f}",
        )


class TorchEnergy:
    """The same mixture in PyTorch."""

    def __init__(self, energy: Score) -> None:
        mixture: Any = energy.function
        precisions = np.linalg.inv(mixture.covariances)
        self.means = torch.as_tensor(mixture.means)
        self.precisions = torch.as_tensor(precisions)
        _, log_det = np.linalg.slogdet(precisions)
        constant = mixture.log_weights + 0.5 * (log_det - D * np.log(2 * np.pi))
        self.constant = torch.as_tensor(constant)

    def __call__(self, X: torch.Tensor) -> torch.Tensor:
        """Energy of rows, (n, d) -> (n,)."""
        away = X[:, None, :] - self.means
        square = torch.einsum("nki,kij,nkj->nk", away, self.precisions, away)
        return -torch.logsumexp(self.constant - 0.5 * square, dim=1)


def minimum(
    energy: TensorScore, x: torch.Tensor, keep: list[int]
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
    energy: TensorScore, x: torch.Tensor, rng: np.random.Generator
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
    worth = energy(torch.stack(points)).detach().numpy()
    empty, full = energy(stars[0][None]).item(), energy(x[None]).item()
    # ∅ and D are constraints of the regression; a large weight stands for them.
    rows = np.vstack([coalitions, np.ones((1, D))])
    heavy = np.append(np.ones(m), 1e3)
    target = np.append(worth, full) - empty
    values, *_ = np.linalg.lstsq(rows * heavy[:, None], target * heavy, rcond=None)
    return values, losses, n_steps


def our_losses(case: Case) -> Vector:
    """The paper's losses where our minimiser ends, whose own distance is another."""
    rows = np.repeat(case.X[: case.n_literal], D + 1, axis=0)
    keep = np.vstack([np.zeros((1, D), dtype=bool), np.eye(D, dtype=bool)])
    keeps: Any = np.tile(keep, (case.n_literal, 1))
    ends = minimise(case.score, rows, keeps, Domain(D), gamma=GAMMA).point
    far = ((ends - rows) ** 2).sum(axis=1) / (~keeps).sum(axis=1)  # what is kept has not moved
    return case.score(ends) + GAMMA * far
