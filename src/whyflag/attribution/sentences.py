"""What happened in a row, and what would have been normal, in one sentence or two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from whyflag.arrays import IntVector
from whyflag.attribution.display import categories_of, held, normal_range, number, observed
from whyflag.repair import Context, Doubt

if TYPE_CHECKING:
    from whyflag.attribution.base import Attribution

MOST_REPAIRED = 4  # features that are named one by one


def sentences(attribution: Attribution) -> tuple[str, ...]:
    """What is to be said of each row, n."""
    return tuple(_of_row(attribution, i, order) for i, order in enumerate(attribution.order))


def _of_row(attribution: Attribution, i: int, order: IntVector) -> str:
    repair = attribution.repair
    alarm = number(repair.alarm)
    if repair.before[i] <= repair.alarm:
        limit = "normal rows score up to" if repair.doubts[i] else "the alarm is at"
        return f"No alarm: the score is {number(repair.before[i])}, {limit} {alarm}."
    changed = [int(j) for j in order if repair.changed[i, j]]
    if not changed:
        return (
            "Nothing that was tried brings the score down: it is "
            f"{number(repair.before[i])}, the alarm is at {alarm}."
        )
    named, more = changed[:MOST_REPAIRED], len(changed) - MOST_REPAIRED
    are = _list([_observed(attribution, i, j) for j in named], more)
    alone = len(changed) == 1
    would = _list([_normal(attribution, i, j, named=not alone) for j in named], more)
    scores = f"score {number(repair.before[i])} → {number(repair.scores[i])}, alarm at {alarm}"
    ends = "That alone ends" if len(changed) == 1 else "Together they end"
    ends = f"{ends} the alarm ({scores})."
    if repair.silenced[i]:
        said = f"{are}; with the rest as it is, {would} would be normal. {ends}"
    else:
        said = f"{are}; nothing that was tried ends the alarm. {would} comes nearest ({scores})."
    parts = [
        said,
        _odd_for(attribution, i, repair.contexts[i]),
        _others(attribution, i),
        *Doubt(int(repair.doubts[i]) & ~Doubt.STILL_ALARMING).sentences,
    ]
    return " ".join(filter(None, parts))


def _has_values(attribution: Attribution, j: int) -> bool:
    """Whether a feature is several numbers, which have no name together."""
    return bool(attribution.membership[j].sum() > 1) and not categories_of(attribution, j)


def _observed(attribution: Attribution, i: int, j: int) -> str:
    name = _name(attribution, j)
    if _has_values(attribution, j):
        return f"{name} ({observed(attribution, i, j)}) is off"
    return f"{name} is {observed(attribution, i, j)}"


def _normal(attribution: Attribution, i: int, j: int, *, named: bool) -> str:
    """The repaired value of a feature, and how far it can be moved."""
    if _has_values(attribution, j):
        return f"other values of {_name(attribution, j)}"
    value = _value(attribution, i, j)
    return f"{_name(attribution, j)} {value}" if named else value


def _value(attribution: Attribution, i: int, j: int) -> str:
    repair = attribution.repair
    value = held(attribution, repair.rows[i], j)
    if categories := categories_of(attribution, j):
        quiet = repair.choices[i].get(j, np.zeros((0, len(categories))))
        others = [categories[int(k)] for k in quiet.argmax(axis=1)]
        others = [name for name in others if name != value][:3]
        return f"{value} ({_list(others, 0, 'or')} too)" if others else value
    interval = normal_range(attribution, i, j)
    exact = value if interval and interval[0] == interval[1] else f"about {value}"
    if interval is None or interval[0] == interval[1]:
        return exact
    return f"{exact} ({interval[0]} to {interval[1]})"


def _odd_for(attribution: Attribution, i: int, context: Context | None) -> str:
    """For which values of other features a value is odd."""
    if context is None or not context.given:
        return ""

    def values(features: tuple[int, ...]) -> str:
        return _list(
            [f"{_name(attribution, k)} {observed(attribution, i, k)}" for k in features], 0
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
        value = held(attribution, row, other.feature)
        offered.append(f"{_name(attribution, other.feature)} {value}")
    if not offered:
        return ""
    return f"Other single changes that end it: {_list(offered, 0, 'or')}."


def _name(attribution: Attribution, feature: int) -> str:
    return attribution.feature_names[feature]


def _list(texts: list[str], more: int, last: str = "and") -> str:
    """Texts with commas, and a word before the last."""
    if more > 0:
        texts = [*texts, f"{more} more"]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {last} {texts[-1]}"
