"""Isolation forests: KSH against shap's TreeExplainer, and minima against the search without trees.

Process time, because other work on the machine would count otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import shap
from sklearn.ensemble import IsolationForest

from benchmarks.instrument import Line, line, threads
from whyflag import Explainer, as_score
from whyflag.arrays import Matrix
from whyflag.methods import KSH
from whyflag.minimise import minimise
from whyflag.prepared import prepare
from whyflag.score import Score, Trees
from whyflag.shapley import Kernel

WIDTHS = (6, 10, 30, 60, 166, 274)
ROWS = 100
SEARCHED = {6: 20, 10: 10, 30: 4, 60: 2, 166: 1}  # rows by width: the search takes long
LONG_RUN = 2**15  # coalitions that stand for all
N_ACCURATE = {30: 5, 60: 5, 166: 3}


def lines() -> Iterator[Line]:
    """Times of TreeExplainer and of the search ÷ or × ours, errors, and losses."""
    with threads(1):
        for d in WIDTHS:
            yield from _against_tree_explainer(d)
        for d in N_ACCURATE:
            yield _closer(d)
        for d in SEARCHED:
            yield from _minima(d)


def world(d: int, n: int = 3000) -> tuple[Any, Matrix, Matrix]:
    """A forest, the normal rows it was fitted to, and rows with one value moved."""
    rng = np.random.default_rng(0)
    mix = np.eye(d) + 0.5 * rng.normal(size=(d, d)) / np.sqrt(d)
    normal, rows = rng.normal(size=(n, d)) @ mix, rng.normal(size=(ROWS, d)) @ mix
    rows[np.arange(ROWS), rng.integers(0, d, ROWS)] += 5
    return IsolationForest(random_state=0).fit(normal), normal, rows


def _against_tree_explainer(d: int) -> Iterator[Line]:
    forest, normal, rows = world(d)
    references = normal[:8]
    theirs = shap.TreeExplainer(forest, references, feature_perturbation="interventional")
    explain = Explainer(as_score(forest, scale="depth"), references, "KSH")
    explain(rows[:1])
    yield line(
        "forests, time",
        f"KSH, mean depth, d = {d}",
        _ratios(
            lambda: explain(rows),
            lambda: theirs.shap_values(rows, check_additivity=False),
        ),
        "whyflag ÷ TreeExplainer",
        threads=1,
        most=2.0,
        note=f"interventional, the same 8 references, {ROWS} rows",
    )
    by_paths = shap.TreeExplainer(forest)
    some = rows[:10]
    ash = Explainer(forest, normal, "ASH")
    ash(some)
    ours = _seconds(lambda: ash(some)) / len(some)
    path = _seconds(lambda: by_paths.shap_values(rows, check_additivity=False)) / len(rows)
    yield line(
        "forests, time",
        f"ASH, d = {d}",
        [ours / path],
        "whyflag ÷ TreeExplainer",
        threads=1,
        most=10.0 if d == 60 else None,
        note=f"path-dependent; {1e3 * ours:.1f} ms a row",
    )


def _closer(d: int) -> Line:
    forest, normal, rows = world(d)
    score, rows = as_score(forest), rows[: N_ACCURATE[d]]

    def values(score: Score, **settings: Any) -> Matrix:
        return Explainer(score, normal, KSH(solver=Kernel(**settings)))(rows).values

    truth = values(score, budget=LONG_RUN, seed=99)
    off = [np.linalg.norm(values(each) - truth, axis=1) for each in (score.without(Trees), score)]
    return line(
        "forests, error",
        f"KSH, score, d = {d}",
        (off[0] / off[1]).tolist(),
        "without ÷ with trees",
        threads=1,
        least=4.0,
        note=f"against {LONG_RUN:,} coalitions, {len(rows)} rows",
    )


def _minima(d: int) -> Iterator[Line]:
    forest, normal, rows = world(d)
    known = prepare(forest, normal)
    rows = rows[: SEARCHED[d]]
    alone = np.vstack([np.zeros((1, d), np.bool_), np.eye(d, dtype=np.bool_)])
    X, keep = np.repeat(rows, d + 1, axis=0), np.tile(alone, (len(rows), 1))

    def solve(score: Score) -> Any:
        return minimise(score, X, keep, known.domain, gamma=0.01)

    solve(known.score)
    took = _seconds(lambda: solve(known.score))
    found = solve(known.score)
    begin = time.process_time()
    searched = solve(known.score.without(Trees))
    ratio = (time.process_time() - begin) / took
    least = {30: 20.0, 60: 70.0, 166: 300.0}.get(d)
    yield line(
        "forests, minima, time",
        f"minima of v̲, d = {d}",
        [ratio],
        "search ÷ by trees",
        threads=1,
        least=least,
        note=f"{1e3 * took / len(rows):.1f} ms a row",
    )
    higher = (found.loss - searched.loss) / known.score.unit
    yield line(
        "forests, minima, losses",
        f"minima of v̲, d = {d}",
        [100 * float((higher <= 1e-7).mean())],
        "% no higher",
        threads=1,
        least=99.0,
        note=f"{len(X)} problems, median difference {np.median(higher):.2f} units",
    )


def _seconds(function: Callable[[], Any], repeats: int = 3) -> float:
    """Process time of a call, the best of several."""
    took = []
    for _ in range(repeats):
        begin = time.process_time()
        function()
        took.append(time.process_time() - begin)
    return min(took)


def _ratios(one: Callable[[], Any], other: Callable[[], Any], repeats: int = 5) -> list[float]:
    """Ratios of process times, taken in turns."""
    return [_seconds(one, 1) / _seconds(other, 1) for _ in range(repeats)]
