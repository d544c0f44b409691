"""Groups of rows that are anomalous for the same reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

from whyflag.arrays import BoolVector, IntVector
from whyflag.attribution import Attribution

IN_COMMON = 0.5  # of their shares, on average between the rows of a group
NAMED_FROM = 0.2  # share from which a feature gives a group its name


@final
@dataclass(frozen=True)
class Group:
    """Rows with similar shares."""

    rows: tuple[int, ...]
    features: tuple[int, ...]  # with the largest shares, from the largest down


def groups_of(attribution: Attribution, among: BoolVector | None = None) -> list[Group]:
    """Groups of rows that have half of their shares in common, the largest first.

    A gap in a column and a value of it are two reasons. A row that is like no other is a group of
    its own.

    Args:
        attribution: The rows.
        among: Those that are grouped, (n,); all if it is not given.
    """
    chosen = np.arange(len(attribution)) if among is None else np.flatnonzero(among)
    if not len(chosen):
        return []
    shares = attribution.shares[chosen]
    reasons = shares
    if attribution.states is not None:
        states = attribution.states[chosen]
        reasons = np.hstack([shares * (states == state) for state in np.unique(states)])
    found: IntVector = np.zeros(len(shares), dtype=np.int64)
    if len(shares) > 1:
        # Two rows that have a part c of their shares in common are 2 (1 − c) apart.
        tree = linkage(reasons, method="average", metric="cityblock")
        found = fcluster(tree, 2 * (1 - IN_COMMON), criterion="distance").astype(np.int64)
    groups = []
    for label in np.unique(found):
        rows = np.flatnonzero(found == label)
        mean = shares[rows].mean(axis=0)
        order = np.argsort(-mean, kind="stable")[:3]
        named = [int(j) for j in order if mean[j] >= NAMED_FROM] or [int(order[0])]
        groups.append(Group(tuple(int(i) for i in chosen[rows]), tuple(named)))
    return sorted(groups, key=lambda group: (-len(group.rows), group.rows))
