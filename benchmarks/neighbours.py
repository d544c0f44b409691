"""Local outlier factors and nearest neighbours: ours against the library's own function.

The values are the same, and the methods too: what is compared is the score as `as_score` has it,
and the same number asked of the library as a plain function.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from pyod.models.knn import KNN
from sklearn.neighbors import LocalOutlierFactor

from benchmarks.instrument import Line, line, threads
from benchmarks.worlds import mixed_rows
from whyflag import Explainer, as_score
from whyflag.arrays import Matrix, Vector

WIDTHS = (10, 30)
METHODS = {"KSH": (3, 4.0), "ASH": (1, None), "near": (20, None)}  # rows, and the least ratio


def lines() -> Iterator[Line]:
    """Times of the library ÷ ours, for each method."""
    with threads(1):
        for d in WIDTHS:
            yield from _against_the_library(d)


def _against_the_library(d: int) -> Iterator[Line]:
    normal, rows = mixed_rows(d)
    factor = LocalOutlierFactor(20, novelty=True).fit(normal)
    nearest = KNN(n_neighbors=10).fit(normal)

    def plain_factor(X: Matrix) -> Vector:
        return -np.asarray(factor.score_samples(X))

    for name, detector, function in (
        ("LOF", factor, plain_factor),
        ("KNN", nearest, nearest.decision_function),
    ):
        for method, (n, least) in METHODS.items():
            ours = Explainer(as_score(detector), normal, method)
            plain = Explainer(function, normal, method)
            ours(rows[:1])
            ratios, took = [], np.inf
            for _ in range(1 if method == "ASH" else 5):
                slow, fast = (_seconds(each, rows[:n]) for each in (plain, ours))
                ratios.append(slow / fast)
                took = min(took, fast)
            yield line(
                "neighbours",
                f"{method}, {name}, d = {d}",
                ratios,
                "library ÷ whyflag",
                threads=1,
                least=least,
                note=f"{1e3 * took / n:.3g} ms a row, 3,000 rows stored",
            )


def _seconds(explain: Callable[[Matrix], Any], rows: Matrix) -> float:
    begin = time.process_time()
    explain(rows)
    return time.process_time() - begin
