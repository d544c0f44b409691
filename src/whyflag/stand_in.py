"""What stands in for cells that numbers can not say: what the rest of the row leads one to expect.

A typical value can be odd beside the rest of its row (the usual amount, in a row of wages), and
then the rest would be blamed for it.
"""

from __future__ import annotations

import numpy as np

from whyflag.arrays import BoolMatrix, Matrix
from whyflag.domain import Domain
from whyflag.prediction import Prediction


def stand_in(X: Matrix, unknown: BoolMatrix, rows: Matrix, domain: Domain) -> Matrix:
    """Rows with expected values where nothing is known: (n, d), bool (n, d), (m, d) -> (n, d).

    They are values that the columns can hold; of a category, one of its choices.
    """
    if not unknown.any():
        return X
    filled = Prediction.of(rows, domain.scale).filled(X, unknown)
    found = domain.admit(filled, X)
    for name, columns in zip(domain.player_names, domain.membership, strict=True):
        some = np.flatnonzero(unknown[:, columns].any(axis=1))
        if name in domain.categories and len(some):
            own = np.flatnonzero(columns)
            found[np.ix_(some, own)] = np.eye(len(own))[filled[np.ix_(some, own)].argmax(axis=1)]
    return np.where(unknown, found, X)
