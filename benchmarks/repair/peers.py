"""The same rows repaired by whyflag, by DiCE, by alibi and by a plain grid search.

`python -m benchmarks.repair.peers`, in an environment that has dice-ml or alibi: those that are not
there are left out. (alibi 0.9.6 needs TensorFlow below 2.15, and with it NumPy below 2.)
"""

from __future__ import annotations

import argparse
import contextlib
import io
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.culprits.detectors import fitted
from benchmarks.repair.__main__ import with_alarm
from benchmarks.repair.errors import spoil
from benchmarks.repair.measures import GRID, alarm_of
from benchmarks.repair.worlds import load_world
from whyflag import Explainer
from whyflag.arrays import Matrix
from whyflag.prepared import Prepared
from whyflag.score import evaluate

WORLDS = ("dated 5", "heavy 8", "gaussian 20")
DETECTORS = ("GMM", "LOF", "KDE")
ERRORS = ("x 10", "sign", "swapped")
ROWS = 5  # of a kind of error
SAME = 1e-3  # deviations: what moves by less has not moved (alibi's steps are in float32)
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
    alarm = alarm_of(prepared.score)

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


def alibi(prepared: Prepared, kind: str) -> Repairer:
    """Counterfactuals of alibi: descent by differences to a chance of an alarm of a half.

    They need a chance that changes with the score: 1 / (1 + exp(−(score − alarm) / spread)), the
    spread of the scores of normal rows. Columns are in deviations.
    """
    import tensorflow as tf
    from alibi.explainers import Counterfactual, CounterfactualProto

    tf.compat.v1.disable_v2_behavior()
    tf.compat.v1.reset_default_graph()  # its variables have names, and a shape for each
    rows, score = prepared.background, prepared.score
    alarm = alarm_of(score)
    mean, deviation = rows.mean(axis=0), rows.std(axis=0)
    spread = evaluate(score, rows).std()
    known = (rows - mean) / deviation
    low, high = known.min(axis=0, keepdims=True), known.max(axis=0, keepdims=True)

    def chances(Z: Matrix) -> Any:
        away = evaluate(score, np.asarray(Z, dtype=np.float64) * deviation + mean) - alarm
        raised = 1 / (1 + np.exp(-np.clip(away / spread, -50, 50)))
        return np.column_stack([1 - raised, raised])

    shape = (1, rows.shape[1])
    widest = low.astype(np.float32), high.astype(np.float32)
    if kind == "nearest":
        explain = Counterfactual(
            chances,
            shape,
            target_proba=0.55,
            target_class=0,
            tol=0.05,
            max_iter=200,
            max_lam_steps=5,
            feature_range=widest,
        )
    else:
        explain = CounterfactualProto(
            chances, shape, use_kdtree=True, max_iterations=200, c_steps=5, feature_range=widest
        )
        explain.fit(known)

    def repair(X: Matrix) -> Matrix:
        repaired = X.copy()
        for i, z in enumerate((X - mean) / deviation):
            quietly = contextlib.redirect_stdout(io.StringIO())
            also = contextlib.redirect_stderr(io.StringIO())
            with contextlib.suppress(Exception), quietly, also:
                found = explain.explain(z[None]).cf
                if found is not None:
                    moved = np.asarray(found["X"][0], dtype=np.float64)
                    same = np.abs(moved - z) < SAME
                    repaired[i] = np.where(same, X[i], moved * deviation + mean)
        return repaired

    return repair


def installed(prepared: Prepared) -> dict[str, Repairer]:
    """All that can be run here."""
    peers = {"whyflag": ours(prepared), "grid search": grid(prepared)}
    if find_spec("dice_ml"):
        peers["DiCE, random"] = dice(prepared, "random")
        peers["DiCE, genetic"] = dice(prepared, "genetic")
    if find_spec("alibi"):
        peers["alibi, Counterfactual"] = alibi(prepared, "nearest")
        peers["alibi, CounterfactualProto"] = alibi(prepared, "prototype")
    return peers


def main() -> None:
    """Print what each of them does, on average over the rows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.repair.peers", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help="of a kind of error")
    n = parser.parse_args().rows
    warnings.simplefilter("ignore")
    told: dict[str, list[Any]] = {}
    for name in WORLDS:
        world = load_world(name)
        for detector in DETECTORS:
            prepared = with_alarm(fitted(world, detector).prepared)
            score, scale = prepared.score, prepared.domain.scale
            alarm = alarm_of(score)
            kinds = [spoil(world, error, n) for error in ERRORS]
            X = np.vstack([kind.X for kind in kinds if kind is not None])
            truth = np.vstack([kind.truth for kind in kinds if kind is not None])
            raises = evaluate(score, X) > alarm
            X, truth = X[raises], truth[raises]
            for peer, repair in installed(prepared).items():
                begin = time.process_time()
                rows = repair(X)
                took = 1e3 * (time.process_time() - begin) / len(X)
                quiet = evaluate(score, rows) <= alarm
                changed = rows != X
                moved = np.abs(rows - truth) / scale
                print(f"{name}, {detector}, {peer}: {took:.0f} ms a row", flush=True)
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
