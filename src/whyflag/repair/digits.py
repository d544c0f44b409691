"""Numbers in as few digits as people would write, of columns that can hold any number."""

from __future__ import annotations

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix, Vector
from whyflag.domain import Domain
from whyflag.repair.known import Known
from whyflag.repair.trials import Trials

TOLD_APART = 2  # digits of a scale: a hundredth of it, or a little less
MORE = 3  # digits at most that are added, where a column is tied more closely to others
KEPT = 0.9  # of a range, at least, is left when its ends are rounded


def free(domain: Domain) -> BoolVector:
    """Columns that can hold any number: nothing says how many digits theirs have, (d,)."""
    listed = np.array([known is not None for known in domain.kinds.given], dtype=np.bool_)
    return np.asarray((domain.kinds.step == 0) & ~listed & ~domain.binary)


def in_few_digits(
    rows: Matrix,
    scores: Vector,
    moved: BoolMatrix,
    X: Matrix,
    owner: IntVector,
    known: Known,
    trials: Trials,
) -> tuple[Matrix, Vector]:
    """Repaired rows with their moved numbers rounded as far as no alarm comes of it: b x d, b.

    Args:
        rows: Repaired rows, (b, d).
        scores: Their scores, (b,).
        moved: The columns that are repaired, (b, d).
        X: The rows as they were, (b, d).
        owner: For which row each is tried, (b,).
        known: The alarm, and the bounds.
        trials: Scores rows.
    """
    rows, scores = rows.copy(), scores.copy()
    moved = moved & free(known.domain)
    left = np.flatnonzero(moved.any(axis=1) & (scores <= known.alarm))
    for more in range(MORE + 1):
        digits = _decimals(known.domain.scale) + more
        now, before, its = rows[left], X[left], moved[left]
        tried = np.where(
            its, known.inside.admit(np.where(its, _rounded(now, digits), now), before), now
        )
        found = trials.of(tried, owner[left])
        # What is as it was again is no repair.
        good = (found <= known.alarm) & ((tried != before) | ~its).all(axis=1)
        rows[left[good]], scores[left[good]] = tried[good], found[good]
        left = left[~good]
    return rows, scores


def ends_in_few_digits(
    lower: Matrix, rows: Matrix, upper: Matrix, domain: Domain
) -> tuple[Matrix, Matrix]:
    """The ends of ranges around repaired numbers, rounded inwards: n x d, n x d."""
    lower, upper = lower.copy(), upper.copy()
    left = free(domain) & (lower < upper)  # n x d
    for more in range(MORE + 1):
        digits = np.broadcast_to(_decimals(domain.scale) + more, rows.shape)
        low, high = -_floor(-lower, digits), _floor(upper, digits)
        holds = (low <= rows) & (rows <= high) & (high - low >= KEPT * (upper - lower))
        good = left & holds
        lower, upper = np.where(good, low, lower), np.where(good, high, upper)
        left &= ~good
    return lower, upper


def most_decimals(scale: float) -> int:
    """How many decimals a repaired number of such a column has at most."""
    return int(_decimals(np.array([scale]))[0]) + MORE


def _decimals(scale: Vector) -> IntVector:
    """How many decimals tell a hundredth of a scale apart; below zero: tens, hundreds …."""
    return np.asarray(TOLD_APART - np.floor(np.log10(scale)), dtype=np.int64)


def _rounded(values: Matrix, decimals: IntVector | Matrix) -> Matrix:
    """Values rounded to as many decimals as each is to have."""
    up, down = 10.0 ** np.maximum(decimals, 0), 10.0 ** np.maximum(-decimals, 0)
    rounded = np.round(values / down * up) / up * down
    # Zero has no sign; and where there are too many decimals to count nothing is rounded.
    return np.where(np.isfinite(rounded), rounded, values) + 0.0


def _floor(values: Matrix, decimals: IntVector | Matrix) -> Matrix:
    """The largest values of so many decimals that are not above these."""
    rounded = _rounded(values, decimals)
    above = rounded > values
    return np.where(
        above, _rounded(rounded - 10.0 ** -decimals.astype(np.float64), decimals), rounded
    )
