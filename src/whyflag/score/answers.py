"""Answers of a score: what they must be, and when two of them are the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from whyflag.arrays import Matrix, Vector

PRECISION = float(np.finfo(np.float64).eps)
# Two answers for one row may differ by rounding (a matrix product of another shape, float32
# inside), never by more than this part of the score.
SAME_ANSWER = 1e-5


def check_answer(values: Any, X: Matrix, name: str) -> None:
    """Refuse what is not one number for each row."""
    if values.shape != (len(X),):
        flat = " Flatten it: score(X).ravel()." if values.shape == (len(X), 1) else ""
        raise ValueError(
            f"The score must map rows {X.shape} to shape ({len(X)},), got {values.shape} "
            f"from {name}.{flat}"
        )


def check_finite(values: Vector, X: Matrix) -> None:
    """Refuse scores that are no numbers."""
    finite = np.isfinite(values)
    if not finite.all():
        row = int(np.argmin(finite))
        raise ValueError(
            f"The score must be finite, got {values[row]} at row {row}, whose values are "
            f"{np.array2string(X[row], threshold=8, edgeitems=4)}. If no row can have such "
            "values, say so with the bounds of the `Domain`; if this is how the detector calls a "
            "row impossible, let it end somewhere: "
            "as_score(lambda X: np.minimum(score(X), highest))."
        )


def refuse_other_answers(
    one: Vector,
    other: Vector,
    rows: Matrix,
    complaint: str,
    *,
    typical: float = 0.0,
    precision: float = PRECISION,
) -> None:
    """Refuse a score whose two answers for the same rows differ by more than rounding."""
    differs = ~(np.abs(one - other) <= rounding(one, other, rows, typical, precision))
    if differs.any():
        row = int(np.argmax(differs))
        raise ValueError(
            f"A score must be a fixed function of each row by itself. This one {complaint} "
            f"{one[row]:.6g} and {other[row]:.6g}. Freeze its random state, or score each row "
            "against the training data only."
        )


def rounding(
    one: Vector, other: Vector, rows: Matrix, typical: float = 0.0, precision: float = PRECISION
) -> Vector:
    """How far two answers may be apart: (n,)."""
    size = np.maximum(np.abs(one), np.abs(other))
    # Some row of a batch may happen to score 0, where all digits are rounding; and where all do,
    # they are what rounding of the rows themselves leaves.
    typical = max(typical, lower_median(size))
    part = min(max(SAME_ANSWER, 1000 * precision), 0.1)
    allowed = part * np.maximum(size, typical)
    return np.asarray(allowed + 8 * PRECISION * np.abs(rows).max(axis=1))


def lower_median(values: Vector) -> float:
    """The value that half of the others are not below; of two, the lower one."""
    return float(np.sort(values)[(len(values) - 1) // 2])
