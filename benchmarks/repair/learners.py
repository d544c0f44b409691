"""How near to the true values could repaired ones be? Learners asked for held-out values.

`python -m benchmarks.repair.learners`: no detector and no error, only normal rows.
`python -m benchmarks.repair.learners "heavy 8"`: the planted errors of a world that raise an alarm,
the wrong columns known.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor, GradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.culprits.detectors import fitted
from benchmarks.repair.__main__ import DETECTORS, with_alarm
from benchmarks.repair.errors import ERRORS, spoil
from benchmarks.repair.measures import CORRELATED, alarm_of, predicted
from benchmarks.repair.worlds import CHOOSING, load_world
from whyflag import Domain, Explainer
from whyflag.arrays import Matrix, Vector
from whyflag.repair.expected import Expected
from whyflag.score import evaluate

KNOWN = 0.8  # of the rows to train on: the others are asked for
ASKED = 400  # values of a world
Predict = Callable[[Vector, int], float]  # a row and a column -> the value there


def expected(rows: Matrix, domain: Domain) -> Predict:
    """What a repair takes first."""
    knows = Expected(rows, domain)
    equal = np.ones(domain.n_players)

    def predict(x: Vector, j: int) -> float:
        near = knows.near_without(x, equal, np.array([j]))[:, 0]
        return float(knows.of_some(x, np.arange(len(x)) == j, near)[0])

    return predict


def learner(make: Callable[[], Any]) -> Callable[[Matrix, Domain], Predict]:
    """One of scikit-learn, fitted to each column that is asked for."""

    def of(rows: Matrix, domain: Domain) -> Predict:
        fitted: dict[int, Any] = {}

        def predict(x: Vector, j: int) -> float:
            if j not in fitted:
                fitted[j] = make().fit(np.delete(rows, j, axis=1), rows[:, j])
            return float(fitted[j].predict(np.delete(x, j)[None])[0])

        return predict

    return of


def scaled(make: Callable[[], Any]) -> Callable[[Matrix, Domain], Predict]:
    """One that wants columns of one size."""
    return learner(lambda: make_pipeline(StandardScaler(), make()))


LEARNERS: dict[str, Callable[[Matrix, Domain], Predict]] = {
    "expected value": expected,
    "ridge regression": scaled(lambda: RidgeCV(np.logspace(-3, 3, 13))),
    "randomised trees": learner(
        lambda: ExtraTreesRegressor(100, min_samples_leaf=3, random_state=0)
    ),
    "the same, absolute error": learner(
        lambda: ExtraTreesRegressor(
            60, criterion="absolute_error", min_samples_leaf=3, random_state=0
        )
    ),
    "boosted trees, absolute error": learner(
        lambda: GradientBoostingRegressor(loss="absolute_error", random_state=0)
    ),
    "Gaussian process": scaled(
        lambda: GaussianProcessRegressor(
            ConstantKernel() * RBF(3.0) + WhiteKernel(), normalize_y=True, random_state=0
        )
    ),
}


def measure(name: str, make: Callable[[Matrix, Domain], Predict]) -> tuple[float, float, float]:
    """Share nearer than the median, of correlated columns, and their error by the median's."""
    world, rng = load_world(name), np.random.default_rng(0)
    order = rng.permutation(len(world.train))
    known, rest = np.split(world.train[order], [int(KNOWN * len(order))])
    rows = np.vstack([rest, world.held_out])
    domain = Domain.infer(known, bounded=True)
    middle, bond = np.median(known, axis=0), predicted(known)
    cells = [(i, int(j)) for i in range(len(rows)) for j in np.flatnonzero(world.real)]
    some = rng.choice(len(cells), min(ASKED, len(cells)), replace=False)
    predict = make(known, domain)
    told = []
    for i, j in (cells[k] for k in some):
        row = rows[i].copy()
        row[j] = predict(rows[i], j)
        row = domain.admit(row[None], rows[i][None])[0]
        off, usual = (abs(value - rows[i, j]) / domain.scale[j] for value in (row[j], middle[j]))
        told.append((off < usual or off == usual == 0, bond[j] >= CORRELATED, off, usual))
    nearer, bound, off, usual = np.array(told, dtype=float).T
    of = bound == 1
    return nearer.mean(), nearer[of].mean(), float(np.median(off[of]) / np.median(usual[of]))


def planted(name: str, n: int = 30) -> dict[str, Vector]:
    """Errors at the planted columns of rows with an alarm: by learner, of repairs, of medians."""
    world = load_world(name)
    predicts = {
        each: make(world.train, Domain.infer(world.train)) for each, make in LEARNERS.items()
    }
    middle, bond = np.median(world.train, axis=0), predicted(world.train)
    off: dict[str, list[float]] = {each: [] for each in (*predicts, "the repair", "the median")}
    for detector in DETECTORS:
        prepared = with_alarm(fitted(world, detector).prepared)
        alarm = alarm_of(prepared.score)
        for error in ERRORS:
            if (spoilt := spoil(world, error, n)) is None:
                continue
            loud, quiet = (evaluate(prepared.score, each) for each in (spoilt.X, spoilt.truth))
            some = np.flatnonzero((loud > alarm) & (quiet <= alarm))
            if not len(some):
                continue
            repair = Explainer(prepared)(spoilt.X[some]).repair
            for i, row in enumerate(some):
                x, truth = spoilt.X[row], spoilt.truth[row]
                wrong = repair.changed[i] & spoilt.guilty[row] & (world.membership.sum(axis=1) == 1)
                for j in np.flatnonzero(world.membership[wrong].any(axis=0)):
                    if not repair.silenced[i] or bond[j] < CORRELATED:
                        continue
                    found = {each: predict(x, int(j)) for each, predict in predicts.items()}
                    found |= {"the repair": repair.rows[i, j], "the median": middle[j]}
                    for each, value in found.items():
                        known = np.clip(value, world.train[:, j].min(), world.train[:, j].max())
                        off[each].append(abs(known - truth[j]) / prepared.domain.scale[j])
    return {each: np.array(errors) for each, errors in off.items()}


def main() -> None:
    """Print a line for each learner: averages over the choosing worlds."""
    warnings.simplefilter("ignore")
    if len(sys.argv) > 1:
        off = planted(sys.argv[1])
        print("| | median error | nearer than the median |\n|---|---|---|")
        for each, errors in off.items():
            nearer = (errors < off["the median"]).mean()
            print(f"| {each} | {np.median(errors):.3f} | {nearer:.3f} of {len(errors)} |")
        return
    print("| | nearer | of correlated columns | error, of the median's |\n|---|---|---|---|")
    for name, make in LEARNERS.items():
        numbers = np.mean([measure(world, make) for world in CHOOSING], axis=0)
        print(f"| {name} | " + " | ".join(f"{number:.3f}" for number in numbers) + " |", flush=True)


if __name__ == "__main__":
    main()
