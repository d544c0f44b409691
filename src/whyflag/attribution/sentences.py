"""What happened in a row, and what would have been normal, in one sentence or two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whyflag.arrays import IntVector
from whyflag.attribution.display import (
    ANOTHER,
    MOST_FIGURES,
    categories_of,
    held,
    in_a_list,
    is_redacted,
    normal,
    normal_range,
    normal_span,
    number,
    observed,
)
from whyflag.repair import Context, Doubt
from whyflag.table.codec import GAP, REDACTED

if TYPE_CHECKING:
    from whyflag.attribution.base import Attribution

MOST_REPAIRED = 4  # features that are named one by one
MOST_DIGITS = 17
# What a repair does, by whether there is an alarm.
_ENDS = {
    True: ("ends the alarm", "end the alarm"),
    False: ("makes the score normal", "make the score normal"),
}
NOTHING = 1e-9  # of the alarm, or of the score after the repair


def sentences(attribution: Attribution) -> tuple[str, ...]:
    """What is to be said of each row, n."""
    return tuple(_of_row(attribution, i, order) for i, order in enumerate(attribution.order))


def _of_row(attribution: Attribution, i: int, order: IntVector) -> str:
    repair = attribution.repair
    alarm, before, after = _scores(repair.alarm, repair.before[i], repair.scores[i])
    doubts = Doubt(int(repair.doubts[i]))
    has_alarm = Doubt.NO_THRESHOLD not in doubts
    limit = f"the alarm is at {alarm}" if has_alarm else f"normal rows score up to {alarm}"
    if repair.before[i] <= repair.alarm:
        said = f"No alarm: the score is {before}, {limit}."
        said = said if has_alarm else f"The score is {before}; {limit}."
        return f"{said} {_unlike(attribution, i, order)}" if Doubt.STILL_ODD in doubts else said
    changed = [int(j) for j in order if repair.changed[i, j]]
    if not changed:
        return f"Nothing that was tried brings the score down: it is {before}, {limit}."
    are, would = _are_and_would(attribution, i, changed)
    scores = f"score {before} → {after}, {'alarm at' if has_alarm else 'normal up to'} {alarm}"
    ends, end = _ENDS[has_alarm]
    alone = len(changed) == 1
    if repair.silenced[i]:
        does = f"That alone {ends}" if alone else f"Together they {end}"
        said = f"{are}; with the rest as it is, {would} would be normal. {does} ({scores})."
    else:
        comes = "comes" if alone else "come"
        said = f"{are}; nothing that was tried {ends}. {would} {comes} nearest ({scores})."
    parts = [
        said,
        _odd_for(attribution, i, repair.contexts[i]),
        _others(attribution, i),
        *(doubts & ~Doubt.STILL_ALARMING).sentences,
    ]
    return " ".join(filter(None, parts))


def _are_and_would(attribution: Attribution, i: int, changed: list[int]) -> tuple[str, str]:
    """What features are, and what they would be if all were normal."""
    named, more = changed[:MOST_REPAIRED], len(changed) - MOST_REPAIRED
    alone = len(changed) == 1
    return (
        _list([_observed(attribution, i, j) for j in named], more),
        _list([_normal(attribution, i, j, named=not alone) for j in named], more),
    )


def _unlike(attribution: Attribution, i: int, order: IntVector) -> str:
    """What would make a row like the normal ones that is unlike them and raises no alarm."""
    said = "But the row is unlike the normal rows"
    changed = [int(j) for j in order if attribution.repair.told[1][i, j]]
    if not changed:
        return f"{said}."
    are, would = _are_and_would(attribution, i, changed)
    return f"{said}: {are}; with the rest as it is, {would} would be like them."


def _scores(alarm: float, before: float, after: float) -> list[str]:
    """Scores in as many digits as tell them apart; what is nothing beside the alarm is 0."""
    least = NOTHING * max(abs(alarm), abs(after))
    shown = [0.0 if abs(score) < least else float(score) for score in (alarm, before, after)]
    digits = 4
    while digits < MOST_DIGITS and len({number(each, digits) for each in shown}) < len(set(shown)):
        digits += 1
    return [number(each, digits) for each in shown]


def _has_several(attribution: Attribution, j: int) -> bool:
    """Whether a feature is several numbers, which are shown."""
    if is_redacted(attribution, j):
        return False
    is_one = bool(categories_of(attribution, j)) or _name(attribution, j) in attribution.codecs
    return bool(attribution.membership[j].sum() > 1) and not is_one


def _moved_most(attribution: Attribution, i: int, j: int, *, repaired: bool) -> str:
    """Those of several numbers that the repair moves furthest; fewer where it moves others too."""
    rows, changed = attribution.repair.told
    most = MOST_FIGURES if changed[i].sum() == 1 else 1
    columns = np.flatnonzero(attribution.membership[j])
    row = rows[i] if repaired else attribution.data[i]
    scale = attribution.repair.domain.scale
    far = np.abs(rows[i] - attribution.data[i])[columns] / scale[columns]
    shown = columns[np.argsort(-far, kind="stable")[:most]]
    figures = [f"{attribution.column_names[k]} {number(row[k])}" for k in shown]
    return _list(figures, len(columns) - len(shown))


def _observed(attribution: Attribution, i: int, j: int) -> str:
    name = _name(attribution, j)
    if _has_several(attribution, j):
        return f"{name} is off ({_moved_most(attribution, i, j, repaired=False)})"
    seen = observed(attribution, i, j)
    if seen == REDACTED:
        return f"{name} is off ({seen})"
    return f"{name} {'has' if seen == GAP else 'is'} {seen}"


def _normal(attribution: Attribution, i: int, j: int, *, named: bool) -> str:
    """The repaired value of a feature, and how far it can be moved."""
    if _has_several(attribution, j):
        figures = _moved_most(attribution, i, j, repaired=True)
        return f"{_name(attribution, j)} with {figures}"
    if is_redacted(attribution, j):
        return f"{ANOTHER} of {_name(attribution, j)}" if named else ANOTHER
    value = _value(attribution, i, j)
    return f"{_name(attribution, j)} {value}" if named else value


def _value(attribution: Attribution, i: int, j: int) -> str:
    repair = attribution.repair
    value = normal(attribution, i, j) or ""
    if categories := categories_of(attribution, j):
        quiet = repair.choices[i].get(j, np.zeros((0, len(categories))))
        others = [categories[int(k)] for k in quiet.argmax(axis=1)]
        others = [name for name in others if name != value][:3]
        return f"{value} ({_list(others, 0, 'or')} too)" if others else value
    if span := normal_span(attribution, i, j):
        column = int(np.argmax(attribution.membership[j]))
        is_listed = repair.domain.kinds.given[column] is not None
        return f"{value} ({span})" if is_listed else f"about {value} ({span})"
    ends = normal_range(attribution, i, j)
    codec = attribution.codecs.get(_name(attribution, j))
    is_time = codec is not None and codec.kind == "time"
    is_exact = is_time or (ends is not None and ends[0] == ends[1])
    return value if is_exact else f"about {value}"


def _odd_for(attribution: Attribution, i: int, context: Context | None) -> str:
    """For which values of other features a value is odd."""
    if context is None or not context.given:
        return ""

    def values(features: tuple[int, ...]) -> str:
        return _list(
            [
                _name(attribution, k)
                if _has_several(attribution, k) or is_redacted(attribution, k)
                else f"{_name(attribution, k)} {observed(attribution, i, k)}"
                for k in features
            ],
            0,
        )

    name = _name(attribution, context.feature)
    said = f"{name} is odd for {values(context.given)}"
    if not context.n_alike:
        return f"{said}."
    few = context.given[: context.counted]
    rows = f"{context.n_alike} normal rows with about " + (
        "these values" if len(few) == len(context.given) else values(few)
    )
    count = context.n_as_far
    far = "none has it" if count == 0 else f"{count} {'has' if count == 1 else 'have'} it"
    return f"{said}: of {rows}, {far} so far out."


def _others(attribution: Attribution, i: int) -> str:
    """Other features that would do."""
    offered = []
    for other in attribution.repair.alternatives[i]:
        row = attribution.data[i].copy()
        row[attribution.membership[other.feature]] = other.values
        name = _name(attribution, other.feature)
        is_hidden = is_redacted(attribution, other.feature)
        value = held(attribution, row, other.feature)
        offered.append(f"{ANOTHER} of {name}" if is_hidden else f"{name} {value}")
    if not offered:
        return ""
    has_alarm = not attribution.repair.doubts[i] & Doubt.NO_THRESHOLD
    do = "end it" if has_alarm else "do so"
    return f"Other single changes that {do}: {_list(offered, 0, 'or')}."


def _name(attribution: Attribution, feature: int) -> str:
    return attribution.feature_names[feature]


def _list(texts: list[str], more: int, last: str = "and") -> str:
    """Texts with commas, and a word before the last."""
    if more > 0:
        texts = [*texts, f"{more} more"]
    return in_a_list(texts, last)
