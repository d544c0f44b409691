"""What is to be done about a row."""

from __future__ import annotations

import numpy as np

from whyflag.attribution import Attribution
from whyflag.attribution.display import in_a_list, observed, state_of
from whyflag.table.codec import State

MOST = 4  # columns that are named


def advice(attribution: Attribution, i: int, *, is_near: bool) -> list[str]:
    """What is to be done about a row, in a few sentences; the first one first."""
    if attribution.threshold is not None and not attribution.flagged[i]:
        if attribution.can_be_repaired and (told := attribution.repair.told[1][i]).any():
            names = [attribution.feature_names[j] for j in attribution.order[i] if told[j]]
            return [f"Check {_named(names)}: the detector does not see it, but it is not usual."]
        if is_near:
            return ["Nothing has to be done: the score is just below the alarm."]
        return ["Nothing: the row raises no alarm."]
    said = []
    if attribution.can_be_repaired:
        order = [int(j) for j in attribution.order[i] if attribution.repair.changed[i, j]]
        states = {j: state_of(attribution, i, j) for j in order}
        said += [_about(attribution, i, j, state) for j, state in states.items() if state]
        names = [attribution.feature_names[j] for j in order if not states[j]]
        others = [
            attribution.feature_names[each.feature] for each in attribution.repair.alternatives[i]
        ]
        if not attribution.repair.silenced[i]:
            said.append("No small change makes this row normal: ask whether it belongs here.")
        elif names:
            said.append(
                f"Check {_named(names)} where the row comes from; correct what is wrong, and score "
                "the row again."
            )
        if names and others:
            said.append(
                f"If {_named(names)} is right, {_named(others, 'or')} may be wrong instead."
            )
    else:
        first = attribution.feature_names[int(np.argmax(attribution.values[i]))]
        said.append(f"Check {first} first, where the row comes from.")
    if is_near:
        said.append("The score is just above the alarm: rows with higher scores come first.")
    else:
        said.append(
            "If all is right as it is, the row is a true exception: find out what it means."
        )
    return said


def _about(attribution: Attribution, i: int, j: int, state: State) -> str:
    """What is to be done about a cell that has no usual value."""
    name, cell = attribution.feature_names[j], observed(attribution, i, j)
    if state == State.GAP:
        return f"Find out why {name} has no value, and fill it in."
    if state == State.NEW:
        return (
            f"Find out whether {name} is wrong, or new: {cell}. What is new and normal belongs "
            "among the rows that the model learns from."
        )
    return f"Correct {name}: {cell}."


def _named(names: list[str], last: str = "and") -> str:
    more = len(names) - MOST
    return in_a_list([*names[:MOST], f"{more} more"] if more > 0 else names, last)
