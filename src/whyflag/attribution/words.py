"""What people are told of an attribution, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np

from whyflag.attribution.doubt import doubts
from whyflag.outcome import Outcome

if TYPE_CHECKING:
    from whyflag.attribution.base import Attribution


def summary(attribution: Attribution) -> str:
    """What it is, and how many of its rows are not to be taken as they are, in one line."""
    n, p = attribution.values.shape
    alarms = "" if attribution.threshold is None else f" ({attribution.flagged.sum()} flagged)"
    by = attribution.method or "no named method"
    told = (
        (attribution.ended, "not converged"),
        (attribution.still_alarming, "whose normal still raises the alarm"),
        (attribution.fallback, "by a slower definition"),
        (attribution.in_doubt, "without a clear first feature"),
    )
    counts = [(0 if rows is None else np.count_nonzero(rows), what) for rows, what in told]
    warnings = "".join(f", {count} {what}" for count, what in counts if count)
    return f"<Attribution by {by}: {n} rows{alarms}, {p} features{warnings}>"


def remarks(attribution: Attribution) -> tuple[str, ...]:
    """What is to be known of each row before its figures are used, n; "" where nothing is."""
    said: list[list[str]] = [[] for _ in range(len(attribution))]
    for i, sentence in _sentences(attribution):
        said[i].append(sentence)
    return tuple(map(" ".join, said))


def _sentences(attribution: Attribution) -> Iterator[tuple[SupportsIndex, str]]:
    """The sentences, each with the position of its row."""
    if attribution.members:
        for member in attribution.members:
            found = ((i, text) for i, text in enumerate(member.remarks) if text)
            yield from ((i, f"{member.method}: {text}") for i, text in found)
        return
    if attribution.ended is not None:
        for i in np.flatnonzero(attribution.ended != Outcome.ARRIVED):
            yield i, Outcome(attribution.ended[i]).sentence
    if attribution.threshold is not None:
        for i in np.flatnonzero(attribution.still_alarming):
            yield i, _still_alarming(attribution.base_values[i], attribution.threshold)
    if attribution.fallback is not None:
        for i in np.flatnonzero(attribution.fallback):
            yield i, "The fast definition does not hold on this row: another took its place."
    yield from ((i, text) for i, text in enumerate(doubts(attribution)) if text)


def _still_alarming(base: float, alarm: float) -> str:
    """What was found as normal raises the alarm as well."""
    digits = 4
    while digits < 17 and f"{base:.{digits}g}" == f"{alarm:.{digits}g}":
        digits += 1  # as few as tell the two apart
    return (
        f"What was found as normal still raises the alarm: its score is {base:.{digits}g}, "
        f"the alarm is at {alarm:.{digits}g}."
    )
