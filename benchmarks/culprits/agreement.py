"""Do methods that draw say the same with another seed? near draws nothing.

`python -m benchmarks.culprits.agreement`
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.stats import spearmanr

from benchmarks.culprits.detectors import fitted
from benchmarks.culprits.kinds import spoil
from benchmarks.culprits.worlds import load_world
from whyflag import Explainer
from whyflag.arrays import Tensor
from whyflag.methods import ASH, KSH, WKSH
from whyflag.shapley import Kernel

WORLDS, DETECTOR, KIND = ("gaussian 6", "gaussian 20", "gaussian 60"), "GMM", "noise"
SEEDS, N_ROWS = 10, 8
METHODS = {"KSH": KSH, "wKSH": WKSH, "ASH": ASH}


def same_first(values: Tensor) -> float:
    """How often two seeds have the same feature first: (seeds, n, p)."""
    first = values.argmax(axis=2)  # seeds x n
    return float(np.mean([first[a] == first[b] for a, b in combinations(range(len(first)), 2)]))


def same_order(values: Tensor) -> float:
    """Rank correlation of two seeds' values of a row, on average: (seeds, n, p)."""
    n = values.shape[1]
    pairs = [np.atleast_2d(spearmanr(values[:, i], axis=1).statistic) for i in range(n)]
    above = np.triu_indices(len(values), 1)
    return float(np.mean([each[above] for each in pairs]))


def main() -> None:
    """Print a line for each world and method."""
    print(
        f"| world | method | same first, of {SEEDS} seeds | rank correlation |\n|---|---|---|---|"
    )
    for name in WORLDS:
        world = load_world(name)
        case, spoilt = fitted(world, DETECTOR), spoil(world, KIND, 1, seed=0, n=N_ROWS)
        if spoilt is None:
            continue
        for method, make in METHODS.items():
            solved = [
                Explainer(case.prepared, method=make(solver=Kernel(seed=s))) for s in range(SEEDS)
            ]
            values = np.array([explain(spoilt.X).values for explain in solved])
            found = f"{same_first(values):.3f} | {same_order(values):.3f}"
            print(f"| {name} | {method} | {found} |", flush=True)


if __name__ == "__main__":
    main()
