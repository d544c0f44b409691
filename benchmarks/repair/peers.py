"""The same rows repaired by whyflag, by DiCE and by a plain grid search.

`python -m benchmarks.repair.peers`, in an environment that has dice-ml.
"""

from __future__ import annotations

import contextlib
import io
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.culprits.detectors import fitted
from benchmarks.repair.__main__ import with_alarm
from benchmarks.repair.errors import spoil
from benchmarks.repair.measures import GRID
from benchmarks.repair.worlds import load_world
from whyflag import Explainer
from whyflag.arrays import Matrix
from whyflag.prepared import Prepared
from whyflag.score import evaluate

WORLDS = ("dated 5", "heavy 8", "gaussian 20")
DETECTORS = ("GMM", "LOF", "KDE")
ERRORS = ("x 10", "sign", "swapped")
ROWS = 5  # of a kind of error
Repairer = Callable[[Matrix], Matrix]


def ours(prepared: Prepared) -> Repairer:
    """The attribution included."""
    explain = Explainer(prepared)
    return lambda X: explain.repair(X).rows


def grid(prepared: Prepared) -> Repairer:
    """Of 101 quantiles of every column the one with the lowest score."""
    rows = prepared.background
    values = np.quantile(rows, np.linspace(0, 1, GRID), axis=0, method="nearest")  # g x d

    def repair(X: Matrix) -> Matrix:
        d = X.shape[1]
        points = np.repeat(X[:, None], GRID * d, axis=1).reshape(len(X), d, GRID, d)
        for j in range(d):
            points[:, j, :, j] = values[:, j]
        scores = evaluate(prepared.score, points.reshape(-1, d)).reshape(len(X), -1)
        best = scores.argmin(axis=1)
        return points.reshape(len(X), -1, d)[np.arange(len(X)), best]

    return repair


def dice(prepared: Prepared, method: str) -> Repairer:
    """DiCE, told that rows above the alarm are of one class and others of another."""
    import dice_ml

    names = [f"c{j}" for j in range(prepared.domain.n_columns)]
    alarm = prepared.score.threshold

    class Model:
        """What DiCE asks for."""

        def predict_proba(self, X: Any) -> Any:
            """The chance that a row raises an alarm: 0 or 1."""
            raised = evaluate(prepared.score, np.asarray(X, dtype=np.float64)) > alarm
            return np.column_stack([~raised, raised]).astype(float)

        def predict(self, X: Any) -> Any:
            """Whether it does."""
            return self.predict_proba(X).argmax(axis=1)

    known = pd.DataFrame(prepared.background, columns=names)
    known["alarm"] = (evaluate(prepared.score, prepared.background) > alarm).astype(int)
    data = dice_ml.Data(dataframe=known, continuous_features=names, outcome_name="alarm")
    explain = dice_ml.Dice(data, dice_ml.Model(model=Model(), backend="sklearn"), method=method)

    def repair(X: Matrix) -> Matrix:
        repaired = X.copy()
        for i in range(len(X)):
            # It prints its progress, and raises where it finds nothing.
            quietly = contextlib.redirect_stdout(io.StringIO())
            also = contextlib.redirect_stderr(io.StringIO())
            with contextlib.suppress(Exception), quietly, also:
                found = explain.generate_counterfactuals(
                    pd.DataFrame(X[[i]], columns=names), total_CFs=1, desired_class=0
                )
                rows = found.cf_examples_list[0].final_cfs_df[names]
                repaired[i] = rows.to_numpy(dtype=np.float64)[0]
        return repaired

    return repair


def main() -> None:
    """Print what each of them does, on average over the rows."""
    warnings.simplefilter("ignore")
    told: dict[str, list[Any]] = {}
    for name in WORLDS:
        world = load_world(name)
        for detector in DETECTORS:
            prepared = with_alarm(fitted(world, detector).prepared)
            score, scale = prepared.score, prepared.domain.scale
            kinds = [spoil(world, error, ROWS) for error in ERRORS]
            X = np.vstack([kind.X for kind in kinds if kind is not None])
            truth = np.vstack([kind.truth for kind in kinds if kind is not None])
            raises = evaluate(score, X) > score.threshold
            X, truth = X[raises], truth[raises]
            for peer, repair in {
                "whyflag": ours(prepared),
                "grid search": grid(prepared),
                "DiCE, random": dice(prepared, "random"),
                "DiCE, genetic": dice(prepared, "genetic"),
            }.items():
                begin = time.process_time()
                rows = repair(X)
                took = 1e3 * (time.process_time() - begin) / len(X)
                quiet = evaluate(score, rows) <= score.threshold
                changed = rows != X
                moved = np.abs(rows - truth) / scale
                told.setdefault(peer, []).append(
                    (quiet.mean(), changed.sum(axis=1)[quiet].mean() if quiet.any() else np.nan,
                     np.median(moved.sum(axis=1)), took)
                )  # fmt: skip
    print(
        "| | silenced | features changed | distance from the true row | ms |\n|---|---|---|---|---|"
    )
    for peer, numbers in told.items():
        silenced, features, far, took = np.nanmean(np.array(numbers), axis=0)
        print(f"| {peer} | {silenced:.2f} | {features:.1f} | {far:.2f} | {took:.0f} |")


if __name__ == "__main__":
    main()
