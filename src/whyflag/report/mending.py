"""What if: the score of a row with its culprits mended, computed anew."""

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
    """Rows with their first 1, 2, ... k culprits mended, as the rest of the row would have them."""

    features: IntVector  # n x k: the culprits, from the most to blame
    points: Tensor  # n x k x d
    scores: Matrix  # n x k; NaN where a row has fewer features that are to blame


def mend(attribution: Attribution, explain: Explainer) -> Mended:
    """Move only the culprits of each row to where its score is lowest, and score it anew.

    What would have been normal for a whole row (`Attribution.reference`) need not go with the rest
    of the row as it is: with columns that belong together, setting one of them can break a bond
    and raise the score. So the culprits are moved with all else held.
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
