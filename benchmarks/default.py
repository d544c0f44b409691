"""The default, near, against shap's explainers that take the same detector: 100 rows each.

near gives no Shapley values, so that errors can not be compared; what is compared is the time, and
how often the culprit comes first. Who names it as often as near must not be faster. shap's
explainers have as many references as near, 8: a row's nearest for near, the first of the normal
rows for them. PermutationExplainer takes the fewest evaluations that it can, one permutation
forward and back; KernelExplainer those that it takes by itself.

Process time, because other work on the machine would count otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import shap
import torch
from pyod.models.auto_encoder import AutoEncoder
from pyod.models.knn import KNN
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.svm import OneClassSVM

from benchmarks.instrument import Line, line, threads
from whyflag import Explainer, as_score
from whyflag.arrays import IntVector, Matrix, Vector
from whyflag.detectors import GMM

WIDTHS = (10, 30)
ROWS, KERNEL_ROWS = 100, 4
ALIKE = 0.02  # of the rows: who names the culprit less often has another error
REPEATS = 3


def _autoencoder() -> Any:
    return AutoEncoder(
        hidden_neuron_list=[16, 8], epoch_num=5, verbose=0, random_state=0, device="cpu"
    )


DETECTORS: dict[str, Callable[[], Any]] = {
    "GMM": lambda: GMM(4, random_state=0),
    "forest": lambda: IsolationForest(random_state=0),
    "LOF": lambda: LocalOutlierFactor(20, novelty=True),
    "KNN": lambda: KNN(n_neighbors=10),
    "KDE": lambda: KernelDensity(bandwidth=0.5),
    "OneClassSVM": lambda: OneClassSVM(nu=0.05),
    "PCA": lambda: PCA(n_components=5),
    "autoencoder": _autoencoder,
}
# What the library's user would give to shap: high is anomalous.
FUNCTIONS: dict[str, str] = {
    "forest": "score_samples",
    "LOF": "score_samples",
    "KDE": "score_samples",
    "OneClassSVM": "score_samples",
    "PCA": "score_samples",
    "GMM": "score_samples",
    "KNN": "decision_function",
    "autoencoder": "decision_function",
}


def lines() -> Iterator[Line]:
    """Time of near ÷ time of each explainer."""
    before = torch.get_num_threads()
    with threads(1):
        for name in DETECTORS:
            for d in WIDTHS:
                yield from _lines(name, d)
    torch.set_num_threads(before)


def world(d: int, n: int = 3000) -> tuple[Matrix, Matrix, IntVector]:
    """Normal rows, rows with one value moved, and which."""
    rng = np.random.default_rng(0)
    mix = np.eye(d) + 0.5 * rng.normal(size=(d, d)) / np.sqrt(d)
    normal, rows = rng.normal(size=(n, d)) @ mix, rng.normal(size=(ROWS, d)) @ mix
    culprit = rng.integers(0, d, ROWS)
    rows[np.arange(ROWS), culprit] += 5
    return normal, rows, culprit


def _lines(name: str, d: int) -> Iterator[Line]:
    normal, rows, culprit = world(d)
    torch.manual_seed(0)
    detector = DETECTORS[name]()
    detector.fit(normal)
    explain = Explainer(as_score(detector), normal)
    explain(rows)  # what is compiled or loaded at first use
    took, values = zip(*(_timed(lambda: explain(rows).values) for _ in range(REPEATS)), strict=True)
    ours = [each / ROWS for each in took]
    found = _first(values[0], culprit)
    for other, (run, n) in _explainers(name, detector, normal, d).items():
        job = partial(run, rows[:n])
        run(rows[:2])  # shap compiles at first use too
        took, values = zip(*(_timed(job) for _ in range(REPEATS if n == ROWS else 1)), strict=True)
        theirs = [each / n for each in took] * (1 if n == ROWS else REPEATS)
        of_depth = other.startswith("TreeExplainer")
        hits = _first(-values[0] if of_depth else values[0], culprit[:n])
        must = other == BY_PATHS or hits >= found - ALIKE
        yield line(
            "default",
            f"{name}, d = {d}, {other}",
            [one / another for one, another in zip(ours, theirs, strict=True)],
            "near ÷ shap",
            threads=1,
            most=(3.0 if other == BY_PATHS else 1.0) if must else None,
            note=f"{1e3 * min(ours):.3g} and {1e3 * min(theirs):.3g} ms a row; "
            f"culprit first {found:.0%} and {hits:.0%}",
        )


PERMUTED, BY_KERNEL = "PermutationExplainer", "KernelExplainer"
BY_PATHS, BY_TREES = "TreeExplainer (paths)", "TreeExplainer (interventional, {} references)"


def _explainers(
    name: str, detector: Any, normal: Matrix, d: int
) -> dict[str, tuple[Callable[[Matrix], Matrix], int]]:
    ask, references = getattr(detector, FUNCTIONS[name]), normal[:8]
    sign = 1.0 if FUNCTIONS[name] == "decision_function" else -1.0

    def score(X: Matrix) -> Vector:
        return np.asarray(sign * ask(X))

    permuted = shap.PermutationExplainer(score, shap.maskers.Independent(references), seed=0)
    kernel = shap.KernelExplainer(score, references)

    def by_kernel(X: Matrix) -> Matrix:
        np.random.seed(0)  # noqa: NPY002 - it draws from the global state
        return np.asarray(kernel.shap_values(X, l1_reg=False, silent=True))

    found: dict[str, tuple[Callable[[Matrix], Matrix], int]] = {
        PERMUTED: (lambda X: permuted(X, max_evals=2 * d + 1, silent=True).values, ROWS),
        BY_KERNEL: (by_kernel, KERNEL_ROWS),
    }
    if name == "forest":
        by_paths = shap.TreeExplainer(detector)
        found[BY_PATHS] = (lambda X: by_paths.shap_values(X, check_additivity=False), ROWS)
        for n in (8, 100):
            trees = shap.TreeExplainer(detector, normal[:n], feature_perturbation="interventional")
            shapley = partial(trees.shap_values, check_additivity=False)
            found[BY_TREES.format(n)] = shapley, ROWS
    return found


def _first(values: Matrix, culprit: IntVector) -> float:
    """In what part of the rows the culprit has the largest value."""
    return float((values.argmax(axis=1) == culprit).mean())


def _timed(function: Callable[[], Matrix]) -> tuple[float, Matrix]:
    begin = time.process_time()
    result = function()
    return time.process_time() - begin, result
