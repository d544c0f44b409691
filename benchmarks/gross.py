"""Gross values: is the culprit found however far away it is, and is its normal value normal?"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
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


def main() -> None:
    """Print for each detector and method: share first, and in range, by shift."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", type=int, nargs="*", default=[3, 6, 8, 30])
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--detectors", nargs="*")
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    for d in asked.columns:
        normal, _, _ = plant(d, asked.rows, 0.0)
        for name, detector in detectors(normal).items():
            if asked.detectors and name not in asked.detectors:
                continue
            lines = dict.fromkeys(asked.methods, "")
            shares = ""
            for shift in SHIFTS:
                rows, planted, who = plant(d, asked.rows, shift)
                sure, _ = found(detector, rows, planted, who, KSH())
                shares += f" {sure.mean():.2f}"
                for method in asked.methods:
                    if method == "v̂" and d > 10:
                        continue
                    first, within = found(detector, rows, planted, who, METHODS[method])
                    share = first[sure].mean() if sure.any() else 1.0
                    flag = "*" if share < 0.95 or within.mean() < 0.95 else " "
                    lines[method] += f"  {share:.2f} {within.mean():.2f}{flag}"
            print(f"d={d:<3} {name:16} KSH  {shares}", flush=True)
            for method, line in lines.items():
                print(f"      {'':16} {method:5}{line}", flush=True)


if __name__ == "__main__":
    main()
