"""Gross values: is the culprit found however far away it is, and is its normal value normal?"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.svm import OneClassSVM

from whyflag import Explainer
from whyflag.arrays import IntVector, Matrix
from whyflag.games import LocalMinimum
from whyflag.methods import ASH, COMP, KSH, NEAR, WKSH, Method

SHIFTS = (4.0, 10.0, 20.0, 50.0, 100.0, 1000.0, 1e6)
MOST_SETS = 10  # columns: v̂ takes 2^d minimisations
METHODS: dict[str, Method] = {
    "ASH": ASH(),
    "v̂": ASH(LocalMinimum()),
    "comp": COMP(),
    "wKSH": WKSH(),
    "near": NEAR(),
}


def bounded(rows: Matrix) -> Callable[[Matrix], Any]:
    """A plain function that ends at one: 1 − exp(−m² / 4d), m the Mahalanobis distance."""
    mean, precision = rows.mean(axis=0), np.linalg.inv(np.cov(rows.T))
    d = rows.shape[1]

    def score(X: Matrix) -> Any:
        away = X - mean
        return 1 - np.exp(-np.einsum("nd,de,ne->n", away, precision, away) / (4 * d))

    return score


def detectors(rows: Matrix) -> dict[str, Any]:
    """What people have, fitted to normal rows."""
    from pyod.models.auto_encoder import AutoEncoder
    from pyod.models.copod import COPOD
    from pyod.models.ecod import ECOD
    from pyod.models.hbos import HBOS
    from pyod.models.iforest import IForest
    from pyod.models.knn import KNN
    from pyod.models.loda import LODA

    return {
        "function": bounded(rows),
        "IsolationForest": IsolationForest(n_estimators=50, random_state=0).fit(rows),
        "LOF": LocalOutlierFactor(novelty=True).fit(rows),
        "OneClassSVM": OneClassSVM(nu=0.05).fit(rows),
        "KDE gaussian": KernelDensity(bandwidth=0.5).fit(rows),
        "KDE exponential": KernelDensity(kernel="exponential", bandwidth=0.5).fit(rows),
        "GaussianMixture": GaussianMixture(2, random_state=0).fit(rows),
        "PCA": PCA(max(1, rows.shape[1] // 2)).fit(rows),
        "IForest": IForest(n_estimators=50, random_state=0).fit(rows),
        "ECOD": ECOD().fit(rows),
        "COPOD": COPOD().fit(rows),
        "HBOS": HBOS().fit(rows),
        "LODA": LODA().fit(rows),
        "KNN": KNN().fit(rows),
        "AutoEncoder": AutoEncoder(
            epoch_num=20, hidden_neuron_list=[16, 4], verbose=0, random_state=0
        ).fit(rows),
    }


def plant(d: int, n: int, shift: float, seed: int = 0) -> tuple[Matrix, Matrix, IntVector]:
    """Normal rows that follow three causes, rows with one value moved, and which."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(400 + n, 3)) @ rng.normal(size=(3, d)) + 0.5 * rng.normal(
        size=(400 + n, d)
    )
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    who, sign = rng.integers(d, size=n), rng.choice([-1.0, 1.0], n)
    planted = rows[400:].copy()
    planted[np.arange(n), who] += shift * sign
    return rows[:400], planted, who


def found(detector: Any, rows: Matrix, planted: Matrix, who: IntVector, method: Method) -> Any:
    """Who is first where KSH has the culprit first, and whose normal value is in range."""
    attribution = Explainer(detector, rows, method)(planted)
    first = attribution.values.argmax(axis=1) == who
    within = np.ones(len(who), dtype=bool)
    if attribution.reference is not None:
        normal = attribution.reference[np.arange(len(who)), who]
        low, high = rows.min(axis=0)[who], rows.max(axis=0)[who]
        within = (normal >= low - 1e-9) & (normal <= high + 1e-9)
    return first, within


def cell(
    d: int, n: int, name: str, detector: Any, method: str, shift: float, ksh: dict[Any, Any]
) -> dict[str, Any]:
    """How often the method has the culprit first where KSH does, and its value in range."""
    rows, planted, who = plant(d, n, shift)
    its = d, n, name, shift
    if its not in ksh:
        ksh[its] = found(detector, rows, planted, who, KSH())[0]
    sure = ksh[its]
    first, within = found(detector, rows, planted, who, METHODS[method])
    return {
        "columns": d, "rows": n, "detector": name, "method": method, "shift": shift,
        "sure": int(sure.sum()), "first": int(first[sure].sum()), "within": int(within.sum()),
    }  # fmt: skip


def main() -> None:
    """Print for each detector and method: share first, and in range, by shift."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gross", description=__doc__)
    parser.add_argument("--columns", type=int, nargs="*", default=[3, 6, 8, 30])
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--shifts", type=float, nargs="*", default=SHIFTS)
    parser.add_argument("--detectors", nargs="*")
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--store", type=Path, help="a file that keeps cells, to go on from")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = asked.store.read_text().splitlines() if asked.store and asked.store.exists() else []
    known = {identity(each): each for each in map(json.loads, lines)}
    ksh: dict[Any, Any] = {}
    for d in asked.columns:
        normal, _, _ = plant(d, asked.rows, 0.0)
        for name, detector in detectors(normal).items():
            if asked.detectors and name not in asked.detectors:
                continue
            print(f"d={d}, {asked.rows} rows, {name}", flush=True)
            for method in asked.methods:
                if method == "v̂" and d > MOST_SETS:
                    continue
                line = ""
                for shift in asked.shifts:
                    its = (d, asked.rows, name, method, shift)
                    if its not in known:
                        known[its] = cell(d, asked.rows, name, detector, method, shift, ksh)
                        if asked.store:
                            with asked.store.open("a") as file:
                                print(json.dumps(known[its], ensure_ascii=False), file=file)
                    line += shown(known[its])
                print(f"    {method:5}{line}", flush=True)


def identity(measured: dict[str, Any]) -> tuple[Any, ...]:
    """What a cell is of."""
    return tuple(measured[name] for name in ("columns", "rows", "detector", "method", "shift"))


def shown(measured: dict[str, Any]) -> str:
    """A cell as printed: first of those that KSH has first, share in range, a star below 0.95."""
    first, sure = measured["first"], measured["sure"]
    within = measured["within"] / measured["rows"]
    flag = "*" if first < 0.95 * sure or within < 0.95 else " "
    return f"  {first:2}/{sure:2} {within:.2f}{flag}"


if __name__ == "__main__":
    main()
