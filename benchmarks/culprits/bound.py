"""How often could a culprit be found at all? By Bayes, with the true density, beside near.

`python -m benchmarks.culprits.bound`

In the correlated Gaussian worlds the density of normal rows is known, and so is how a row was
spoilt. So the probability that column i was changed is known too:

    P(i | x) ∝ P(i) p(x without i) q(x_i | x without i),

with p the density of normal rows and q that of a changed value, given the others: both in closed
form. Ranking by it is the best that any method can do that knows the world and the kind of anomaly;
no method that asks a detector knows either.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import final
from zlib import crc32

import numpy as np
from scipy.stats import norm

from benchmarks.culprits.detectors import fitted
from benchmarks.culprits.kinds import BOUND, CLEAR, predicted, spoil
from benchmarks.culprits.worlds import N_TRAIN, World, load_world
from whyflag import Explainer
from whyflag.arrays import BoolMatrix, Matrix, Vector
from whyflag.metrics import mean_reciprocal_rank

WORLDS = ("gaussian 6", "gaussian 20", "gaussian 60")
DETECTORS = ("GMM", "forest", "LOF", "KDE", "OCSVM", "PCA", "function")
SEEDS = range(5)  # of what is planted
HIDDEN_NOISE = 0.4  # as in `made.gaussian`


@final
@dataclass(frozen=True, eq=False)
class Truth:
    """The density that normal rows were drawn from."""

    mean: Vector  # d
    covariance: Matrix  # d x d

    def given_others(self, X: Matrix) -> tuple[Matrix, Vector]:
        """Mean and deviation of each value given the others of its row: (n, d), (d,)."""
        precision = np.linalg.inv(self.covariance)
        variance = 1 / np.diag(precision)
        return X - (X - self.mean) @ precision * variance, np.sqrt(variance)


def truth_of(name: str) -> Truth:
    """What `made.gaussian` drew for a world, drawn once more."""
    rng, n, d = np.random.default_rng(crc32(name.encode())), N_TRAIN + 300, int(name.split()[1])
    causes = rng.normal(size=(2 + d // 6, d)) / np.sqrt(2 + d // 6)
    rng.normal(size=(n, len(causes)))
    rng.normal(size=(n, d))
    unit, origin = rng.permutation(np.geomspace(0.1, 10, d)), rng.normal(size=d)
    shape = causes.T @ causes + HIDDEN_NOISE**2 * np.eye(d)
    return Truth(origin, shape * np.outer(unit, unit))


@final
@dataclass(frozen=True, eq=False)
class Around:
    """What a kind's density needs to know of rows, in deviations of the columns."""

    world: World
    x: Matrix  # n x d: values less the mean
    expected: Matrix  # n x d: the same of the values that the others tell
    spread: Vector  # d: how far they may be off

    def mass(self, low: Matrix, high: Matrix) -> Matrix:
        """The probability that the true value is between two."""
        ends = ((end - self.expected) / self.spread for end in (low, np.maximum(low, high)))
        low, high = (norm.cdf(end) for end in ends)
        return np.asarray(high - low)


def noise(a: Around) -> Matrix:
    """The true value is one to two deviations away, on either side."""
    return (a.mass(a.x - 2, a.x - 1) + a.mass(a.x + 1, a.x + 2)) / 2


def swap(a: Around) -> Matrix:
    """Any value of the column."""
    return np.asarray(norm.pdf(a.x))


def turned(a: Around) -> Matrix:
    """The true value is as far on the other side of the mean."""
    density = norm.pdf(-a.x, a.expected, a.spread)
    return np.where(np.abs(a.x) >= CLEAR, density, 0.0)


def bond(a: Around) -> Matrix:
    """The true value is one to two deviations further out."""
    zero = np.zeros_like(a.x)
    above = a.mass(np.maximum(a.x + 1, zero), a.x + 2)
    below = a.mass(a.x - 2, np.minimum(a.x - 1, zero))
    return np.where(predicted(a.world) >= BOUND, above + below, 0.0)


KINDS: dict[str, Callable[[Around], Matrix]] = {
    "noise": noise,
    "swap": swap,
    "turned": turned,
    "bond": bond,
}


def log_odds(world: World, truth: Truth, kind: str, X: Matrix) -> Matrix:
    """Log P(i | x) up to a constant of the row: (n, d) -> (n, d)."""
    expected, spread = truth.given_others(X)
    scale = world.deviation
    around = Around(
        world, (X - world.mean) / scale, (expected - world.mean) / scale, spread / scale
    )
    changed = np.log(np.maximum(KINDS[kind](around), np.finfo(float).tiny))  # n x d
    # p(x without i) is p(x) / p(x_i | the others), and p(x) is the same for all i.
    return changed - norm.logpdf(around.x, around.expected, around.spread)


def planted(world: World, kind: str) -> tuple[Matrix, BoolMatrix] | None:
    """Rows with one culprit, over several draws."""
    parts = [spoil(world, kind, 1, seed=seed, n=len(world.held_out)) for seed in SEEDS]
    known = [part for part in parts if part is not None]
    if not known:
        return None
    return np.vstack([part.X for part in known]), np.vstack([part.guilty for part in known])


def main() -> None:
    """Print MRR of the bound, and of near on each detector."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--worlds", nargs="+", default=WORLDS)
    options.add_argument("--detectors", nargs="+", default=DETECTORS)
    asked = options.parse_args()
    print(f"| world | kind | rows | bound | near on {' | near on '.join(asked.detectors)} |")
    print("|---|---|---|---|" + "---|" * len(asked.detectors))
    for name in asked.worlds:
        world, truth = load_world(name), truth_of(name)
        explain = [Explainer(fitted(world, detector).prepared) for detector in asked.detectors]
        for kind in KINDS:
            known = planted(world, kind)
            if known is None:
                continue
            X, guilty = known
            found = [log_odds(world, truth, kind, X), *(each(X).values for each in explain)]
            figures = " | ".join(f"{mean_reciprocal_rank(v, guilty).value:.3f}" for v in found)
            print(f"| {name} | {kind} | {len(X)} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
