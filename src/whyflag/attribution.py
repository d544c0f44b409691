"""The result: how much of each row's anomaly score is due to each feature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, final

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix, Vector
from whyflag.extras import require

if TYPE_CHECKING:
    import pandas as pd


@final
@dataclass(frozen=True, eq=False, repr=False)
class Attribution:
    """How much of each row's anomaly score is due to each feature (or group of features).

    Slices like the rows do: `attribution[3]`, `attribution[:10]`, `attribution[flagged]`.

    Attributes:
        values: The attributions, (n, p). Positive: this feature makes the row more anomalous. If
            `additive`, they sum for each row to `scores` − `base_values`, in units of the score.
        base_values: The score that a row would have with no feature present, v(∅), (n,).
        scores: The anomaly score of each row, e(x), (n,).
        data: The rows, (n, d).
        feature_names: Names of the players, p.
        column_names: Names of the columns of `data`, d.
        row_names: Names of the rows, n.
        reference: What would have been normal, x*(∅), (n, d); None where a method has none.
        threshold: The score above which the detector raises an alarm; None where it names none.
        standard_errors: How far the values may be off because not every coalition was counted,
            (n, p): zero where every one was, infinite where too few were drawn to tell; None
            where a method draws none.
        converged: Whether the work behind a row reached its goal, (n,): minimisations a minimum,
            integrals and draws their precision. None where a method has no such work.
        fallback: Whether the method's own definition did not hold on a row, so that a slower one
            took its place, (n,). None where a method has no other.
        scored_base: Whether `base_values` are scores of what a method calls normal. By marg and
            SFE they are not: nothing is known there, and what is left is a constant.
        method: The method's name.
        settings: The method's settings.
        additive: Whether the values are parts of the score.
        unit: What corresponds to one nat of an energy, in units of the score.
        evaluations: Score evaluations spent on each row, (n,).
        membership: Which columns each player has, bool (p, d).
        members: The attributions that were combined into this one, if it is an ensemble's.
    """

    values: Matrix
    base_values: Vector
    scores: Vector
    data: Matrix
    feature_names: tuple[str, ...]
    column_names: tuple[str, ...]
    row_names: tuple[Any, ...]
    membership: BoolMatrix
    evaluations: IntVector
    method: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    additive: bool = True
    unit: float = 1.0
    threshold: float | None = None
    reference: Matrix | None = None
    standard_errors: Matrix | None = None
    converged: BoolVector | None = None
    fallback: BoolVector | None = None
    scored_base: bool = True
    members: tuple[Attribution, ...] = ()

    @property
    def n_evaluations(self) -> int:
        """Score evaluations spent on all rows."""
        return int(self.evaluations.sum())

    @property
    def excess(self) -> Vector:
        """How far each score is above the alarm, (n,); negative: no alarm."""
        if self.threshold is None:
            raise ValueError(
                "The detector has no threshold. Give one: as_score(detector, threshold=...)."
            )
        return self.scores - self.threshold

    @property
    def flagged(self) -> BoolVector:
        """Whether each row is an alarm, (n,)."""
        return self.excess > 0

    @property
    def still_alarming(self) -> BoolVector:
        """Whether a row is flagged and what is called normal raises the alarm as well, (n,).

        Such a row is not explained: its values lead from one alarm to another. The same is said
        where the reference is the row itself. It is asked of methods whose base value is a score:
        of the reference, or of normal rows on average (KSH, wKSH). marg and SFE call nothing
        normal (`scored_base`). In an ensemble one member is enough, by the alarm of its own
        detector. Without a threshold no row is flagged, and none is still alarming.
        """
        if self.members:
            return np.any([member.still_alarming for member in self.members], axis=0)
        if self.threshold is None or not self.scored_base:
            return np.zeros(len(self), dtype=np.bool_)
        above = self.base_values > self.threshold
        if self.reference is not None:
            above |= (self.reference == self.data).all(axis=1)
        return above & self.flagged

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is to be known of each row before its figures are used, n; "" where nothing is.

        An ensemble's are those of its members, each with the member's name.
        """
        if self.members:
            named = [
                [f"{member.method}: {text}" if text else "" for text in member.remarks]
                for member in self.members
            ]
            return tuple(" ".join(filter(None, texts)) for texts in zip(*named, strict=True))
        said: list[list[str]] = [[] for _ in range(len(self))]
        for i in np.flatnonzero(self._missed):
            said[i].append(_MISSED)
        if self.threshold is not None:
            for i in np.flatnonzero(self.still_alarming):
                said[i].append(_still_alarming(self.base_values[i], self.threshold))
        for i in np.flatnonzero(self._fell_back):
            said[i].append(_FELL_BACK)
        return tuple(map(" ".join, said))

    @property
    def order(self) -> IntVector:
        """Positions of the features of each row, from the most to the least to blame, (n, p)."""
        return np.argsort(-self.values, axis=1, kind="stable")

    @property
    def shares(self) -> Matrix:
        """Share of the blame of each feature, (n, p): positive values, divided by their sum.

        Zero throughout in a row that has no positive value.
        """
        blame = np.maximum(self.values, 0.0)
        total = blame.sum(axis=1, keepdims=True)
        return np.divide(blame, total, out=np.zeros_like(blame), where=total > 0)

    @property
    def agreement(self) -> Vector:
        """How far the members of an ensemble agree on each row, (n,).

        The part of the blame that two members lay on the same features, averaged over pairs of
        members: 1 if all lay the same shares, 0 if no two blame a feature in common.
        """
        if not self.members:
            raise ValueError(f"Agreement is between members of an ensemble, got {self!r}.")
        shares = [member.shares for member in self.members]
        pairs = [np.minimum(a, b).sum(axis=1) for a, b in combinations(shares, 2)]
        return np.mean(pairs, axis=0) if pairs else np.ones(len(self))

    @property
    def unexplained(self) -> Vector:
        """What the values leave of `scores` − `base_values`, (n,): rounding, or IG's integral."""
        if not self.additive:
            raise ValueError(f"Values by {self.method} are not parts of the score.")
        return self.scores - self.base_values - self.values.sum(axis=1)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        n, p = self.values.shape
        alarms = "" if self.threshold is None else f" ({int(self.flagged.sum())} flagged)"
        by = self.method or "no named method"
        counts = (
            (self._missed, "not converged"),
            (self.still_alarming, "whose normal still raises the alarm"),
            (self._fell_back, "by a slower definition"),
        )
        warnings = "".join(f", {rows.sum()} {what}" for rows, what in counts if rows.any())
        return f"<Attribution by {by}: {n} rows{alarms}, {p} features{warnings}>"

    def __getitem__(self, rows: Any) -> Attribution:
        chosen = np.atleast_1d(np.arange(len(self))[rows])
        changes: dict[str, Any] = {
            name: None if (array := getattr(self, name)) is None else array[chosen]
            for name in _PER_ROW
        }
        names = tuple(self.row_names[i] for i in chosen)
        members = tuple(member[rows] for member in self.members)
        return replace(self, row_names=names, members=members, **changes)

    def top(self, k: int = 3) -> pd.DataFrame:
        """The k largest attributions of each row, with what was observed and what is normal.

        A player of several columns shows their values as a tuple. Where coalitions were drawn,
        "error" is the standard error of the attribution.
        """
        import pandas as pd

        if k < 1:
            raise ValueError(f"`k` must be at least 1, got {k}.")
        errors, first = self.standard_errors, self.order[:, :k]
        records = [
            {
                "row": self.row_names[i],
                "feature": self.feature_names[j],
                "attribution": self.values[i, j],
                "error": None if errors is None else errors[i, j],
                "observed": self._cell(self.data, i, j),
                "normal": None if self.reference is None else self._cell(self.reference, i, j),
            }
            for i in range(len(self))
            for j in first[i]
        ]
        columns = ["row", "feature", "attribution", "error", "observed", "normal"]
        if errors is None or not errors.any():
            columns.remove("error")
        return pd.DataFrame.from_records(records, columns=columns)

    def to_frame(self) -> pd.DataFrame:
        """The attributions as a table: one row for each row, one column for each feature."""
        import pandas as pd

        return pd.DataFrame(
            self.values, index=list(self.row_names), columns=list(self.feature_names)
        )

    def to_shap(self) -> Any:
        """The attributions as a `shap.Explanation`, for shap's own plots."""
        shap = require("shap", "to_shap()")
        # A group has no one value to colour a point by: its mean stands in, as it does for the
        # lags of a sensor, and what the group holds is shown as text.
        single = self.membership.sum(axis=1) == 1  # p
        data = self.data @ self.membership.T / self.membership.sum(axis=1)  # n x p
        display = None
        if not single.all():
            n, p = self.values.shape
            display = np.array(
                [[str(self._cell(self.data, i, j)) for j in range(p)] for i in range(n)]
            )
        return shap.Explanation(
            values=self.values.copy(),
            base_values=self.base_values.copy(),
            data=data,
            display_data=display,
            feature_names=list(self.feature_names),
            error_std=None if self.standard_errors is None else self.standard_errors.copy(),
        )

    @property
    def _missed(self) -> BoolVector:
        return np.zeros(len(self), np.bool_) if self.converged is None else ~self.converged

    @property
    def _fell_back(self) -> BoolVector:
        return np.zeros(len(self), np.bool_) if self.fallback is None else self.fallback

    def _cell(self, rows: Matrix, i: int, j: int) -> float | tuple[float, ...]:
        held = tuple(rows[i, self.membership[j]].tolist())
        return held[0] if len(held) == 1 else held


