"""Where our minimiser ends, and where 2000 plain steps of Adam end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.worlds import random_mixture
from whyflag import Domain, as_score
from whyflag.arrays import Matrix, Vector
from whyflag.minimise import minimise
from whyflag.minimise.problem import Problems

CASES = [
    # d, components, condition of the covariances
    (6, 2, 10.0),
    (6, 4, 10.0),
    (6, 4, 1e6),
    (20, 3, 100.0),
    (60, 2, 10.0),
    (60, 3, 1e3),
    (60, 4, 1e8),
]


@dataclass(frozen=True)
class Comparison:
    """Counts over one batch of problems."""

    problems: int
    no_higher: int  # our loss is not above Adam's
    lower: int  # it is below, by more than Adam may have left to go
    evaluations: float  # ours, at the median


def compare(d: int, k: int, condition: float, *, curved: bool, n: int = 40) -> Comparison:
    """Minimise around random rows of a random mixture, both ways."""
    energy = random_mixture(d, k, condition, seed=d + k)
    plain = as_score(lambda X: energy(X), lambda X: energy.value_and_grad(X)[1], n_features=d)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * 1.5
    keep = rng.random((n, d)) < 0.5
    keep[: n // 2] = False
    ours = minimise(energy if curved else plain, X, keep, Domain(d), gamma=0.01)
    _, losses = adam(Problems(energy, X, keep, Domain(d), gamma=0.01))
    margin = 1e-6 * np.maximum(1.0, np.abs(losses))
    return Comparison(
        problems=n,
        no_higher=int((ours.loss <= losses + margin).sum()),
        lower=int((ours.loss < losses - 0.01).sum()),
        evaluations=float(np.median(ours.n_evaluations)),
    )


def adam(problems: Problems, n_steps: int = 2000, step: float = 0.01) -> tuple[Matrix, Vector]:
    """Plain Adam on every problem of a batch, each step brought back within the bounds."""
    u = problems.start.copy()
    first, second = np.zeros_like(u), np.zeros_like(u)
    for t in range(1, n_steps + 1):
        _, gradient, _ = problems.loss_and_grad(u)
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        turn = (first / (1 - 0.9**t)) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
        u = problems.project(u - step * turn)
    return u, problems.loss(u)


def main() -> None:
    """Print the comparison for every case."""
    print("Minimiser against 2000 steps of Adam (step 0.01), 40 problems each, γ = 0.01")
    print(f"{'d':>4} {'K':>3} {'condition':>10} {'known':>9}", end="")
    print(f" {'no higher':>10} {'lower':>6} {'evaluations':>12}")
    for curved in (True, False):
        for d, k, condition in CASES:
            found = compare(d, k, condition, curved=curved)
            print(
                f"{d:4} {k:3} {condition:10.0e} {'curvature' if curved else 'gradient':>9}"
                f" {found.no_higher:10} {found.lower:6} {found.evaluations:12.0f}"
            )


if __name__ == "__main__":
    main()
