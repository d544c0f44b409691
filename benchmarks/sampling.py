"""How close the kernel regression comes on part of the coalitions, and whether its errors hold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tqdm import tqdm

from benchmarks.worlds import random_mixture
from whyflag.arrays import BoolMatrix, IntVector, Matrix, Vector
from whyflag.shapley import Exact, Kernel

CASES = {13: (100, 200, 1000), 16: (200, 600, 2080)}  # players: budgets
REPEATS = 100


class OneGame:
    """A game of one row, by a function of coalitions."""

    n_rows = 1

    def __init__(self, p: int, worth: Callable[[BoolMatrix], Vector]) -> None:
        self.n_players = p
        self._worth = worth

    def __call__(self, coalitions: BoolMatrix, rows: IntVector | None = None) -> Matrix:
        return self._worth(coalitions)[None, :]


def games(p: int) -> dict[str, OneGame]:
    """Games with interactions of every order."""
    rng = np.random.default_rng(p)
    strength, hidden = rng.normal(size=p), rng.normal(size=(p, 20)) * 3 / np.sqrt(p)
    output, x = rng.normal(size=20), rng.normal(size=p) * 1.5
    energy = random_mixture(p, 3, 100.0, seed=p + 1)
    triples = [rng.choice(p, 3, replace=False) for _ in range(3 * p)]
    weights = rng.normal(size=3 * p)
    return {
        "saturating": OneGame(p, lambda z: np.tanh(z @ strength)),
        "maximum": OneGame(p, lambda z: (z * np.abs(strength)).max(axis=1)),
        "triples": OneGame(
            p,
            lambda z: np.sum(
                [w * z[:, t].all(axis=1) for t, w in zip(triples, weights, strict=True)], axis=0
            ),
        ),
        "rectifiers": OneGame(p, lambda z: np.maximum(z @ hidden, 0) @ output),
        "mixture": OneGame(p, lambda z: energy(np.where(z, x, 0.0))),
    }


def main() -> None:
    """Print relative errors, and how often 1.96 standard errors cover the exact value."""
    print(f"Relative error, and coverage of 95 % intervals, over {REPEATS} seeds")
    for p, budgets in CASES.items():
        for name, game in tqdm(games(p).items(), disable=None, leave=False):
            exact = Exact().solve(game).values
            cells = []
            for budget in budgets:
                runs = [Kernel(budget, seed=seed).solve(game) for seed in range(REPEATS)]
                off = np.array([run.values - exact for run in runs])
                errors = np.array([run.standard_errors for run in runs])
                relative = np.sqrt((off**2).mean() / (exact**2).mean())
                covered = np.mean(np.abs(off) <= 1.96 * errors)
                cells.append(f"m = {budget:4}: {relative:.4f} {covered:4.0%}")
            tqdm.write(f"p = {p}  {name:11} " + "    ".join(cells))


if __name__ == "__main__":
    main()
