"""Time of each method on a Gaussian mixture, by the number of features."""

from __future__ import annotations

import time

import numpy as np
from tqdm import tqdm

from benchmarks.worlds import random_mixture
from whyflag import Explainer
from whyflag.methods import METHODS

SHAPES = {6: 200, 30: 50, 166: 4, 274: 4}  # number of features: rows explained
REPEATS = 3


def main() -> None:
    """Print milliseconds a row and score evaluations a row, the best of a few repeats."""
    print("Milliseconds a row (score evaluations a row), GMM with 4 components")
    print(f"{'d':8}" + "".join(f"{d:>20}" for d in SHAPES))
    for name in tqdm(METHODS, disable=None, leave=False):
        cells = []
        for d, n in SHAPES.items():
            energy = random_mixture(d, 4, 100.0, seed=0)
            rng = np.random.default_rng(0)
            explain = Explainer(energy, rng.normal(size=(500, d)), name)
            rows = rng.normal(size=(n, d)) * 2
            explain(rows[:1])
            seconds = []
            for _ in range(REPEATS):
                begin = time.perf_counter()
                attribution = explain(rows)
                seconds.append((time.perf_counter() - begin) / n)
            cells.append(f"{1000 * min(seconds):11.2f} ({attribution.n_evaluations // n:6})")
        tqdm.write(f"{name:8}" + "".join(cells))


if __name__ == "__main__":
    main()
