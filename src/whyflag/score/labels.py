"""Is a score no more than labels? A question of the audit, for functions of any kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from whyflag.arrays import Matrix, Vector
from whyflag.score.audit import Question

if TYPE_CHECKING:
    from whyflag.score.base import Score

ENOUGH = 20  # rows that tell labels from a score
INSTEAD = (
    "A score must be a number for each row that says how anomalous it is, high = anomalous. Pass "
    "what the labels are made of: the detector itself, its `decision_function`, or a probability."
)


def refuse_texts(given: Any, name: str) -> None:
    """Refuse answers that are texts."""
    if given.dtype.kind in "US" or (
        given.dtype.kind == "O" and any(isinstance(each, str | bytes) for each in given.ravel())
    ):
        raise TypeError(f"{name} returns texts, such as {given.ravel()[0]!r}. {INSTEAD}")


@final
class Labels(Question):
    """Are the first rows' answers only -1 and 1, as scikit-learn's labels are?

    0 and 1 may be a score: the number of rules that a row breaks, say.
    """

    def __init__(self) -> None:
        self._seen: set[float] = set()
        self._rows = 0

    def ask(self, score: Score, X: Matrix, values: Vector) -> bool:
        if not np.isin(values, (-1.0, 1.0)).all():
            return True
        self._seen |= set(values.tolist())
        self._rows += len(values)
        if self._rows >= ENOUGH and len(self._seen) == 2:
            raise ValueError(f"{score.name} returns labels, only -1 and 1. {INSTEAD}")
        return False
