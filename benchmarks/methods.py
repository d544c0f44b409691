"""Time of each method on a Gaussian mixture, by the number of features."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks.instrument import Line, line, seconds, threads
from benchmarks.shapes import SHAPES, normal_rows, rows_to_explain, score_of
from whyflag import Explainer
from whyflag.methods import METHODS

ROWS = {6: 500, 9: 200, 10: 100, 59: 10, 166: 4, 274: 2}
REPEATS = 3


def lines() -> Iterator[Line]:
    """Milliseconds a row."""
    for name in METHODS:
        for d in SHAPES:
            explain = Explainer(score_of("GMM", d), normal_rows("GMM", d), name)
            X = rows_to_explain("GMM", d, ROWS[d])
            with threads(1):
                n = explain(X).n_evaluations // len(X)
                found = [1e3 * seconds(partial(explain, X)) / len(X) for _ in range(REPEATS)]
            yield line(
                "milliseconds",
                f"{name}, GMM, d = {d}",
                found,
                "ms a row",
                threads=1,
                note=f"{len(X)} rows, {n:,} evaluations a row",
            )
