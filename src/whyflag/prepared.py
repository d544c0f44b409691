"""A detector and its normal rows, read and checked once: all that a method may know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from whyflag.adapters import as_score
from whyflag.arrays import Matrix
from whyflag.calibration import Calibration
from whyflag.checks import check_kind
from whyflag.columns import Columns
from whyflag.domain import Domain
from whyflag.score import Score, evaluate, unit_from
from whyflag.table import Table, read_table

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
        rows: Normal rows, (n, d); None where there are none.
        calibration: The scores of normal rows that the threshold is calibrated by, if it is.
    """

    score: Score
    domain: Domain
    rows: Matrix | None = None
    calibration: Calibration | None = None

    @property
    def background(self) -> Matrix:
        """The normal rows, for a method that needs them."""
        if self.rows is None:
            raise ValueError("There are no normal rows.")
        return self.rows

    def read(self, X: Any, name: str = "X") -> Table:
        """Read rows from an array, a DataFrame or a table, in the order of the domain."""
        return _read(X, self.domain, name)


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
    told = [name for name, given in (("players", players), ("fixed", len(fixed))) if given]
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
    if domain is None:
        table = read_table(background, name="background")
        score = as_score(detector, n_features=table.values.shape[1], threshold=threshold)
        if score.feature_names is not None and table.columns is not None:
            table = table.matched(score.feature_names, "background")
        domain = Domain.infer(table, bounded=True, players=players, fixed=fixed)
        domain = _named_by(domain, score.feature_names)
        return Prepared(_with_unit(score, table.values), domain, table.values)

    check_kind("domain", domain, Domain, "a Domain")
    if told:
        raise ValueError(f"`{told[0]}` goes into the `domain`, if you give one.")
    score = as_score(detector, n_features=domain.n_columns, threshold=threshold)
    domain = _named_by(domain, score.feature_names)
    if background is None:
        return Prepared(score, domain)
    table = _read(background, domain, "background")
    if table.columns is not None:
        domain = domain.rename(table.columns)
    return Prepared(_with_unit(score, table.values), domain, table.values)


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


def _with_unit(score: Score, rows: Matrix) -> Score:
    """The score with its unit, measured over normal rows if it does not know it."""
    if score.unit is not None:
        return score
    some = np.unique(np.linspace(0, len(rows) - 1, UNIT_ROWS).astype(int))
    return replace(score, unit=unit_from(evaluate(score, rows[some]), rows.shape[1]))