# What `remarks` says; one place words it for the terminal, for files and for the report.
_MISSED = "The computation did not reach its goal on this row: take its figures with care."
_FELL_BACK = "The fast definition does not hold on this row: another took its place."


def _still_alarming(base: float, alarm: float) -> str:
    digits = 4
    while digits < 17 and f"{base:.{digits}g}" == f"{alarm:.{digits}g}":
        digits += 1  # as few as tell the two apart
    return (
        f"What was found as normal still raises the alarm: its score is {base:.{digits}g}, "
        f"the alarm is at {alarm:.{digits}g}."
    )


_PER_ROW = (
    "values",
    "base_values",
    "scores",
    "data",
    "evaluations",
    "reference",
    "standard_errors",
    "converged",
    "fallback",
)


def concatenate(parts: Sequence[Attribution]) -> Attribution:
    """Put attributions by the same method under one another."""
    first = parts[0]
    joined: dict[str, Any] = {
        name: None
        if getattr(first, name) is None
        else np.concatenate([getattr(part, name) for part in parts])
        for name in _PER_ROW
    }
    names = tuple(name for part in parts for name in part.row_names)
    members = tuple(
        concatenate(same) for same in zip(*(part.members for part in parts), strict=True)
    )
    return replace(first, row_names=names, members=members, **joined)
