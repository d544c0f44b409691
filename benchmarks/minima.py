"""Are the minima minima? Ours beside SciPy's L-BFGS-B, from the row and from every component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize as scipy_minimize

from whyflag import Domain
from whyflag.arrays import BoolVector, Matrix, Vector
from whyflag.detectors import GMM
from whyflag.minimise import minimise
from whyflag.score import Curvature, Score

MARGIN = 1e-6  # of the loss: less is no difference


@dataclass(frozen=True)
class Compared:
    """Shares of problems that end higher than SciPy does."""

    above_own: float  # from the row
    above_best: float  # from the row or any component's mean
    worst: float  # how far above the best, at most


def exponentials(n: int, d: int, seed: int) -> Matrix:
    """Standardised exponentials of correlated normals: skewed, with tight bonds."""
    rng = np.random.default_rng(seed)
    rows = np.exp(
        0.5 * (rng.normal(size=(n, 3)) @ rng.normal(size=(3, d)) + 0.3 * rng.normal(size=(n, d)))
    )
    return np.asarray((rows - rows.mean(axis=0)) / rows.std(axis=0))


def compare(
    energy: Score,
    rows: Matrix,
    normal: Matrix,
    *,
    radius: float | None = None,
    n_coalitions: int = 6,
    seed: int = 0,
) -> Compared:
    """Minimise the score alone (γ = 0) around rows, with some columns kept."""
    rng = np.random.default_rng(seed)
    n, d = rows.shape
    coalitions = rng.random((n_coalitions, d)) < 0.4
    coalitions[0] = False
    domain = Domain.infer(normal)
    X, keep = np.repeat(rows, n_coalitions, axis=0), np.tile(coalitions, (n, 1))
    ours = minimise(energy, X, keep, domain, radius=radius).loss
    half = np.inf if radius is None else radius
    own, best = np.empty(len(X)), np.empty(len(X))
    centers = energy.need(Curvature).centers
    assert centers is not None  # noqa: S101 - a mixture has some
    for i, (x, kept) in enumerate(zip(X, keep, strict=True)):
        low = np.where(kept, x, np.maximum(x - half * domain.scale, domain.lower))
        high = np.where(kept, x, np.minimum(x + half * domain.scale, domain.upper))
        own[i] = _scipy(energy, x, kept, x, low, high)
        others = [_scipy(energy, x, kept, mean, low, high) for mean in centers]
        best[i] = min(own[i], *others)
    margin = MARGIN * np.maximum(1.0, np.abs(best))
    above = ours - best
    return Compared(
        above_own=float((ours > own + margin).mean()),
        above_best=float((above > margin).mean()),
        worst=float(above.max()),
    )


def _scipy(
    energy: Score, x: Vector, kept: BoolVector, start: Vector, low: Vector, high: Vector
) -> float:
    free = ~kept
    if not free.any():
        return float(energy(x[None])[0])

    def loss(v: Vector) -> tuple[float, Vector]:
        y = x.copy()
        y[free] = v
        value, gradient = energy.value_and_grad(y[None])
        return float(value[0]), gradient[0, free]

    begin = np.clip(start, low, high)[free]
    bounds = list(zip(low[free], high[free], strict=True))
    limits: Any = {"maxiter": 1000, "ftol": 1e-13, "gtol": 1e-7}
    found = scipy_minimize(loss, begin, jac=True, method="L-BFGS-B", bounds=bounds, options=limits)
    return float(found.fun)


def main() -> None:
    """Print the shares for made rows and for validation rows of the paper's data sets."""
    from whyflag_paper.anomalies import perturb
    from whyflag_paper.datasets import DATASETS, load, split

    print(f"{'':12} {'floor':>8} {'v̂: own':>8} {'best':>6} {'worst':>8} {'v: own':>8} {'best':>6}")
    worlds = {}
    made = exponentials(640, 6, seed=0)
    planted = made[600:].copy()
    planted[np.arange(40), np.arange(40) % 6] += 3
    worlds["exponentials"] = (made[:600], planted, 4)
    for name in DATASETS:
        data = load(name)
        rows = split(data, 0)
        count = 4 if rows.train.shape[1] > 50 else 20
        strange, _ = perturb(
            rows.valid[:count], 1, binary=data.binary, rng=np.random.default_rng(0)
        )
        worlds[name] = (rows.train, np.vstack([strange, rows.test_anomalous[:count]]), 3)
    for name, (normal, strange, k) in worlds.items():
        for floor in (1e-6, 2 / normal.shape[1]):
            energy = GMM(k, reg_covar=floor, random_state=0).fit(normal).to_score()
            free, box = (compare(energy, strange, normal, radius=radius) for radius in (None, 1.0))
            print(
                f"{name:12} {floor:8.1g} {free.above_own:8.3f} {free.above_best:6.3f}"
                f" {free.worst:8.1e} {box.above_own:8.3f} {box.above_best:6.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
