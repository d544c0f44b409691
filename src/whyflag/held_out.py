"""Scores of normal rows that a detector has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from whyflag.adapters import as_score
from whyflag.adapters.raw import Asked, Uses
from whyflag.arrays import IntVector, Vector
from whyflag.batches import CALL, batch_size
from whyflag.calibration import Calibration
from whyflag.checks import check_number, check_whole
from whyflag.intake import comes_raw
from whyflag.progress import steps
from whyflag.score import evaluate
from whyflag.score.answers import check_answer
from whyflag.table import read_table
from whyflag.table.holders import in_hand, take

FEW, MANY = 1000, 5000  # rows: with fewer each is held out in turn, and more folds are made
MOST = 10_000  # rows that are held out where there are many


def calibrate(
    detector: Any, X: Any, rate: float = 0.01, *, held_out: Any = None, seed: int = 0
) -> Calibration:
    """An alarm that is true of rows that the detector has not seen.

    Copies of the detector are fitted without some of the rows, and score these: ten times a tenth
    of fewer than 1,000 rows, five times a fifth of fewer than 5,000, and one fifth of more. Their
    scores are moved as the copy's scores of the rows that it was fitted to differ from the
    detector's, quantile by quantile.

    Args:
        detector: A fitted estimator of scikit-learn, PyOD or whyflag.
        X: The normal rows that it was fitted to, (n, d): an array or a DataFrame.
        rate: The part of normal rows that may raise an alarm.
        held_out: Normal rows that the detector has not seen, if there are some, (m, d). Then no
            copies are fitted, and any detector will do.
        seed: How rows are divided follows from it.

    >>> from whyflag.detectors import GMM
    >>> rows = np.random.default_rng(0).normal(size=(300, 3))
    >>> normal = calibrate(GMM().fit(rows), rows)
    >>> f"{normal.promised:.4f} by {normal.n} rows"
    '0.0100 by 300 rows'
    """
    check_number("rate", rate, above=0, at_most=0.5)
    if held_out is not None:
        return Calibration.of(_scores_of(detector, held_out, "held_out"), rate)
    X = in_hand(X)
    # What can not be scored is refused before anything is fitted.
    n = len(_scores_of(detector, X))
    if n < 2:
        raise ValueError(
            "`X` must have at least two rows, of which some are held out, got one: give rows that "
            "the detector has not seen as `held_out`."
        )
    parts = [Part(take(X, seen), take(X, seen), take(X, held)) for seen, held in folds_of(n, seed)]
    return Calibration.of(held_out_scores(detector, parts), rate)


def folds_of(n: int, seed: int) -> list[tuple[IntVector, IntVector]]:
    """Positions of rows to fit to, and of those that are held out, for each copy."""
    check_whole("seed", seed, at_least=0)
    order = np.random.default_rng(seed).permutation(n)
    if n >= MANY:
        held = min(n // 5, MOST)
        return [(np.sort(order[held:]), np.sort(order[:held]))]
    k = min(10 if n < FEW else 5, n)
    return [
        (np.sort(np.concatenate([*parts[:i], *parts[i + 1 :]])), np.sort(parts[i]))
        for parts in [np.array_split(order, k)]
        for i in range(k)
    ]


@final
@dataclass(frozen=True)
class Part:
    """Rows that a copy of a detector is fitted to, and rows that it has not seen.

    Attributes:
        known: The rows for the copy, as the detector knows them, (n, d).
        seen: The same as the copy gets them: what is learnt of columns may be learnt anew.
        held: The others, (m, d).
    """

    known: Any
    seen: Any
    held: Any


def held_out_scores(detector: Any, parts: Sequence[Part]) -> Vector:
    """Scores of the rows that are held out, one part after another.

    Args:
        detector: A fitted estimator of scikit-learn, PyOD or whyflag. It stays as it is.
        parts: Which rows are held out, and from which others.
    """
    from sklearn.base import clone

    if not (hasattr(detector, "fit") and hasattr(detector, "get_params")):
        raise TypeError(
            "An alarm is calibrated with a detector that can be fitted anew, such as an estimator "
            f"of scikit-learn, PyOD or whyflag, got {type(detector).__name__}: give rows that it "
            "has not seen as `held_out`."
        )
    found = []
    for part in steps(parts, "calibrating", "fit"):
        # What a detector has chosen among candidates stays: another choice is another scale.
        other = detector.settled() if hasattr(detector, "settled") else clone(detector)
        other.fit(part.seen)
        of_seen, of_held = _scores_of(other, part.seen), _scores_of(other, part.held)
        now = _scores_of(detector, part.known)
        found.append(_moved(of_held, of_seen, now))
    return np.concatenate(found)


def _scores_of(detector: Any, X: Any, name: str = "X") -> Vector:
    """What a detector says of rows as they come, high = anomalous, each a finite number."""
    X, score = in_hand(X, name), as_score(detector)
    if comes_raw(detector, X, Uses.of(detector).of_rows(X)):
        found = Asked.of(detector, score)(X)
        check_answer(found, X, score.name)
        if not np.isfinite(found).all():
            row = int(np.argmin(np.isfinite(found)))
            raise ValueError(f"The score must be finite, got {found[row]} at row {row}.")
        return found
    rows = read_table(X, name=name).values
    if score.n_features not in (None, rows.shape[1]):
        raise ValueError(f"`{name}` must have shape (n, {score.n_features}), got {rows.shape}.")
    return evaluate(score, rows, batch_size(rows.shape[1], CALL))


def _moved(scores: Vector, before: Vector, now: Vector) -> Vector:
    """Scores as they would be, by the quantiles of what the same rows had and have.

    What is beyond all of these stays as far beyond: copies count in one unit. The spread of rows
    that were fitted to says nothing of others where there are nearly as many columns as rows.
    """
    before, now = np.sort(before), np.sort(now)
    beyond = scores - np.clip(scores, before[0], before[-1])
    return np.interp(scores, before, now) + beyond
