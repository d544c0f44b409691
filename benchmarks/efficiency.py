"""How much of a method's time goes into evaluations of the score that nobody could avoid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.instrument import Line, line, ratios, threads
from benchmarks.recording import recording
from benchmarks.shapes import SHAPES, normal_rows, rows_to_explain, score_of
from whyflag import Domain, Explainer
from whyflag.games import RelaxedMinimum
from whyflag.minimise import Minimum
from whyflag.score import Gradient, Score
from whyflag.shapley import Kernel

METHODS = ("KSH", "wKSH", "IG")
REPEATS = 5
# Rows explained: enough for a tenth of a second. IG, which takes less, explains more.
ROWS = {
    "GMM": {6: 2000, 9: 200, 10: 100, 59: 20, 166: 6, 274: 3},
    "VAE": {6: 100, 9: 20, 10: 10, 59: 3, 166: 2, 274: 1},
    "forest": {6: 30, 9: 5, 10: 3, 59: 1, 166: 1, 274: 1},
}
MORE_FOR_IG = {"GMM": 20, "VAE": 200}


def lines() -> Iterator[Line]:
    """Bare time ÷ total time, for each method, detector and number of features."""
    for kind in ROWS:
        for d in SHAPES:
            score = score_of(kind, d)
            for method in METHODS:
                if method != "IG" or score.find(Gradient) is not None:
                    yield _efficiency(kind, d, method, _explaining(kind, d, method))
            yield _efficiency(kind, d, "ASH's summation", _summing(kind, d))


def _efficiency(kind: str, d: int, method: str, work: Callable[[], Any]) -> Line:
    score = score_of(kind, d)
    with threads(1):
        work()
        with recording(score) as asked:
            work()
        bare = asked.again(score)
        found = ratios(bare, work, REPEATS)
    n = sum(map(len, asked.values)) + sum(map(len, asked.gradients))
    return line(
        "efficiency",
        f"{method}, {kind}, d = {d}",
        found,
        "bare ÷ total",
        threads=1,
        least=0.75,
        note=f"{_n_rows(kind, d, method)} rows, {n:,} evaluations",
    )


def _explaining(kind: str, d: int, method: str) -> Callable[[], Any]:
    explain = Explainer(score_of(kind, d), normal_rows(kind, d), method)
    X = rows_to_explain(kind, d, _n_rows(kind, d, method))
    return lambda: explain(X)


def _n_rows(kind: str, d: int, method: str) -> int:
    return ROWS[kind][d] * (MORE_FOR_IG[kind] if method == "IG" else 1)


def _summing(kind: str, d: int) -> Callable[[], Any]:
    """The sum over coalitions once the minima are there; where they lie does not matter to it."""
    score, normal = score_of(kind, d), normal_rows(kind, d)
    domain, X = Domain.infer(normal, bounded=True), rows_to_explain(kind, d, ROWS[kind][d])
    solver, relaxed = Kernel(), "whyflag.games.relaxed_minimum"

    def summed() -> Any:
        # No row is given to v̂, which would minimise for every coalition.
        with patch(f"{relaxed}.minimise", _anywhere), patch(f"{relaxed}.BROKEN", np.inf):
            return solver.solve(RelaxedMinimum().bind(score, domain, X))

    return summed


def _anywhere(score: Score, X: Any, *_: Any, **__: Any) -> Minimum:
    b = len(X)
    return Minimum(0.9 * X, np.zeros(b), np.zeros(b, dtype=np.int64), np.zeros(b, dtype=np.int64))
