"""How good the repairs of a cell are: rows with one kind of error, one world, one detector."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.repair.errors import Spoilt
from whyflag import Explainer
from whyflag.arrays import BoolMatrix, Matrix, Vector
from whyflag.prepared import Prepared
from whyflag.repair import Repair
from whyflag.score import Score, evaluate

GRID = 101  # quantiles of a column that brute force tries
VALUES = ("near", "near, correlated", "error", "median", "range", "category")
TIMED = 3  # rows on which KSH is timed: it takes longer than all else
INSIDE = 25  # values in a range that must be quiet
CORRELATED = 0.5  # share of a column's variance that the others predict: it is correlated


def brute_force(score: Score, X: Matrix, rows: Matrix, membership: BoolMatrix) -> Matrix:
    """The least score that each player can bring by itself, over a grid: (n, p)."""
    least = np.full((len(X), len(membership)), np.inf)
    for player, columns in enumerate(membership):
        if columns.sum() > 1:
            values = np.unique(rows[:, columns], axis=0)
        else:
            values = np.quantile(rows[:, columns], np.linspace(0, 1, GRID), 0, method="nearest")
        points = np.repeat(X[:, None], len(values), axis=1)
        points[:, :, columns] = values
        found = evaluate(score, points.reshape(-1, X.shape[1]))
        least[:, player] = found.reshape(len(X), -1).min(axis=1)
    return least


def predicted(rows: Matrix) -> Vector:
    """How much of each column's variance the others predict, linearly: (d,)."""
    spread = rows.std(axis=0)
    z = (rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    precision = np.linalg.pinv(np.cov(z.T) + 1e-6 * np.eye(rows.shape[1]))
    return np.where(spread > 0, 1 - 1 / np.maximum(np.diag(precision), 1.0), 0.0)


def measure(
    prepared: Prepared, spoilt: Spoilt, other: Score, level: float
) -> Mapping[str, Any] | None:
    """What a table says of a cell: each entry is a list, with a number for each row it counts.

    Args:
        prepared: The detector.
        spoilt: The rows.
        other: Another detector, that looks at repaired rows as well.
        level: A score of it that 99 % of the normal rows do not exceed.
    """
    score, domain, rows = prepared.score, prepared.domain, prepared.background
    alarm = alarm_of(score)
    raises = (evaluate(score, spoilt.X) > alarm) & (evaluate(score, spoilt.truth) <= alarm)
    if not raises.any():
        return None
    X, truth, guilty = spoilt.X[raises], spoilt.truth[raises], spoilt.guilty[raises]
    explain = Explainer(prepared)
    attribution = explain(X)
    begin = time.process_time()
    repair = attribution.repair
    took = (time.process_time() - begin) / len(X)
    few = X[:TIMED]
    begin = time.process_time()
    Explainer(prepared, method="KSH")(few)
    shapley = (time.process_time() - begin) / len(few)

    members = domain.membership
    can = brute_force(score, X, rows, members) <= alarm  # n x p
    single = can.any(axis=1)
    alone = repair.changed.sum(axis=1) == 1
    of_guilty = np.any(repair.changed & guilty, axis=1)
    only = single & (can & guilty).any(axis=1)
    values: dict[str, list[float]] = {name: [] for name in VALUES}
    bond = predicted(rows)
    middle = np.median(rows, axis=0)
    for i in np.flatnonzero(repair.silenced):
        for player in np.flatnonzero(repair.changed[i] & guilty[i]):
            columns = members[player]
            if columns.sum() > 1:
                values["category"].append(bool((repair.rows[i] == truth[i])[columns].all()))
                continue
            j = int(np.flatnonzero(columns)[0])
            off, by_median = (
                abs(value - truth[i, j]) / domain.scale[j]
                for value in (repair.rows[i, j], middle[j])
            )
            nearer = off < by_median or off == by_median == 0
            values["near"].append(nearer)
            if bond[j] >= CORRELATED:
                values["near, correlated"].append(nearer)
                values["error"].append(off)
                values["median"].append(by_median)
            if guilty[i].sum() == 1:
                values["range"].append(repair.lower[i, j] <= truth[i, j] <= repair.upper[i, j])
    again, before, after = (
        evaluate(score, repair.rows),
        evaluate(other, X),
        evaluate(other, repair.rows),
    )
    return {
        "rows": [1.0] * len(X),
        "silenced": repair.silenced[single].tolist(),
        "one feature": alone[single].tolist(),
        "planted": of_guilty[only].tolist(),
        **values,
        "valid": valid(repair, rows).tolist(),
        "true score": (
            np.isclose(again, repair.scores, rtol=1e-9) & np.equal(again <= alarm, repair.silenced)
        ).tolist(),
        "quiet inside": quiet_inside(repair, score).tolist(),
        "second look better": (after <= before).tolist(),
        "second look normal": (after <= level).tolist(),
        "evaluations": repair.evaluations.tolist(),
        "ms": [1e3 * took],
        "ms of KSH": [1e3 * shapley],
    }


def alarm_of(score: Score) -> float:
    """The score above which it raises an alarm."""
    assert score.threshold is not None  # noqa: S101 - `with_alarm` gave it one
    return score.threshold


def valid(repair: Repair, rows: Matrix) -> Any:
    """Whether repaired values could be written, and the others are as they were: (n,)."""
    domain = repair.domain
    columns = repair.changed @ domain.membership
    inside = (repair.rows >= rows.min(axis=0)) & (repair.rows <= rows.max(axis=0))
    whole = (rows == rows.round()).all(axis=0)
    kind = np.where(whole, repair.rows == repair.rows.round(), True)
    ok = np.where(columns, inside & kind, repair.rows == repair.data).all(axis=1)
    for player in np.flatnonzero(domain.membership.sum(axis=1) > 1):
        own = domain.membership[player]
        known = {tuple(each) for each in rows[:, own].tolist()}
        some = repair.changed[:, player]
        now = repair.rows[some][:, own].tolist()
        ok[some] &= np.array([tuple(each) in known for each in now], dtype=np.bool_)
    return ok


def quiet_inside(repair: Repair, score: Score) -> Any:
    """Whether values in the ranges raise no alarm, the rest held: one entry a range."""
    i, j = np.nonzero(np.isfinite(repair.lower))
    if not len(i):
        return np.zeros(0, dtype=np.bool_)
    share = np.linspace(0, 1, INSIDE)
    low, high = repair.lower[i, j][:, None], repair.upper[i, j][:, None]
    points = np.repeat(repair.rows[i][:, None], INSIDE, axis=1)
    points[np.arange(len(i))[:, None], np.arange(INSIDE), j[:, None]] = low + share * (high - low)
    shape = points.shape
    here = np.repeat(repair.rows[i][:, None], INSIDE, axis=1)
    moved = np.arange(len(i))[:, None], np.arange(INSIDE), j[:, None]
    points[moved] = repair.domain.admit(points, here)[moved]
    scores = evaluate(score, points.reshape(-1, shape[2])).reshape(shape[:2])
    return (scores <= repair.alarm).all(axis=1)
