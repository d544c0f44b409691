"""Ways to combine attributions, on anomalies of five kinds that were planted in normal rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.ensemble import IsolationForest
from tqdm import tqdm

from benchmarks.worlds import KINDS, WORLDS, spoil
from whyflag import Explainer
from whyflag.arrays import Matrix, Tensor
from whyflag.detectors import GMM, VAE
from whyflag.methods import METHODS
from whyflag.metrics import auroc, mean_reciprocal_rank

DETECTORS: dict[str, Callable[[Matrix], Any]] = {
    "GMM": lambda rows: GMM(random_state=0, reg_covar=1e-2).fit(rows),
    "VAE": lambda rows: VAE(random_state=0).fit(rows),
    "forest": lambda rows: IsolationForest(random_state=0).fit(rows),
}
N_ROWS = 20  # of each kind, in each world


def ratio(values: Tensor, by: Tensor) -> Tensor:
    """Divide, and leave a row of zeros as it is."""
    return values / np.where(by == 0, 1.0, by)


def shares(v: Tensor) -> Tensor:
    """Positive values as shares of their sum: (k, n, p) -> (k, n, p)."""
    blame = np.maximum(v, 0)
    return ratio(blame, blame.sum(axis=2, keepdims=True))


def ranks(v: Tensor) -> Tensor:
    """Ranks, the largest value first: (k, n, p) -> (k, n, p)."""
    return np.asarray(rankdata(-v, axis=2))


def agreement(v: Tensor) -> Tensor:
    """What each member has in common with the others on average: (k, n, p) -> (k, n, 1)."""
    s = shares(v)
    common = np.minimum(s[:, None], s).sum(axis=3)  # k x k x n
    others = common.sum(axis=1) - np.einsum("kkn->kn", common)
    return np.asarray(others[:, :, None] / max(1, len(s) - 1))


# Each from the members' values (k, n, p) and their score gaps in units (k, n) to (n, p).
WAYS: dict[str, Callable[[Tensor, Matrix], Matrix]] = {
    "ranks": lambda v, gap: -ranks(v).mean(axis=0),
    "reciprocal ranks": lambda v, gap: (1 / ranks(v)).mean(axis=0),
    "normalised, v / Σ|v|": lambda v, gap: ratio(v, np.abs(v).sum(axis=2, keepdims=True)).mean(0),
    "normalised, v / ‖v‖": lambda v, gap: ratio(v, np.linalg.norm(v, axis=2, keepdims=True)).mean(
        0
    ),
    "normalised, median of v / Σ|v|": lambda v, gap: np.median(
        ratio(v, np.abs(v).sum(axis=2, keepdims=True)), axis=0
    ),
    "efficiency, v · gap / Σv": lambda v, gap: ratio(
        v * gap[:, :, None], v.sum(axis=2, keepdims=True)
    ).mean(axis=0),
    "shares of positive v": lambda v, gap: shares(v).mean(axis=0),
    "shares, weighted by the gap": lambda v, gap: (shares(v) * np.maximum(gap, 0)[:, :, None]).sum(
        axis=0
    ),
    "shares, weighted by √gap": lambda v, gap: (
        shares(v) * np.sqrt(np.maximum(gap, 0))[:, :, None]
    ).sum(axis=0),
    "shares, weighted by agreement": lambda v, gap: (agreement(v) * shares(v)).sum(axis=0),
    "shares, weighted by agreement²": lambda v, gap: (agreement(v) ** 2 * shares(v)).sum(axis=0),
    "recipr. ranks, by agreement": lambda v, gap: (agreement(v) / ranks(v)).sum(axis=0),
}
MEMBERS = {
    "all methods": tuple(METHODS),
    "IG, KSH, wKSH, ASH": ("IG", "KSH", "wKSH", "ASH"),
    "wKSH, ASH": ("wKSH", "ASH"),
    "wKSH, comp": ("wKSH", "comp"),
}
Explained = dict[str, tuple[Matrix, Matrix]]  # by method: values, score gaps in units


def explain(world: str) -> tuple[dict[str, Explained], np.ndarray, np.ndarray]:
    """Every method on every detector that allows it; who is guilty; and the kinds of anomaly."""
    rows = np.random.default_rng(0).permutation(WORLDS[world]())
    cut = int(0.7 * len(rows))
    normal, held_out = rows[:cut], rows[cut : cut + N_ROWS]
    spoilt = [spoil(kind, held_out, normal, seed) for seed, kind in enumerate(KINDS)]
    X, guilty = (np.vstack(parts) for parts in zip(*spoilt, strict=True))
    explained: dict[str, Explained] = {}
    for name, fit in DETECTORS.items():
        detector, explained[name] = fit(normal), {}
        for method in METHODS:
            try:
                explainer = Explainer(detector, normal, method)
            except TypeError:  # needs what the detector does not have
                continue
            attribution = explainer(X)
            gap = (attribution.scores - attribution.base_values) / attribution.unit
            explained[name][method] = attribution.values, gap
    return explained, guilty, np.repeat(KINDS, len(held_out))


def figures(values: Matrix, guilty: np.ndarray, kinds: np.ndarray) -> list[float]:
    """MRR of each kind of anomaly, and AUROC of those with several culprits."""
    of = {kind: kinds == kind for kind in KINDS}
    reciprocal = [mean_reciprocal_rank(values[of[k]], guilty[of[k]]).value for k in KINDS]
    return reciprocal + [auroc(values[of[k]], guilty[of[k]]).value for k in ("pair", "three")]


def line(name: str, cells: list[list[float]]) -> str:
    """The averages over cells (a world and a detector), and those of all kinds."""
    table = np.array(cells)
    numbers = [*table.mean(axis=0), table[:, :5].mean(), table[:, 5:].mean()]
    return f"{name:32}" + "".join(f"{number:8.3f}" for number in numbers) + f"{len(cells):7}"


def main() -> None:
    """Print three tables: single methods, several methods, several detectors."""
    worlds = {world: explain(world) for world in tqdm(WORLDS, desc="explaining", disable=None)}
    cells: list[tuple[Mapping[str, tuple[Matrix, Matrix]], np.ndarray, np.ndarray]] = [
        (by_method, guilty, kinds)
        for explained, guilty, kinds in worlds.values()
        for by_method in explained.values()
    ]
    head = "".join(f"{k:>8}" for k in (*KINDS, "pair", "three", "MRR", "AUROC", "cells"))
    print(f"{'One method':32}{head}")
    for method in METHODS:
        found = [
            figures(by_method[method][0], guilty, kinds)
            for by_method, guilty, kinds in cells
            if method in by_method
        ]
        print(line(method, found))
    for label, members in MEMBERS.items():
        print(f"\n{'Several: ' + label:32}{head}")
        for way, function in WAYS.items():
            print(line(way, [combined(function, [c[0]], members, *c[1:]) for c in cells]))
    print(f"\n{'Several detectors, by ASH':32}{head}")
    for way, function in WAYS.items():
        found = [
            combined(function, list(explained.values()), ("ASH",), guilty, kinds)
            for explained, guilty, kinds in worlds.values()
        ]
        print(line(way, found))
    for detector in DETECTORS:
        found = [
            figures(explained[detector]["ASH"][0], guilty, kinds)
            for explained, guilty, kinds in worlds.values()
        ]
        print(line(f"{detector} alone", found))


def combined(
    function: Callable[[Tensor, Matrix], Matrix],
    detectors: list[Mapping[str, tuple[Matrix, Matrix]]],
    members: tuple[str, ...],
    guilty: np.ndarray,
    kinds: np.ndarray,
) -> list[float]:
    """Figures of one way to combine these members of these detectors."""
    parts = [explained[m] for explained in detectors for m in members if m in explained]
    values = np.array([values for values, _ in parts])
    return figures(function(values, np.array([gap for _, gap in parts])), guilty, kinds)


if __name__ == "__main__":
    main()
