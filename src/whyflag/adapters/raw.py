"""Detectors that take rows as people have them: DataFrames with texts, times and gaps."""

from __future__ import annotations

from collections import UserList
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from whyflag.adapters import as_score
from whyflag.arrays import Matrix, Vector
from whyflag.score import Score
from whyflag.score.audit import Audit, Fixed
from whyflag.score.function import Asked as OfRows
from whyflag.score.labels import Labels
from whyflag.table.holders import columns_of, is_frame

if TYPE_CHECKING:
    from whyflag.table.frames import Frames

ENCODERS = ("OneHotEncoder", "OrdinalEncoder", "TargetEncoder")


@final
@dataclass(frozen=True)
class Asked:
    """What a detector itself says of rows as they are, high = anomalous.

    Attributes:
        detector: It, as it was fitted.
        score: Its score; the detector's own function is another where this is a formula.
    """

    detector: Any
    score: Score

    @classmethod
    def of(cls, detector: Any, score: Score) -> Asked:
        """A detector that stays what it is, whoever fits it again."""
        return cls(_kept(detector), score)

    @cached_property
    def _function(self) -> Callable[[Any], Any]:
        return _function(self.detector, self.score)

    def __call__(self, X: Any) -> Vector:
        return np.asarray(self._function(self._as_fitted(X)), dtype=np.float64)

    def _as_fitted(self, X: Any) -> Any:
        """Rows with the columns that the detector was fitted with, in their order."""
        if not is_frame(X):
            return X
        if _is_sklearn(self.detector):
            uses = Uses.of(self.detector)
            names, named = uses.names, uses.named
        elif isinstance(self.score.function, OfRows):
            return X  # a function gets what it was made for
        else:
            names, named = self.score.feature_names, False
        X = X if names is None else _with_columns(X, names)
        return X if named or (names is None and _is_sklearn(self.detector)) else _array(X)


@final
@dataclass(frozen=True)
class AfterFrame:
    """e(decoded rows)."""

    function: Callable[[Any], Vector]
    frames: Frames

    def __call__(self, Z: Matrix) -> Vector:
        return self.function(self.frames.frame(Z))


def raw_score(asked: Asked, frames: Frames) -> Score:
    """The score of rows of numbers that stand for rows as the detector takes them."""
    return replace(
        asked.score,
        function=AfterFrame(asked, frames),
        abilities=(),
        n_features=len(frames.encoded),
        feature_names=None,
        audit=Audit(Fixed(), Labels()),
    )


def _with_columns(X: Any, names: tuple[str, ...]) -> Any:
    """A frame with these columns, in this order, if it has them."""
    known = _names_of(X)
    if known == list(names) or not set(names) <= set(known):
        return X
    if hasattr(X, "iloc"):
        return X.iloc[:, [known.index(name) for name in names]]
    return X.select(list(names))


def _names_of(X: Any) -> list[str]:
    return [str(each) for each in (X.column_names if hasattr(X, "column_names") else X.columns)]


def _array(X: Any) -> Any:
    """The rows of a frame without names: numbers, if all cells are."""
    from whyflag.table.raw_numbers import number_cells

    cells = np.column_stack([number_cells(column) for column in columns_of(X)[0].values()])
    try:
        return cells.astype(np.float64)
    except (TypeError, ValueError):
        return cells


def _is_sklearn(detector: Any) -> bool:
    return type(detector).__module__.startswith("sklearn.")


def _kept(detector: Any) -> Any:
    """What was fitted, which another fit does not change: a fit makes new parts."""
    detector = getattr(detector, "best_estimator_", detector)
    if not _is_sklearn(detector):
        return detector
    own = copy(detector)
    if hasattr(own, "named_steps"):
        own.steps = [(name, _kept(step)) for name, step in own.steps]
    return own


def _function(detector: Any, score: Score | None = None) -> Callable[[Any], Any]:
    if hasattr(detector, "named_steps"):
        return _AfterSteps(detector[:-1], _function(detector.steps[-1][1]))
    if _is_sklearn(detector):
        from whyflag.adapters.from_sklearn import own_score

        if (own := own_score(detector)) is not None:
            return own
    return (as_score(detector) if score is None else score).function


@final
@dataclass(frozen=True)
class _AfterSteps:
    steps: Any
    function: Callable[[Any], Any]

    def __call__(self, X: Any) -> Any:
        from whyflag.adapters.transformers import transform

        return self.function(transform(self.steps, X) if len(self.steps) else X)


@final
@dataclass(frozen=True)
class Uses:
    """What a Pipeline does first with its columns.

    Attributes:
        names: The columns that it was fitted with; None: not known.
        named: Whether these are their names; else they go by position, as x0, x1, ....
        as_choices: Columns that become codes, whatever they hold.
        dropped: Columns that it drops.
    """

    names: tuple[str, ...] | None = None
    named: bool = False
    as_choices: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()

    @classmethod
    def of(cls, detector: Any) -> Uses:
        """What a detector does with its columns, as far as it is a Pipeline."""
        detector = getattr(detector, "best_estimator_", detector)
        first: Any = next(iter(_flat(detector)), None)
        named = getattr(first, "feature_names_in_", None)
        n_features = getattr(first, "n_features_in_", 0)
        names = [f"x{i}" for i in range(n_features)] if named is None else list(map(str, named))
        parts = [(detector, names)] if names else []
        if hasattr(first, "transformers_"):
            parts = [(step, _named(which, names)) for _, step, which in first.transformers_]
        kept = {name for step, some in parts for name in some if not _is_drop(step)}
        coded = {name for step, some in parts for name in some if _encodes(step)}
        uses = cls(tuple(names) or None, named is not None)
        return replace(uses, as_choices=frozenset(coded), dropped=frozenset(names) - kept)

    def of_rows(self, X: Any) -> Uses:
        """The same by the names that the columns of these rows have."""
        if self.names is None or (self.named and is_frame(X)):
            return self
        columns = _names_of(X) if is_frame(X) else [f"x{i}" for i in range(len(self.names))]
        if len(columns) != len(self.names):
            raise ValueError(
                f"`background` must have {len(self.names)} columns, as the detector was fitted, "
                f"got {len(columns)}: {columns}."
            )
        now = dict(zip(self.names, columns, strict=True))
        return replace(
            self,
            names=tuple(columns),
            as_choices=frozenset(now[name] for name in self.as_choices),
            dropped=frozenset(now[name] for name in self.dropped),
        )


def _is_drop(step: Any) -> bool:
    return isinstance(step, str) and step == "drop"


def _encodes(step: Any) -> bool:
    return any(type(each).__name__ in ENCODERS for each in _flat(step))


def _named(which: Any, names: list[str]) -> list[str]:
    """The names of the columns that a ColumnTransformer gives to a step."""
    # scikit-learn 1.6 warns whoever looks into the columns of a remainder.
    which = which.data if isinstance(which, UserList) else which
    if isinstance(which, slice):
        if isinstance(which.start, str) or isinstance(which.stop, str):
            begin = names.index(which.start) if which.start is not None else 0
            end = names.index(which.stop) + 1 if which.stop is not None else len(names)
            return names[begin:end]
        return names[which]
    chosen = np.atleast_1d(np.asarray(which))
    return list(chosen) if chosen.dtype.kind in "UO" else list(np.array(names)[chosen])


def _flat(step: Any) -> list[Any]:
    """The steps of what may be pipelines in one another."""
    steps = getattr(step, "named_steps", None)
    return [step] if steps is None else [part for each in steps.values() for part in _flat(each)]
