"""How well attributions find known culprits.

Features are ranked by their attributions, largest first. Ties count as what a random order of the
tied features gives on average, so that an attribution that says nothing scores like chance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from whyflag.arrays import BoolMatrix, Matrix, Vector, check_rows
from whyflag.attribution import Attribution
from whyflag.batches import batches
from whyflag.checks import check_whole

N_RESAMPLES = 2000


@final
@dataclass(frozen=True)
class Measure:
    """An average over rows, with a bootstrap interval.

    Attributes:
        value: The average.
        low: Lower end of the interval (95 %, rows drawn anew 2000 times).
        high: Upper end.
        rows: What is averaged, (n,).
    """

    value: float
    low: float
    high: float
    rows: Vector

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f}, {len(self.rows)} rows)"


def mean_reciprocal_rank(
    attribution: Attribution | ArrayLike, culprits: Any, *, seed: int = 0
) -> Measure:
    """Average of 1 / rank of the culprit; of the one that comes first, if a row has several.

    Args:
        attribution: Attributions, or their values, (n, p).
        culprits: For each row its culprit (a position, or a name in `feature_names`) or a list of
            them; or bool (n, p).
        seed: Seed of the bootstrap.

    >>> mean_reciprocal_rank([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2]], [1, 1])
    0.750 (0.500 to 1.000, 2 rows)
    """
    return _measure(_reciprocal_ranks, attribution, culprits, seed)


def hits_at_k(
    attribution: Attribution | ArrayLike, culprits: Any, k: int = 3, *, seed: int = 0
) -> Measure:
    """Average share of a row's culprits that are among the k largest attributions.

    Arguments as those of `mean_reciprocal_rank`.

    >>> hits_at_k([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2]], [1, 2], k=2)
    0.500 (0.000 to 1.000, 2 rows)
    """
    check_whole("k", k, at_least=1)

    def shares(values: Matrix, guilty: BoolMatrix) -> Vector:
        above = rankdata(-values, method="min", axis=1) - 1  # n x p: how many are larger
        tied = rankdata(-values, method="max", axis=1) - above
        chance = ((k - above) / tied).clip(0, 1)
        return np.asarray((chance * guilty).sum(axis=1) / guilty.sum(axis=1))

    return _measure(shares, attribution, culprits, seed)


def auroc(attribution: Attribution | ArrayLike, culprits: Any, *, seed: int = 0) -> Measure:
    """Average chance that a culprit has a larger attribution than another feature of its row.

    Arguments as those of `mean_reciprocal_rank`. Every row needs a feature that is no culprit.

    >>> auroc([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2]], [[1, 2], [1]])
    0.750 (0.500 to 1.000, 2 rows)
    """
    return _measure(_areas, attribution, culprits, seed)


def _measure(
    of_rows: Callable[[Matrix, BoolMatrix], Vector],
    attribution: Attribution | ArrayLike,
    culprits: Any,
    seed: int,
) -> Measure:
    check_whole("seed", seed, at_least=0)
    if isinstance(attribution, Attribution):
        values, names = attribution.values, attribution.feature_names
    else:
        values, names = check_rows(attribution, name="attribution"), ()
    rows = of_rows(values, _guilty(culprits, values.shape, names))
    low, high = _bootstrap(rows, seed)
    return Measure(float(rows.mean()), low, high, rows)


def _guilty(culprits: Any, shape: tuple[int, ...], names: Sequence[str]) -> BoolMatrix:
    """Which features are culprits, bool (n, p), from any way to say it."""
    n, p = shape
    given = np.asarray(culprits) if isinstance(culprits, np.ndarray) else None
    if given is not None and given.dtype == np.bool_ and given.shape == (n, p):
        guilty = given
    else:
        if len(culprits) != n:
            raise ValueError(f"`culprits` must name those of {n} rows, got {len(culprits)}.")
        guilty = np.zeros((n, p), dtype=np.bool_)
        for i, row in enumerate(culprits):
            several = isinstance(row, (Sequence, np.ndarray)) and not isinstance(row, str)
            for culprit in row if several else [row]:
                guilty[i, _position(culprit, p, names)] = True
    if not guilty.any(axis=1).all():
        raise ValueError(
            f"Every row needs a culprit, row {int(np.argmin(guilty.any(axis=1)))} has none."
        )
    return guilty


def _position(culprit: Any, p: int, names: Sequence[str]) -> int:
    if isinstance(culprit, str) and culprit in names:
        return names.index(culprit)
    whole = isinstance(culprit, (int, np.integer)) and not isinstance(culprit, bool)
    if whole and 0 <= culprit < p:
        return int(culprit)
    known = f", or names such as {names[0]!r}" if names else ""
    raise ValueError(f"Culprits must be positions from 0 to {p - 1}{known}, got {culprit!r}.")


def _reciprocal_ranks(values: Matrix, guilty: BoolMatrix) -> Vector:
    first = np.where(guilty, values, -np.inf).max(axis=1, keepdims=True)  # n x 1
    above = (values > first).sum(axis=1)
    tied = (values == first).sum(axis=1)
    culprits = ((values == first) & guilty).sum(axis=1)
    # In a random order of the tied features, the chance that the first culprit among them is
    # the j-th is the chance that it is not earlier, times that of drawing a culprit then.
    expected, not_yet = np.zeros(len(values)), np.ones(len(values))
    for j in range(int(tied.max())):
        left = np.maximum(tied - j, 1)
        drawn = np.minimum(culprits / left, 1.0)
        expected += not_yet * drawn / (above + j + 1)
        not_yet *= 1 - drawn
    return expected


def _areas(values: Matrix, guilty: BoolMatrix) -> Vector:
    n_guilty = guilty.sum(axis=1)
    others = guilty.shape[1] - n_guilty
    if not others.all():
        raise ValueError(
            "AUROC needs a feature that is no culprit in every row, row "
            f"{int(np.argmin(others))} has none."
        )
    ranks = (rankdata(values, axis=1) * guilty).sum(axis=1)  # average ranks where tied
    return np.asarray((ranks - n_guilty * (n_guilty + 1) / 2) / (n_guilty * others))


def _bootstrap(rows: Vector, seed: int) -> tuple[float, float]:
    rng = np.random.default_rng(seed)
    means = [
        rows[rng.integers(len(rows), size=(some.stop - some.start, len(rows)))].mean(axis=1)
        for some in batches(N_RESAMPLES, len(rows))
    ]
    low, high = np.percentile(np.concatenate(means), [2.5, 97.5])
    return float(low), float(high)
