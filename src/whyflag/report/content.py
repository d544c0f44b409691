"""What a report says, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import numpy as np

from whyflag.arrays import IntVector, Matrix
from whyflag.attribution import Attribution
from whyflag.report.advice import advice
from whyflag.report.groups import groups_of
from whyflag.report.normal import Normal
from whyflag.report.rows import PART, Cells, Rows
from whyflag.report.rules import rule_of
from whyflag.report.times import times_of
from whyflag.report.words import percent

MOST_ROWS = 500
MOST_IN_RULES = 5
LONGEST_LINK = 60
MOST_CULPRITS = 10


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
    is_alarm = np.zeros(len(shown), bool) if shown.threshold is None else shown.flagged
    times = times_of(shown)
    each = Rows(shown, known)
    rows = [
        {
            **each.row(i),
            "link": links[i],
            "group": group_of.get(i),
            "cells": each.cells(i, whole, id_column),
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
        "culprits": _culprits(shown if not is_alarm.any() else shown[is_alarm]),
        "culprits_of": "rows shown that raise an alarm" if is_alarm.any() else "rows shown",
        "groups": [_group(shown, group.rows, group.features, known.rows) for group in groups],
        "time": None
        if times is None
        else {"name": times.name, "first": times.first, "last": times.last},
    }


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
        link = f"row-{quote(str(name), safe='', errors='replace')[:LONGEST_LINK]}"
        k = 2
        while link in found:
            link = f"{link.rsplit('--', 1)[0]}--{k}"
            k += 1
        found[link] = None
    return list(found)
