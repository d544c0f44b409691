"""A detector and its normal rows, read and checked once: all that a method may know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from whyflag.adapters import as_score
from whyflag.adapters.raw import Asked, Uses, raw_score
from whyflag.arrays import Matrix, check_rows, evenly
from whyflag.batches import CALL, batch_size
from whyflag.calibration import Calibration
from whyflag.checks import check_kind
from whyflag.clusters import from_within
from whyflag.columns import Columns
from whyflag.domain import Domain
from whyflag.intake import Intake, as_numbers, comes_raw, learn_frames
from whyflag.score import Score, evaluate, unit_from
from whyflag.table import Table, read_table
from whyflag.table.codec import State
from whyflag.table.holders import in_hand

if TYPE_CHECKING:
    from whyflag.table.frames import Frames

UNIT_ROWS = 1000  # normal rows that tell how much the score varies among them


@final
@dataclass(frozen=True)
class Prepared:
    """A score, the domain of its rows, and normal rows, if there are any.

    `prepare` makes one, and a method is bound to it. Several methods can share one, as in
    `Ensemble.of`: then the detector and the normal rows are read once.

    Attributes:
        score: The anomaly score, with its unit and its threshold.
        domain: What values a row may take, and the players: the columns, or groups of columns,
            that get an attribution.
        rows: Normal rows, (n, d), from the innermost to the outermost, in whatever order they came;
            None where there are none.
        calibration: The scores of normal rows that the threshold is calibrated by, if it is.
        intake: What reads rows, if they may have texts or gaps.
        read_first: What has to be done with rows before that, as a model does by its schema.
    """

    score: Score
    domain: Domain
    rows: Matrix | None = None
    calibration: Calibration | None = None
    intake: Intake | None = None
    read_first: Callable[[Any], Any] | None = None

    @property
    def background(self) -> Matrix:
        """The normal rows, for a method that needs them."""
        if self.rows is None:
            raise ValueError("There are no normal rows.")
        return self.rows

    def read(self, X: Any, name: str = "X") -> Table:
        """Read rows from an array, a DataFrame or a table, in the order of the domain."""
        if self.read_first is not None:
            X = self.read_first(X)
        if self.intake is None:
            return _read(X, self.domain, name)
        return self.intake.read(X, name, self.score, self.domain, self.rows)


def prepare(
    detector: Any,
    background: Any = None,
    *,
    domain: Domain | None = None,
    players: Mapping[str, Columns] | None = None,
    fixed: Columns = (),
    threshold: float | Calibration | None = None,
) -> Prepared:
    """Read and check a detector, its normal rows, and what values rows may take.

    The arguments are those of `Explainer`. A `Prepared` in place of the detector is returned as it
    is. Without a domain, bounds, scales and typical rows are measured on the background, and so is
    the unit of a score that does not know it.

    >>> rows = np.random.default_rng(0).normal(size=(100, 2))
    >>> prepare(lambda X: (X**2).sum(axis=1), rows).domain
    Domain(2 columns (0 binary, 0 fixed), 2 players)
    """
    told = [name for name, given in (("players", players), ("fixed", np.size(fixed))) if given]
    if isinstance(detector, Prepared):
        if told or not all(given is None for given in (background, domain, threshold)):
            raise ValueError(
                "A Prepared brings its background, domain and threshold: give no others."
            )
        return detector
    if background is None and domain is None:
        raise ValueError(
            "What is normal must be known: give normal rows as `background`, or a `domain` that "
            "says what values are possible (Domain.infer(rows) makes one)."
        )
    if isinstance(threshold, Calibration):
        found = prepare(
            detector,
            background,
            domain=domain,
            players=players,
            fixed=fixed,
            threshold=threshold.threshold,
        )
        return replace(found, calibration=threshold)
    background = in_hand(background, "background")
    if isinstance(background, np.ndarray):
        background = background.copy()  # what becomes of the caller's rows changes no answer
    uses = Uses.of(detector)
    if background is not None and not isinstance(background, Table):
        uses = uses.of_rows(background)
        background = as_numbers(detector, background, uses)
    if background is not None and comes_raw(detector, background, uses):
        return _prepare_raw(detector, background, uses, domain, players, fixed, threshold)
    if domain is None:
        table = read_table(background, name="background")
        score = as_score(detector, n_features=table.values.shape[1], threshold=threshold)
        if score.feature_names is not None and table.columns is not None:
            table = table.matched(score.feature_names, "background")
        domain = Domain.infer(table, bounded=True, players=players, fixed=fixed)
        domain = _named_by(domain, score.feature_names)
        intake = Intake(Asked.of(detector, score))
        rows = _in_order(table.values)
        return Prepared(_measured(score, rows), domain, rows, intake=intake)

    check_kind("domain", domain, Domain, "a Domain")
    if told:
        raise ValueError(f"`{told[0]}` goes into the `domain`, if you give one.")
    score = as_score(detector, n_features=domain.n_columns, threshold=threshold)
    domain = _named_by(domain, score.feature_names)
    if background is None:
        return Prepared(score, domain)
    intake = Intake(Asked.of(detector, score))
    table = _read(background, domain, "background")
    if table.columns is not None:
        domain = domain.rename(table.columns)
    rows = _in_order(table.values)
    return Prepared(_measured(score, rows), domain, rows, intake=intake)


def _prepare_raw(
    detector: Any,
    background: Any,
    uses: Uses,
    domain: Domain | None,
    players: Mapping[str, Columns] | None,
    fixed: Columns,
    threshold: float | None,
) -> Prepared:
    """The same where rows hold texts, times or gaps: each becomes a player of 0/1 columns."""
    asked = Asked.of(detector, as_score(detector, threshold=threshold))
    frames = learn_frames(asked, background, uses)
    score = raw_score(asked, frames)
    raw = frames.read(background, "background")
    values = check_rows(raw.rows.values, name="background", columns=frames.encoded)
    if domain is None:
        table = Table(values, frames.encoded)
        domain = Domain.infer(table, bounded=True, **_groups(frames, players or {}, fixed))
        # What is called normal is a value, not a gap.
        domain = domain.having(given={name: [0.0] for name in frames.gap_columns})
    elif players or np.size(fixed):
        raise ValueError("`players` and `fixed` go into the `domain`, if you give one.")
    elif domain.columns != frames.encoded:
        raise ValueError(
            "Where rows hold texts or gaps, a `domain` is one that an Explainer of such rows has "
            f"made: it should have the columns {list(frames.encoded)}, got {list(domain.columns)}."
        )
    with_gaps = frozenset(
        name
        for name, states in zip(frames.names, raw.states.T, strict=True)
        if (states == State.GAP).any()
    )
    intake = Intake(asked, frames, with_gaps)
    rows = _in_order(values)
    return Prepared(_measured(score, rows), domain, rows, intake=intake)


def _in_order(rows: Matrix) -> Matrix:
    """Rows in an order of their own, so that the one in which they came changes no answer."""
    return rows[from_within(rows)]


def _groups(frames: Frames, players: Mapping[str, Columns], fixed: Columns) -> dict[str, Any]:
    """Players and fixed columns by the columns of numbers that they become."""
    # A domain of the columns as they are, which finds them by name, position or truth.
    whole = Domain(frames.names, players=players, fixed=fixed)
    numbers = list(frames.players.values())
    own = {
        name: [each for j in np.flatnonzero(columns) for each in numbers[j]]
        for name, columns in zip(whole.player_names, whole.membership, strict=True)
    }
    return {
        "players": {name: group for name, group in own.items() if group != [name]},
        "fixed": [each for j in np.flatnonzero(whole.fixed) for each in numbers[j]],
        "categories": {
            name: known
            for name, known in frames.categories.items()
            if name not in players and own.get(name) == frames.players[name]
        },
    }


def _read(X: Any, domain: Domain, name: str) -> Table:
    columns = domain.columns if domain.named else None
    return read_table(X, name=name, columns=columns, n_columns=domain.n_columns)


def _named_by(domain: Domain, names: tuple[str, ...] | None) -> Domain:
    """The domain with its columns named as the detector was fitted."""
    if names is None or names == domain.columns:
        return domain
    if domain.named:
        raise ValueError(
            f"`domain` must have the columns that the detector was fitted with, {list(names)}, "
            f"got {list(domain.columns)}."
        )
    return domain.rename(names)


def _measured(score: Score, rows: Matrix) -> Score:
    """The score with what is measured over normal rows if it does not know it."""
    if score.unit is None:
        some = evaluate(score, rows[evenly(len(rows), UNIT_ROWS)])
        score = replace(score, unit=unit_from(some, rows.shape[1]))
    if score.threshold is None and score.alarms is not None:
        # As PyOD makes it of the scores of all its training rows.
        size = batch_size(rows.shape[1], CALL)
        scores = evaluate(score, rows, size)
        score = replace(score, threshold=float(np.quantile(scores, 1 - score.alarms)))
    return score
