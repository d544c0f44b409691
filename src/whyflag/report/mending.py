"""Repairs: the score of a row with its culprits repaired, computed anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from whyflag.arrays import IntVector, Matrix, Tensor
from whyflag.attribution import Attribution
from whyflag.explainer import Explainer
from whyflag.minimise import GAMMA, minimise

MOST_MENDED = 5


@final
@dataclass(frozen=True)
class Mended:
    """Rows with their first 1, 2, ... k culprits repaired: as normal as the rest allows."""

    features: IntVector  # n x k: the culprits, from the largest attribution down
    points: Tensor  # n x k x d
    scores: Matrix  # n x k; NaN where a row has fewer positive attributions


def mend(attribution: Attribution, explain: Explainer) -> Mended:
    """Move only the culprits of each row to where its score is lowest, and score it anew.

    Normal values of a whole row (`Attribution.reference`) belong together. They need not go with
    the rest of the row as it is: setting one of two correlated columns can break their correlation
    and raise the score. So the culprits are moved while all other values stay.
    """
    n, p = attribution.values.shape
    k = min(MOST_MENDED, p)
    features = attribution.order[:, :k]
    # The first features of each row, for each number of them: who may move.
    chosen = np.zeros((n, k, p), dtype=np.bool_)
    for last in range(k):
        chosen[np.arange(n)[:, None], last, features[:, : last + 1]] = True
    free = (chosen @ attribution.membership).reshape(n * k, -1)
    rows = np.repeat(attribution.data, k, axis=0)
    found = minimise(explain.score, rows, ~free, explain.domain, gamma=GAMMA)
    scores = explain.score(found.point).reshape(n, k)
    blamed = np.take_along_axis(attribution.values, features, axis=1) > 0
    points = found.point.reshape(n, k, -1)
    return Mended(features, points, np.where(blamed, scores, np.nan))
