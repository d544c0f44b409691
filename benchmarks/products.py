"""Kernel densities and one-class machines: KSH by their products against without, and shap.

Process time, because other work on the machine would count otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import shap
from sklearn.neighbors import KernelDensity
from sklearn.svm import OneClassSVM

from benchmarks.instrument import Line, line, threads
from benchmarks.worlds import mixed_rows
from whyflag import Explainer, as_score
from whyflag.score import Products

WIDTHS = (6, 10, 30, 60, 166)
DETECTORS = {"KernelDensity": KernelDensity(bandwidth=0.5), "OneClassSVM": OneClassSVM(nu=0.05)}
ROWS = {"KernelDensity": 4, "OneClassSVM": 20}
REPEATS = 3


def lines() -> Iterator[Line]:
    """Times without ÷ with products, and of shap's KernelExplainer ÷ ours."""
    with threads(1):
        for name in DETECTORS:
            for d in WIDTHS:
                yield from _lines(name, d)


def _lines(name: str, d: int) -> Iterator[Line]:
    normal, rows = mixed_rows(d)
    score = as_score(DETECTORS[name].fit(normal))
    rows, references = rows[: ROWS[name]], normal[:8]
    explain = Explainer(score, references, "KSH")
    without = Explainer(score.without(Products), references, "KSH")
    theirs = shap.KernelExplainer(score.without(Products), references)
    asked = {"nsamples": 2 * d + 2048, "l1_reg": False, "silent": True}
    explain(rows[:1])  # what is compiled at first use
    ours, slow, shaps = [], [], []
    for _ in range(REPEATS):
        ours.append(_seconds(lambda: explain(rows)) / len(rows))
        slow.append(_seconds(lambda: without(rows[:2])) / 2)
        np.random.seed(0)  # noqa: NPY002 - it draws from the global state
        shaps.append(_seconds(lambda: theirs.shap_values(rows[:2], **asked)) / 2)
    exact = name == "OneClassSVM" or d < 12
    note = f"{1e3 * min(ours):.1f} ms a row{', exact' if exact else ''}"
    for other, unit, least in (
        (slow, "without ÷ with products", 1.0),
        (shaps, "KernelExplainer ÷ whyflag", None),
    ):
        yield line(
            f"products, {'time' if other is slow else 'against shap'}",
            f"KSH, {name}, d = {d}",
            [theirs_ / ours_ for theirs_, ours_ in zip(other, ours, strict=True)],
            unit,
            threads=1,
            least=least,
            note=note if other is slow else f"the same 8 references, {asked['nsamples']} samples",
        )


def _seconds(function: Callable[[], Any]) -> float:
    begin = time.process_time()
    function()
    return time.process_time() - begin
