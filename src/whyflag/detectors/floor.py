"""The floor under the variances of mixtures."""

from __future__ import annotations

TOTAL = 1.0  # shared by the columns: what a move costs is a sum over them
MOST = 0.1  # for one column: with more, mixtures of few columns no longer see a broken bond


def variance_floor(n_columns: int) -> float:
    """What is added to the variance of each standardised column: 1/d, at most 0.1.

    Chosen on validation rows; docs/design/nearness.md says what it brings and what it costs.

    >>> [variance_floor(d) for d in (1, 10, 20, 50)]
    [0.1, 0.1, 0.05, 0.02]
    """
    return min(MOST, TOTAL / n_columns)
