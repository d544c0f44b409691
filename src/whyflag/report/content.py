"""What a report says, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import numpy as np

from whyflag.arrays import IntVector, Matrix
from whyflag.attribution import Attribution
from whyflag.attribution.display import (
    categories_of,
    is_redacted,
    normal,
    normal_span,
    number,
    observed,
    state_of,
)
from whyflag.report.advice import advice
from whyflag.report.groups import groups_of
from whyflag.report.normal import Normal
from whyflag.report.rules import STATES, rule_of
from whyflag.report.times import times_of
from whyflag.report.words import lies, percent
from whyflag.table.codec import REDACTED, State

MOST_ROWS = 500
MOST_FEATURES = 8  # of a row, one by one
FEWEST_FEATURES = 5  # where there are many rows
MOST_LINES = 1600  # of features on a page
MOST_CELLS = 15_000  # of whole rows on a page
FEWEST_CELLS = 30  # of each row
SMALL = 0.01  # share below which a feature is one of the others
PART = 0.05  # share from which a feature has a part in what is odd
MOST_IN_RULES = 5
LONGEST_LINK = 60
MOST_CULPRITS = 10

Cells = Sequence[Mapping[str, str]]


def content(
    attribution: Attribution,
    normal_rows: Normal | None = None,
    cells: Cells | None = None,
    id_column: str | None = None,
) -> dict[str, Any]:
    """All that the page shows, of the rows with the highest scores.

    Args:
        attribution: What is reported.
        normal_rows: What is known of normal rows.
        cells: All cells of each row as they came, by the name of the column.
        id_column: The column among them that names the rows.
    """
    known = Normal.of(attribution) if normal_rows is None else normal_rows
    order = np.argsort(-attribution.scores, kind="stable")[:MOST_ROWS]
    shown = attribution[order]
    whole = None if cells is None else [cells[i] for i in order]
    groups = groups_of(shown) if shown.threshold is None else groups_of(shown, shown.flagged)
    group_of = {row: k for k, group in enumerate(groups) for row in group.rows}
    links = _links(shown.row_names)
    times = times_of(shown)
    rows = [
        {
            **_row(shown, i, known),
            "link": links[i],
            "group": group_of.get(i),
            "cells": _cells(shown, i, whole, id_column),
            "time": None if times is None or np.isnan(times.seconds[i]) else times.seconds[i],
        }
        for i in range(len(shown))
    ]
    _add_words(shown, rows)
    return {
        "method": attribution.method,
        "settings": {name: str(value) for name, value in attribution.settings.items()},
        "additive": attribution.additive,
        "threshold": None if attribution.threshold is None else float(attribution.threshold),
        "n_rows": len(attribution),
        "n_flagged": None if attribution.threshold is None else int(attribution.flagged.sum()),
        "features": list(attribution.feature_names),
        "normal_rows": known.origin,
        "redacted": sorted(attribution.redacted),
        "promise": attribution.calibration.promise if attribution.calibration else "",
        "rows": rows,
        "culprits": _culprits(shown),
        "groups": [_group(shown, group.rows, group.features, known.rows) for group in groups],
        "time": None
        if times is None
        else {"name": times.name, "first": times.first, "last": times.last},
    }


def _row(attribution: Attribution, i: int, known: Normal) -> dict[str, Any]:
    shares, values = attribution.shares[i], attribution.values[i]
    total = values[values > 0].sum()
    chosen = _largest(attribution, i)
    alarm, score = attribution.threshold, float(attribution.scores[i])
    return {
        "name": str(attribution.row_names[i]),
        "score": score,
        "shown_score": number(score),
        "stands": known.stands(score),
        "flagged": None if alarm is None else bool(attribution.flagged[i]),
        "near": known.is_near(score, alarm),
        "features": [_feature(attribution, i, int(j), float(total), known) for j in chosen],
        "n_others": len(shares) - len(chosen),
        "rest": float(max(0.0, shares.sum() - shares[chosen].sum())),
        "pair": _pair(attribution, i, known),
    }


def _largest(attribution: Attribution, i: int) -> IntVector:
    """The features that are shown one by one."""
    values, shares = np.abs(attribution.values[i]), attribution.shares[i]
    told = shares >= SMALL
    if attribution.can_be_repaired:
        told |= attribution.repair.changed[i]
    if attribution.states is not None:
        told |= attribution.states[i] != State.USUAL
    order = np.argsort(-np.where(told, values + values.max(), values), kind="stable")
    most = min(MOST_FEATURES, max(FEWEST_FEATURES, MOST_LINES // len(attribution)))
    return order[: max(1, min(most, int(told.sum())))]


def _feature(
    attribution: Attribution, i: int, j: int, total: float, known: Normal
) -> dict[str, Any]:
    said: dict[str, Any] = {
        "feature": j,
        "name": attribution.feature_names[j],
        "value": float(attribution.values[i, j]),
        "share": float(attribution.shares[i, j]),
        "observed": observed(attribution, i, j),
        "mark": STATES.get(state_of(attribution, i, j), ""),
    }
    if attribution.standard_errors is not None and total > 0:
        error = 2 * float(attribution.standard_errors[i, j]) / total
        said["error"] = error if np.isfinite(error) and error >= SMALL / 2 else 0.0
    if attribution.can_be_repaired:
        said["normal"] = normal(attribution, i, j)
        if said["normal"] is not None:
            said["span"] = normal_span(attribution, i, j)
    return {**said, **_place(attribution, i, j, known)}


def _place(attribution: Attribution, i: int, j: int, known: Normal) -> dict[str, Any]:
    """Where a value stands among normal ones; of one that only stands in for another nothing."""
    # A number that is far beyond all has none that could stand there.
    usual = state_of(attribution, i, j) == State.USUAL and not is_redacted(attribution, j)
    if known.distribution is None or not usual:
        return {}
    columns = np.flatnonzero(attribution.membership[j])
    if categories := categories_of(attribution, j):
        values = attribution.data[i, columns]
        if not np.isin(values, (0.0, 1.0)).all() or values.sum() != 1:
            return {}
        part = float(known.distribution.mean[columns[int(np.argmax(values))]])
        said = f"as {percent(part)} of normal rows" if part else "in no normal row"
        return {"lies": said, "part": part, "n_categories": len(categories)}
    if len(columns) > 1:
        return {}
    at = float(attribution.data[i, columns[0]])
    if not np.isfinite(at):
        return {}
    said = lies(known.distribution.place(int(columns[0]), at))
    to = {}
    if attribution.can_be_repaired and attribution.repair.changed[i, j]:
        to = {"to": float(attribution.repair.rows[i, columns[0]])}
    return {"lies": said, "column": int(columns[0]), "at": at, **to}


def _pair(attribution: Attribution, i: int, known: Normal) -> dict[str, Any] | None:
    """Two columns to set the row against normal ones in: the first culprits that are numbers.

    Where the first is odd for the value of another, that other is the second.
    """
    if known.distribution is None:
        return None

    def is_number(j: int) -> bool:
        usual = state_of(attribution, i, j) == State.USUAL and not is_redacted(attribution, j)
        return usual and attribution.membership[j].sum() == 1 and not categories_of(attribution, j)

    first = [int(j) for j in attribution.order[i] if attribution.values[i, j] > 0]
    ranked = first
    if attribution.can_be_repaired and (context := attribution.repair.contexts[i]) is not None:
        ranked = list(dict.fromkeys([context.feature, *context.given, *ranked]))
    pair = [j for j in ranked if is_number(j)][:2]
    if len(pair) < 2 or max(attribution.shares[i, pair]) < PART:
        return None
    columns = [int(np.argmax(attribution.membership[j])) for j in pair]
    moved = attribution.can_be_repaired and attribution.repair.changed[i, pair].any()
    return {
        "columns": columns,
        "names": [attribution.feature_names[j] for j in pair],
        "observed": [observed(attribution, i, j) for j in pair],
        "at": [float(attribution.data[i, column]) for column in columns],
        "to": [float(attribution.repair.rows[i, column]) for column in columns] if moved else None,
    }


def _cells(
    attribution: Attribution, i: int, whole: Cells | None, id_column: str | None
) -> dict[str, Any]:
    """The whole row: what each column had, with a mark where that is not usual, or not used."""
    names = attribution.feature_names
    position = {name: j for j, name in enumerate(names)}
    row = dict.fromkeys(names, "") if whole is None else whole[i]
    most = max(FEWEST_CELLS, MOST_CELLS // len(attribution))
    cells = []
    for name, cell in list(row.items())[:most]:
        j = position.get(name)
        if j is not None:
            text = observed(attribution, i, j, digits=10)
            mark = "not usual" if state_of(attribution, i, j) in STATES else ""
        else:
            text = REDACTED if name in attribution.redacted else cell
            mark = "names the row" if name == id_column else "not used"
        cells.append({"column": name, "text": text, "mark": mark})
    return {"shown": cells, "n_others": len(row) - len(cells)}


def _add_words(attribution: Attribution, rows: list[dict[str, Any]]) -> None:
    """Sentences, what to do, remarks, and what the members of an ensemble say."""
    sentences = attribution.sentences() if attribution.can_be_repaired else None
    remarks = attribution.remarks
    agreement = attribution.agreement if attribution.members else None
    members = [(member.method, member.shares) for member in attribution.members]
    for i, row in enumerate(rows):
        row["remark"] = remarks[i]
        row["advice"] = advice(attribution, i, is_near=row["near"])
        if sentences is not None:
            row["sentence"] = sentences[i]
        if agreement is not None:
            row["agreement"] = float(agreement[i])
            row["members"] = [
                {
                    "method": method,
                    "shares": [float(shares[i, each["feature"]]) for each in row["features"]],
                }
                for method, shares in members
            ]


def _culprits(attribution: Attribution) -> list[dict[str, Any]]:
    """The features with the largest shares over all rows."""
    shares = attribution.shares
    if not len(shares):
        return []
    first = np.bincount(attribution.order[:, 0], minlength=shares.shape[1])
    order = np.argsort(-shares.mean(axis=0), kind="stable")[:MOST_CULPRITS]
    return [
        {
            "name": attribution.feature_names[j],
            "share": float(shares[:, j].mean()),
            "first": int(first[j]),
        }
        for j in order
        if shares[:, j].any()
    ]


def _group(
    attribution: Attribution,
    rows: tuple[int, ...],
    features: tuple[int, ...],
    normal_rows: Matrix | None,
) -> dict[str, Any]:
    members = np.array(rows)
    rule = None
    if normal_rows is not None and len(rows) > 1:
        named = np.array(features)
        others = _in_rules(attribution, members)
        rule = rule_of(attribution, members, named, normal_rows)
        rule = rule or rule_of(attribution, members, others, normal_rows)
    told = None
    if rule is not None:
        said = "no normal row" if rule.normal == 0 else f"{percent(rule.normal)} of normal rows"
        told = {
            "text": rule.text,
            "counts": f"{rule.covered} of {rule.of} rows, {said}",
            "covered": rule.covered,
            "normal": rule.normal,
        }
    return {
        "rows": list(rows),
        "features": [attribution.feature_names[j] for j in features],
        "rule": told,
    }


def _in_rules(attribution: Attribution, members: IntVector) -> IntVector:
    """The features that a rule for rows may be about: those that have a part in what is odd."""
    mean = attribution.shares[members].mean(axis=0)
    order: IntVector = np.argsort(-mean, kind="stable")[:MOST_IN_RULES]
    return order[mean[order] >= min(PART, mean.max())]


def _links(names: Sequence[Any]) -> list[str]:
    """What the address of each row ends with: its name, made distinct."""
    found: dict[str, None] = {}
    for name in names:
        link = f"row-{quote(str(name), safe='')[:LONGEST_LINK]}"
        k = 2
        while link in found:
            link = f"{link.rsplit('--', 1)[0]}--{k}"
            k += 1
        found[link] = None
    return list(found)
