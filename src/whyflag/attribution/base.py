"""The result: how much of each row's anomaly score is due to each feature."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from whyflag.arrays import BoolMatrix, BoolVector, IntVector, Matrix, Vector
from whyflag.attribution import doubt, frames, sentences, words
from whyflag.calibration import Calibration
from whyflag.checks import check_whole
from whyflag.contributions import Contributions
from whyflag.records import per_row, positions, select_rows
from whyflag.repair import Repair, Repairer
from whyflag.table.codec import Codec, State, States
from whyflag.table.originals import Originals

if TYPE_CHECKING:
    import pandas as pd


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Attribution(Contributions):
    """How much of each row's anomaly score is due to each feature (or group of features).

    Slices like the rows do: `attribution[3]`, `attribution[:10]`, `attribution[flagged]`; finds a
    row by its name: `attribution.row("B004")`; and goes through them: `for each in attribution`.

    Attributes:
        data: The rows, (n, d).
        row_names: Names of the rows, n.
        feature_names: Names of the players, p.
        column_names: Names of the columns of `data`, d.
        membership: Which columns each player has, bool (p, d).
        categories: The names of the columns of a player that is a category in 0/1 columns.
        shown: What people should see of the observed values, by player, n: how they are written, a
            category that is not known, a gap. None where that is the number itself.
        codecs: How values are written, by player, where that is not as plain numbers.
        added: What cells that no normal row has add to the score, (n, p); None: there are none.
        states: What the cells are, as `State`s, (n, p): a gap, say, for which another value stands
            in. None: all are what their columns usually hold.
        originals: What such cells are, as they came, and what asks the detector of them; None:
            there are none, or they are not known, as of one that was loaded.
        redacted: Columns whose values are not shown in sentences, pages, tables and JSON; nor are
            those of features that have such a column. The arrays still have them, and so has a
            file that `save` writes.
        method: The method's name.
        settings: The method's settings.
        unit: What corresponds to one nat of an energy, in units of the score.
        threshold: The score above which the detector raises an alarm; None where it names none.
        calibration: The scores of normal rows that the detector has not seen, where the threshold
            is calibrated by such.
        refit_spread: Standard deviation of each value over detectors that were fitted to other
            normal rows, (n, p); None without refits.
        refit_first: In what part of these refits each feature comes first, (n, p).
        members: The attributions that were combined into this one, if it is an ensemble's.
        repairer: What repairs the rows, when `repair` is asked for; None where nothing can.
        repaired: The repair, once it is known.
    """

    data: Matrix = per_row()
    row_names: tuple[Any, ...] = per_row()
    feature_names: tuple[str, ...]
    column_names: tuple[str, ...]
    membership: BoolMatrix
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    shown: tuple[Mapping[str, str], ...] | None = per_row(default=None)
    codecs: Mapping[str, Codec] = field(default_factory=dict)
    added: Matrix | None = per_row(default=None)
    states: States | None = per_row(default=None)
    originals: Originals | None = per_row(default=None)
    redacted: frozenset[str] = frozenset()
    method: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    unit: float = 1.0
    threshold: float | None = None
    calibration: Calibration | None = None
    refit_spread: Matrix | None = per_row(default=None)
    refit_first: Matrix | None = per_row(default=None)
    members: tuple[Attribution, ...] = ()
    repairer: Repairer | None = None
    repaired: Repair | None = per_row(default=None)

    @property
    def can_be_repaired(self) -> bool:
        """Whether there is a `repair`: what Explainers and Ensembles make has one."""
        return self.repairer is not None or self.repaired is not None

    @cached_property
    def repair(self) -> Repair:
        """Which values would have been normal, with the rest of each row as it is.

        It is searched for when it is asked for first: fewest features, in the order of their
        attributions, and checked by scoring the repaired rows.
        """
        gaps = None if self.states is None else self.states == State.GAP
        if self.repaired is not None:
            return replace(self.repaired, gaps=gaps, redacted=self.redacted)
        if self.repairer is None:
            raise ValueError(
                "This attribution does not know its detector, so that it cannot be repaired: "
                "ask an Explainer, `explain.repair(X)`."
            )
        # Of a number with a sign that none had, the number itself stands in.
        told = (State.USUAL, State.NEGATIVE)
        unknown = None if self.states is None else ~np.isin(self.states, told)
        found = self.repairer(
            self.data,
            self.scores,
            self.shares,
            self.row_names,
            self.added,
            unknown,
            self.originals,
        )
        return replace(found, gaps=gaps, redacted=self.redacted)

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
    def severity(self) -> Vector:
        """In how many per cent of held-out normal rows the score is lower, (n,).

        100 is above all of them. It says how rare such a score is; beyond the highest of the
        held-out ones, only the score itself tells rows apart.
        """
        if self.calibration is None:
            raise ValueError(
                "The scores of normal rows that the detector has not seen are not known. Give "
                "them: Explainer(detector, background, threshold=calibrate(detector, background))."
            )
        return self.calibration.severity(self.scores)

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
            itself = (self.reference == self.data).all(axis=1)
            # With a cell that no normal row has, `data` is the row with another in its place.
            above |= itself if self.added is None else itself & ~self.added.any(axis=1)
        return above & self.flagged

    @property
    def in_doubt(self) -> BoolVector:
        """Whether it is open which feature of a row comes first, (n,); `remarks` say why.

        No feature stands out, or others are as large as the first, up to their standard errors.
        It is not asked of rows that are not flagged, if there is a threshold, nor of those that are
        `still_alarming`. In an ensemble one member is enough.
        """
        if self.members:
            return np.any([member.in_doubt for member in self.members], axis=0)
        return np.array([bool(text) for text in doubt.doubts(self)], dtype=np.bool_)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is to be known of each row before its figures are used, n; "" where nothing is.

        An ensemble's are those of its members, each with the member's name.
        """
        return words.remarks(self)

    def sentences(self) -> tuple[str, ...]:
        """What happened in each row and what would have been normal, in plain words, n."""
        return sentences.sentences(self)

    @property
    def order(self) -> IntVector:
        """Positions of the features of each row, from the largest attribution down, (n, p)."""
        return np.argsort(-self.values, axis=1, kind="stable")

    @property
    def shares(self) -> Matrix:
        """Share of each feature, (n, p): positive attributions, divided by their sum.

        Zero throughout in a row that has no positive value.
        """
        # What is positive by rounding is nothing.
        rounding = 1e-12 * np.abs(self.values).max(axis=1, keepdims=True)
        positive = np.where(self.values > rounding, self.values, 0.0)
        total = positive.sum(axis=1, keepdims=True)
        return np.divide(positive, total, out=np.zeros_like(positive), where=total > 0)

    def coverage(self, k: int = 3) -> Vector:
        """The sum of the k largest shares of each row, (n,): how much k features explain.

        Low where no feature stands out: then the row as a whole is unusual, and its first features
        contribute little more than others.
        """
        check_whole("k", k, at_least=1)
        return -np.sort(-self.shares, axis=1)[:, :k].sum(axis=1)

    @property
    def agreement(self) -> Vector:
        """How far the members of an ensemble agree on each row, (n,).

        The part of their shares that two members give to the same features, averaged over pairs
        of members: 1 if all give the same shares, 0 if no two have a feature in common.
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

    def __repr__(self) -> str:
        return words.summary(self)

    def _repr_html_(self) -> str:
        return frames.as_html(self)

    def __getitem__(self, rows: Any) -> Attribution:
        if isinstance(rows, str):
            raise IndexError(f"Rows are chosen by position; `row({rows!r})` finds one by its name.")
        chosen = positions(rows, len(self))
        members = tuple(member[chosen] for member in self.members)
        known = vars(self).get("repair", self.repaired)  # once searched for, it is kept
        repaired = None if known is None else known[chosen]
        return replace(select_rows(self, chosen), members=members, repaired=repaired)

    def __iter__(self) -> Iterator[Attribution]:
        return (self[i] for i in range(len(self)))

    def row(self, name: Any) -> Attribution:
        """The row of this name; several, if they share it."""
        chosen = [i for i, other in enumerate(self.row_names) if other == name]
        if not chosen:
            known = ", ".join(map(repr, self.row_names[:5]))
            raise KeyError(f"There is no row {name!r}; the first names are {known}.")
        return self[chosen]

    def top(self, k: int = 3) -> pd.DataFrame:
        """The k largest attributions of each row, with what was observed and what is normal.

        "normal" is the value in the repaired row (`repair`). A row that raises no alarm needs none:
        it is what was observed; or, where the row is unlike the normal rows all the same, what
        would be like them (`repair.usual`).

        A player of several columns shows their values as a tuple. "error" is the standard error of
        the attribution, where there is one. With refits, "spread" is the standard deviation over
        them, and "first" the part of them in which the feature comes first.
        """
        return frames.top(self, k)

    def to_frame(self) -> pd.DataFrame:
        """The attributions as a table: one row for each row, one column for each feature."""
        return frames.to_frame(self)

    def to_shap(self) -> Any:
        """The attributions as a `shap.Explanation`, for shap's own plots."""
        return frames.to_shap(self)

    def to_json(self) -> dict[str, Any]:
        """The attributions as JSON would have them: what is not finite is null."""
        from whyflag.attribution.archive import to_json

        return to_json(self)

    def save(self, path: str | Path) -> None:
        """Write the attributions to a file: arrays and JSON, no code."""
        from whyflag.attribution.archive import save

        save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Attribution:
        """Read attributions that `save` wrote. Nothing is run.

        Settings come back as numbers and texts; names of rows as they were, if they are texts,
        numbers, dates, None, or tuples of these, and else as texts.
        """
        from whyflag.attribution.archive import load

        return load(path)
