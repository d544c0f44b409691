"""One row, as the page shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from whyflag.arrays import IntMatrix, IntVector, Matrix
from whyflag.attribution import Attribution
from whyflag.attribution.display import (
    categories_of,
    is_redacted,
    normal,
    normal_span,
    number,
    observed,
    state_of,
)
from whyflag.report.normal import Normal
from whyflag.report.rules import STATES
from whyflag.report.words import lies, percent
from whyflag.table.codec import REDACTED, State
from whyflag.table.raw_numbers import RawNumbers

MOST_FEATURES = 8  # of a row, one by one
FEWEST_FEATURES = 5  # where there are many rows
MOST_LINES = 1600  # of features on a page
MOST_CELLS = 15_000  # of whole rows on a page
FEWEST_CELLS = 30  # of each row
SMALL = 0.01  # share below which a feature is one of the others
PART = 0.05  # share from which a feature has a part in what is odd

Cells = Sequence[Mapping[str, str]]


@final
@dataclass(frozen=True)
class Rows:
    """Says what the page shows of each row.

    Attributes:
        attribution: The rows.
        known: What is known of normal rows.
    """

    attribution: Attribution
    known: Normal

    @cached_property
    def shares(self) -> Matrix:
        """The shares of all rows, (n, p)."""
        return self.attribution.shares

    @cached_property
    def order(self) -> IntMatrix:
        """The features of all rows, from the largest attribution down, (n, p)."""
        return self.attribution.order

    def row(self, i: int) -> dict[str, Any]:
        """What is shown of a row, without words on it and whole cells."""
        attribution, known = self.attribution, self.known
        shares, values = self.shares[i], self.attribution.values[i]
        total = values[values > 0].sum()
        chosen = self._largest(i)
        alarm, score = attribution.threshold, float(attribution.scores[i])
        return {
            "name": str(attribution.row_names[i]) or "without a name",
            "score": score,
            "shown_score": number(score),
            "stands": known.stands(score),
            "flagged": None if alarm is None else bool(attribution.flagged[i]),
            "near": known.is_near(score, alarm),
            "features": [self._feature(i, int(j), float(total)) for j in chosen],
            "n_others": len(shares) - len(chosen),
            "rest": float(max(0.0, shares.sum() - shares[chosen].sum())),
            "pair": self._pair(i),
        }

    def _largest(self, i: int) -> IntVector:
        """The features that are shown one by one."""
        attribution = self.attribution
        values, shares = np.abs(self.attribution.values[i]), self.shares[i]
        told = shares >= SMALL
        if attribution.can_be_repaired:
            told |= attribution.repair.told[1][i]
        if attribution.states is not None:
            told |= attribution.states[i] != State.USUAL
        order = np.argsort(-np.where(told, values + values.max(), values), kind="stable")
        most = min(MOST_FEATURES, max(FEWEST_FEATURES, MOST_LINES // len(attribution)))
        return order[: max(1, min(most, int(told.sum())))]

    def _feature(self, i: int, j: int, total: float) -> dict[str, Any]:
        attribution = self.attribution
        said: dict[str, Any] = {
            "feature": j,
            "name": attribution.feature_names[j],
            "value": float(attribution.values[i, j]),
            "share": float(self.shares[i, j]),
            "observed": observed(attribution, i, j),
            "mark": STATES.get(state_of(attribution, i, j), ""),
        }
        if attribution.standard_errors is not None and total > 0:
            error = 2 * float(attribution.standard_errors[i, j]) / total
            said["error"] = error if np.isfinite(error) and error >= SMALL / 2 else 0.0
        if attribution.can_be_repaired:
            said["normal"] = normal(attribution, i, j)
            if said["normal"] is not None:
                said["span"] = normal_span(attribution, i, j)
        return {**said, **self._place(i, j)}

    def _place(self, i: int, j: int) -> dict[str, Any]:
        """Where a value stands among normal ones; nothing of one that stands in for another."""
        attribution, known = self.attribution, self.known
        if known.distribution is None or not self._has_place(i, j):
            return {}
        columns = np.flatnonzero(attribution.membership[j])
        if categories := categories_of(attribution, j):
            values = attribution.data[i, columns]
            if not np.isin(values, (0.0, 1.0)).all() or values.sum() != 1:
                return {}
            part = float(known.distribution.mean[columns[int(np.argmax(values))]])
            said = f"as {percent(part)} of normal rows" if part else "in no normal row"
            return {"lies": said, "part": part, "n_categories": len(categories)}
        column = self._number(i, j)
        if column is None or not np.isfinite(attribution.data[i, column]):
            return {}
        at = float(attribution.data[i, column])
        said = lies(known.distribution.place(column, at))
        to = {}
        if attribution.can_be_repaired and attribution.repair.told[1][i, j]:
            to = {"to": float(attribution.repair.told[0][i, column])}
        return {"lies": said, "column": column, "at": at, **to}

    def _has_place(self, i: int, j: int) -> bool:
        """Whether a cell has a value of its own, which is shown."""
        # A number that is far beyond all has none that could stand there.
        usual = state_of(self.attribution, i, j) == State.USUAL
        return usual and not is_redacted(self.attribution, j)

    def _number(self, i: int, j: int) -> int | None:
        """The column that holds the number of a feature, if it is one and shown."""
        attribution = self.attribution
        columns = np.flatnonzero(attribution.membership[j])
        codec = attribution.codecs.get(attribution.feature_names[j])
        # Of a number with gaps, a second column says that it is missing.
        is_one = len(columns) == 1 or isinstance(codec, RawNumbers)
        if not is_one or categories_of(attribution, j) or not self._has_place(i, j):
            return None
        return int(columns[0])

    def _pair(self, i: int) -> dict[str, Any] | None:
        """Two columns to set the row against normal ones in: the first culprits that are numbers.

        Where the first is odd for the value of another, that other is the second.
        """
        attribution, known = self.attribution, self.known
        if known.distribution is None:
            return None

        ranked = [int(j) for j in self.order[i] if attribution.values[i, j] > 0]
        if attribution.can_be_repaired and (context := attribution.repair.contexts[i]) is not None:
            ranked = list(dict.fromkeys([context.feature, *context.given, *ranked]))
        found = [(j, column) for j in ranked if (column := self._number(i, j)) is not None][:2]
        if len(found) < 2 or max(self.shares[i, j] for j, _ in found) < PART:
            return None
        pair, columns = [j for j, _ in found], [column for _, column in found]
        moved = attribution.can_be_repaired and attribution.repair.told[1][i, pair].any()
        return {
            "columns": columns,
            "names": [attribution.feature_names[j] for j in pair],
            "observed": [observed(attribution, i, j) for j in pair],
            "at": [float(attribution.data[i, column]) for column in columns],
            "to": attribution.repair.told[0][i, columns].tolist() if moved else None,
        }

    def cells(self, i: int, whole: Cells | None, id_column: str | None) -> dict[str, Any]:
        """The whole row: what each column had, with a mark where that is not usual, or not used."""
        attribution = self.attribution
        names = attribution.feature_names
        position = {name: j for j, name in enumerate(names)}
        row = dict.fromkeys(names, "") if whole is None else whole[i]
        most = max(FEWEST_CELLS, MOST_CELLS // len(attribution))
        cells = []
        for name, cell in list(row.items())[:most]:
            j = position.get(name)
            if j is not None:
                text = observed(attribution, i, j, digits=10)
                mark = "not usual" if state_of(attribution, i, j) in STATES else ""
            else:
                text = REDACTED if name in attribution.redacted else cell
                mark = "names the row" if name == id_column else "not used"
            cells.append({"column": name, "text": text, "mark": mark})
        return {"shown": cells, "n_others": len(row) - len(cells)}
