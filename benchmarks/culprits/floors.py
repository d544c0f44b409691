"""What needs no explanation of a score: largest |z|; and paths in trees."""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import IsolationForest

from benchmarks.culprits.detectors import Case
from benchmarks.culprits.neighbours import Found
from whyflag.arrays import Matrix, Vector
from whyflag.clusters import cluster_centers

MAD = 1.4826  # deviations in a median absolute deviation of a normal distribution


def largest_z(case: Case, X: Matrix) -> Found:
    """Robust |z| of each player's strangest column; no detector at all."""
    rows = case.world.train
    middle = np.median(rows, axis=0)
    spread = MAD * np.median(np.abs(rows - middle), axis=0)
    flat = spread == 0
    middle = np.where(flat, rows.mean(axis=0), middle)
    spread = np.where(flat, np.where(rows.std(axis=0) > 0, rows.std(axis=0), 1.0), spread)
    z = np.abs(X - middle) / spread  # n x d
    return Found(np.array([z[:, mask].max(axis=1) for mask in case.world.membership]).T, 0.0)


def of_players(case: Case, seen: Matrix) -> Matrix:
    """Values of seen columns, summed over players: (n, k) -> (n, p)."""
    values = np.zeros((len(seen), case.world.n_columns))
    values[:, list(case.world.seen)] = seen
    return values @ case.world.membership.T


def forest_of(case: Case) -> IsolationForest:
    """The forest of a case that has one."""
    if case.forest is None:
        raise TypeError(f"What is needed is an isolation forest, got {case.detector}.")
    return case.forest


def tree_shap(case: Case, X: Matrix) -> Found:
    """Shap's TreeExplainer, which explains depth: its sign is turned."""
    import shap

    values = shap.TreeExplainer(forest_of(case)).shap_values(X[:, list(case.world.seen)])
    return Found(of_players(case, -np.asarray(values, dtype=np.float64)), None)


def diffi(case: Case, X: Matrix) -> Found:
    """Local DIFFI (Carletti et al. 2023): short paths speak for the columns that are split there.

    Every split on a row's way to its leaf adds 1 / depth of the leaf − 1 / greatest depth to its
    column, and the sum is divided by the number of the column's splits on such ways.
    """
    forest = forest_of(case)
    rows = np.ascontiguousarray(X[:, list(case.world.seen)], dtype=np.float32)
    deepest = np.ceil(np.log2(max(2, forest.max_samples_)))
    gained, times = np.zeros(rows.shape), np.zeros(rows.shape)
    for estimator, shown in zip(forest.estimators_, forest.estimators_features_, strict=True):
        tree = estimator.tree_
        ways = tree.decision_path(rows[:, shown])  # n x nodes, sparse
        depth = np.asarray(ways.sum(axis=1)).ravel() - 1  # n: splits on the way
        weight = 1 / np.maximum(depth, 1) - 1 / deepest
        row, node = ways.nonzero()
        splits = tree.feature[node] >= 0
        row, column = row[splits], shown[tree.feature[node[splits]]]
        np.add.at(gained, (row, column), weight[row])
        np.add.at(times, (row, column), 1.0)
    return Found(of_players(case, gained / np.maximum(times, 1)), None)


def kernel_shap(case: Case, X: Matrix) -> Found:
    """Shap's KernelExplainer with eight weighted k-means centres; columns only, no groups."""
    import shap
    from shap.utils._legacy import DenseData

    prepared, d = case.prepared, case.world.n_columns
    centers, sizes = cluster_centers(prepared.background, prepared.domain.scale, 8, 0)
    evaluated = 0

    def score(rows: Matrix) -> Vector:
        nonlocal evaluated
        evaluated += len(rows)
        return prepared.score(np.asarray(rows, dtype=np.float64))

    explain = shap.KernelExplainer(
        score, DenseData(centers, [f"x{i}" for i in range(d)], None, sizes)
    )
    np.random.seed(0)  # noqa: NPY002, it draws from the global state
    values = np.asarray(explain.shap_values(X, l1_reg=False, silent=True))
    return Found(values @ case.world.membership.T, evaluated / len(X))
