"""One row at a time: milliseconds of the processor with the default, and with KSH.

`python -m benchmarks.single`

A service explains rows as they come, one by one, so that no batch shares the work.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.svm import OneClassSVM

from whyflag import Explainer
from whyflag.arrays import Matrix
from whyflag.detectors import GMM

N_NORMAL, N_ROWS = 3000, 20
COLUMNS = (10, 30)
METHODS = {"near": N_ROWS, "KSH": 3}  # rows that are timed
DETECTORS: dict[str, Callable[[], Any]] = {
    "GMM": lambda: GMM(random_state=0),
    "GaussianMixture": lambda: GaussianMixture(3, random_state=0),
    "IsolationForest": lambda: IsolationForest(random_state=0),
    "LocalOutlierFactor": lambda: LocalOutlierFactor(novelty=True),
    "KernelDensity": lambda: KernelDensity(bandwidth=0.5),
    "OneClassSVM": lambda: OneClassSVM(nu=0.05),
}


def rows_of(d: int) -> tuple[Matrix, Matrix]:
    """Normal rows that follow three causes, and rows with one culprit."""
    rng = np.random.default_rng(d)
    rows = rng.normal(size=(N_NORMAL, 3)) @ rng.normal(size=(3, d))
    rows = rows + 0.5 * rng.normal(size=rows.shape)
    odd = rows[:N_ROWS].copy()
    odd[np.arange(N_ROWS), np.arange(N_ROWS) % d] += 4.0
    return rows, odd


def milliseconds(explain: Explainer, rows: Matrix) -> float:
    """Of the processor, for a row by itself: the median."""
    took = []
    for i in range(len(rows)):
        begin = time.process_time()
        explain(rows[[i]])
        took.append(time.process_time() - begin)
    return 1000 * float(np.median(took))


def main() -> None:
    """Print a line for each detector and number of columns."""
    print(f"| detector, {N_NORMAL} normal rows | d | {' | '.join(METHODS)} | ratio |")
    print("|---|---|" + "---|" * (len(METHODS) + 1))
    for d in COLUMNS:
        normal, odd = rows_of(d)
        for name, make in DETECTORS.items():
            detector = make().fit(normal)
            took = []
            for method, n in METHODS.items():
                explain = Explainer(detector, normal, method)
                explain(odd[:1])  # the audit of the first row is not part of it
                took.append(milliseconds(explain, odd[:n]))
            figures = " | ".join(f"{each:.3g}" for each in took)
            print(f"| {name} | {d} | {figures} | {took[0] / took[-1]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
