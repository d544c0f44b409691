"""What normal rows are read as: numbers, or rows as they come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyflag.adapters import as_score
from whyflag.adapters.raw import Asked, Uses
from whyflag.arrays import Matrix, Vector, evenly
from whyflag.intake.asking import answer
from whyflag.score.answers import rounding
from whyflag.score.function import Asked as OfRows
from whyflag.table import Table, read_table
from whyflag.table.holders import columns_of, is_frame, length, take
from whyflag.table.number_texts import is_written, odd_texts, with_columns, written_numbers

if TYPE_CHECKING:
    from whyflag.table.frames import Frames

FEW = 8  # normal rows that tell whether texts are numbers to a detector


def takes_raw(X: Any, uses: Uses) -> bool:
    """Whether rows hold more than numbers: texts, times, gaps, numbers that are codes."""
    if isinstance(X, Table):
        return False
    if not is_frame(X):
        rows = np.asarray(X)
        if rows.ndim != 2 or rows.dtype.kind not in "fiubOUS":
            return False
        if rows.dtype.kind in "OUS":
            try:
                rows = rows.astype(np.float64)
            except (TypeError, ValueError):
                return True
        return bool(np.isnan(rows).any() or uses.as_choices)
    columns, _ = columns_of(X, "background")
    coded = uses.as_choices.intersection(columns)
    return bool(coded) or any(
        getattr(each.dtype, "kind", "O") not in "fiub" or each.isna().any()
        for each in columns.values()
    )


def takes_frames(detector: Any, X: Any) -> bool:
    """Whether a function is made for frames: of rows of numbers without names it says otherwise."""
    if not is_frame(X) or not callable(detector):
        return False
    score = as_score(detector, n_features=len(columns_of(X, "background")[0]))
    if not isinstance(score.function, OfRows):
        return False
    some = take(X, evenly(length(X), FEW))
    of_frame = answer(Asked.of(detector, score), some, length(some))
    if not np.isfinite(of_frame).all():
        return False
    of_numbers = answer(score.function, read_table(some).values, length(some))
    return not (np.isfinite(of_numbers).all() and _same(of_frame, of_numbers))


def comes_raw(detector: Any, X: Any, uses: Uses) -> bool:
    """Whether a detector gets these rows as they come, and not as numbers."""
    return takes_raw(X, uses) or takes_frames(detector, X)


def as_numbers(detector: Any, X: Any, uses: Uses) -> Any:
    """Normal rows, with texts that say numbers as numbers, where that is what the detector takes.

    So it is if it refuses the texts and takes the numbers, or says the same of both.
    """
    if not is_written(X):
        return X
    score = as_score(detector)
    asked = Asked.of(detector, score)
    some = take(X, evenly(length(X), FEW))

    def says(numbers: dict[str, Vector]) -> Vector:
        rows = with_columns(some, numbers)
        if takes_raw(rows, uses):
            return answer(asked, rows, length(rows))
        return answer(lambda rows: score.function(read_table(rows).values), rows, length(rows))

    numbers = written_numbers(X, texts=True)
    few = {name: values[evenly(length(X), FEW)] for name, values in numbers.items()}
    before, after = says({}), says(few)
    if np.isfinite(before).any():
        known = [name for name in few if _same(before, says({name: few[name]}))]
        numbers = {name: numbers[name] for name in (few if _same(before, after) else known)}
    elif not np.isfinite(after).any():
        numbers = {}
    found = with_columns(X, numbers)
    _refuse_odd_texts(asked, found)
    return found


def _same(before: Vector, after: Vector) -> bool:
    """Whether answers are the same where there were some."""
    known = np.isfinite(before)
    before, after = before[known], after[known]
    return bool((np.abs(after - before) <= rounding(before, after, np.zeros((1, 1)))).all())


def _refuse_odd_texts(asked: Asked, X: Any) -> None:
    """Refuse a text among numbers where the detector takes the number of another row instead."""
    for name, (i, text, number) in odd_texts(X).items():
        row = take(X, np.array([i]))
        try:
            asked(row)
        except Exception as error:
            said = " ".join(str(error).split())
            instead = with_columns(row, {name: np.array([number])})
            if np.isfinite(answer(asked, instead, 1)).all():
                raise TypeError(
                    f"The detector takes numbers in column {name!r}, and `background` has texts "
                    f"there that say none, such as {text!r}: {said}. Make it numbers first: "
                    "pd.to_numeric(column, errors='coerce') leaves gaps for those."
                ) from None


def learn_frames(asked: Asked, X: Any, uses: Uses) -> Frames:
    """What the columns of normal rows are, and in which of them the detector takes gaps."""
    from whyflag.table.frames import Frames  # pandas, which takes as long as whyflag itself

    columns, _ = columns_of(X, "background")
    unused = uses.dropped
    if uses.dropped or (uses.names is not None and is_frame(X)):
        unused = uses.dropped | (set(columns) - set(uses.names or columns))
    frames = Frames.learn(X, choices=uses.as_choices, unused=unused)
    with_gaps = [
        name for name, codec in zip(frames.names, frames.codecs, strict=True) if codec.has_gaps
    ]
    if not with_gaps:
        return frames
    without = frames.without_gaps(with_gaps)
    whole = typical(without.read(X).rows.values)[None]  # a row that has no gaps
    cells = {name: without.gap_cell(X, name) for name in with_gaps}
    refused = [
        name
        for name, cell in cells.items()
        if not np.isfinite(answer(asked, without.frame(whole, cell), 1)[0])
    ]
    return frames.without_gaps(refused)


def typical(rows: Matrix) -> Vector:
    """The lower median of each column, which is a value that a row has."""
    return np.asarray(np.quantile(rows, 0.5, axis=0, method="lower"))
