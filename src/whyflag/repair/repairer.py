"""From flagged rows to repaired ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, final

import numpy as np

from whyflag.arrays import BoolMatrix, Matrix, Vector
from whyflag.domain import Domain
from whyflag.records import join_rows, select_rows
from whyflag.repair.as_they_came import repair_as_they_came
from whyflag.repair.foreign import repair_foreign
from whyflag.repair.known import Known
from whyflag.repair.numbers import repair_numbers
from whyflag.repair.record import Repair
from whyflag.score import Score
from whyflag.table.codec import Codec
from whyflag.table.originals import Originals


@final
@dataclass(frozen=True)
class Repairer:
    """Finds for flagged rows the smallest change that ends the alarm.

    Attributes:
        score: The anomaly score, with its threshold.
        domain: Kinds, bounds and features.
        rows: Normal rows, (n, d); None: the typical rows of the domain stand for them.
        codecs: How values are written, by feature, where that is not as plain numbers.
    """

    score: Score
    domain: Domain
    rows: Matrix | None
    codecs: Mapping[str, Codec] = field(default_factory=dict)

    @cached_property
    def _known(self) -> Known:
        return Known(self.score, self.domain, self.rows)

    def __call__(
        self,
        X: Matrix,
        scores: Vector,
        shares: Matrix,
        row_names: Sequence[Any],
        added: Matrix | None = None,
        unknown: BoolMatrix | None = None,
        originals: Originals | None = None,
    ) -> Repair:
        """Repair rows (n, d) with these scores and shares of their features, (n, p).

        `added` is what cells that no normal row has add to the scores, (n, p). In the rows other
        values stand for them. Where these are no more than typical ones, in the features `unknown`,
        bool (n, p), their repair is what the rest of the row leads one to expect. Where the
        detector takes such cells as they came, `originals`, it is asked.
        """
        if added is None:
            found = repair_numbers(self._known, X, scores, shares)
        elif originals is None or not originals.some.any():
            found = repair_foreign(self._known, X, scores, shares, added, unknown)
        else:
            asked, others = np.flatnonzero(originals.some), np.flatnonzero(~originals.some)
            parts = [
                repair_as_they_came(
                    self._known,
                    X[asked],
                    scores[asked],
                    shares[asked],
                    added[asked],
                    select_rows(originals, asked),
                ),
                repair_foreign(
                    self._known,
                    X[others],
                    scores[others],
                    shares[others],
                    added[others],
                    None if unknown is None else unknown[others],
                ),
            ]
            found = select_rows(join_rows(parts), np.argsort(np.concatenate([asked, others])))
        return replace(found, row_names=tuple(row_names), codecs=self.codecs)
