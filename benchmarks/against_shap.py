"""KSH against shap's KernelExplainer: the same model, references and number of coalitions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import shap
from shap.utils._legacy import DenseData

from benchmarks.instrument import Line, line, ratios, threads
from benchmarks.shapes import SHAPES, normal_rows, rows_to_explain, score_of
from whyflag import Domain, Explainer
from whyflag.arrays import Matrix
from whyflag.clusters import cluster_centers
from whyflag.methods import KSH
from whyflag.shapley import Kernel

ROWS = {6: 100, 9: 100, 10: 100, 59: 100, 166: 20, 274: 10}
REPEATS = {6: 5, 9: 3, 10: 3, 59: 1, 166: 1, 274: 1}
N_ACCURATE = 4  # rows whose errors are measured
LONG_RUN = 2**15  # coalitions that stand for all


def lines() -> Iterator[Line]:
    """Time and error of shap ÷ time and error of whyflag, by number of features."""
    for d in SHAPES:
        with threads(1):
            yield _faster(d)
            if d > 16:
                yield _closer(d)


def _shap_values(d: int, X: Matrix) -> Matrix:
    score, normal = score_of("GMM", d), normal_rows("GMM", d)
    centers, sizes = cluster_centers(normal, Domain.infer(normal).scale, 8, 0)
    names = [f"x{i}" for i in range(d)]
    explain = shap.KernelExplainer(score, DenseData(centers, names, None, sizes))
    np.random.seed(0)  # noqa: NPY002 - it draws from the global state
    return np.asarray(explain.shap_values(X, nsamples=2 * d + 2048, l1_reg=False, silent=True))


def _ours(d: int, X: Matrix, solver: Kernel) -> Matrix:
    explain = Explainer(score_of("GMM", d), normal_rows("GMM", d), KSH(solver=solver))
    return explain(X).values


def _faster(d: int) -> Line:
    X = rows_to_explain("GMM", d, ROWS[d])
    explain = Explainer(score_of("GMM", d), normal_rows("GMM", d), KSH())
    explain(X[:1])
    found = ratios(lambda: _shap_values(d, X), lambda: explain(X), REPEATS[d])
    return line(
        "against shap, time",
        f"KSH, GMM, d = {d}",
        found,
        "shap ÷ whyflag",
        threads=1,
        least=3.0 if d <= 59 else 1.0,
        note=f"{len(X)} rows",
    )


def _closer(d: int) -> Line:
    X = rows_to_explain("GMM", d, N_ACCURATE)
    truth = _ours(d, X, Kernel(budget=LONG_RUN, seed=99))
    theirs = np.abs(_shap_values(d, X) - truth).mean(axis=1)
    ours = np.abs(_ours(d, X, Kernel()) - truth).mean(axis=1)
    return line(
        "against shap, error",
        f"KSH, GMM, d = {d}",
        (theirs / ours).tolist(),
        "shap ÷ whyflag",
        threads=1,
        least=4.0,
        note=f"mean |error| against {LONG_RUN:,} coalitions, {N_ACCURATE} rows",
    )
