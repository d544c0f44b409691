"""Doubt about which feature comes first: none stands out, or several are as large."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, Matrix

if TYPE_CHECKING:
    from whyflag.attribution.base import Attribution

MANY = 0.4  # of the features: where more share the score, none stands out
ERRORS = 2.0  # standard errors of a difference: below, two attributions are as large
NAMED = 3  # features that are named, at most


def doubts(attribution: Attribution) -> list[str]:
    """What is to be told of each row about its first feature, n; "" where nothing is."""
    told = doubts_of(
        attribution.shares,
        attribution.values,
        attribution.standard_errors,
        attribution.feature_names,
    )
    # Nobody asks who is first where there is no alarm, or where nothing is explained.
    asked = ~attribution.still_alarming
    if attribution.threshold is not None:
        asked &= attribution.flagged
    return [text if asks else "" for text, asks in zip(told, asked, strict=True)]


def doubts_of(
    shares: Matrix, values: Matrix, errors: Matrix | None, names: Sequence[str]
) -> list[str]:
    """The same, whether a row is flagged or not.

    Args:
        shares: Shares, (n, p).
        values: Attributions, (n, p).
        errors: Their standard errors, (n, p); None if there are none.
        names: Names of the features, p.
    """
    even, same = is_even(shares), tied(values, errors)
    known = np.isfinite(values).all(axis=1) & (len(names) > 1)
    said = [""] * len(values)
    for i in np.flatnonzero(known & (even | (same.sum(axis=1) > 1))):
        order = np.argsort(-values[i], kind="stable")
        ranked = [names[j] for j in order if same[i, j]]
        said[i] = _even(shares[i, order[0]], ranked[0]) if even[i] else _tied(ranked, errors)
    return said


def is_even(shares: Matrix) -> BoolVector:
    """Whether no share of a row stands out: (n, p) -> (n,).

    1 / Σ s² is the number of equal shares that would be as even as these. No feature stands out if
    it is above two, and above two fifths of all, and no share is above one half.
    """
    total = (shares**2).sum(axis=1)
    number = np.divide(1.0, total, out=np.full(len(total), np.inf), where=total > 0)
    return (number > max(2.0, MANY * shares.shape[1])) & (shares.max(axis=1) <= 0.5)


def tied(values: Matrix, errors: Matrix | None) -> BoolMatrix:
    """Which features cannot be told from the first of their row, itself among them: (n, p)."""
    rows, first = np.arange(len(values)), values.argmax(axis=1)
    behind = values[rows, first, None] - values  # n x p
    rounding = 1e-12 * np.abs(values).max(axis=1, keepdims=True)
    if errors is None:
        return behind <= rounding
    error = np.hypot(errors, errors[rows, first, None])
    return behind <= np.maximum(ERRORS * error, rounding)


def _even(share: float, first: str) -> str:
    if share == 0:
        return "No feature stands out: no attribution is positive."
    return f"No feature stands out: the largest share, that of {first}, is {100 * share:.0f} %."


def _tied(ranked: list[str], errors: Matrix | None) -> str:
    if len(ranked) > NAMED:
        ranked = [*ranked[: NAMED - 1], f"{len(ranked) - NAMED + 1} others"]
    how = "are equal" if errors is None else "differ by less than twice the standard error"
    return (
        f"{', '.join(ranked[:-1])} and {ranked[-1]} cannot be told apart: their attributions {how}."
    )
