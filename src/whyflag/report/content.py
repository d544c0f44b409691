"""What a report says, as plain data."""

from __future__ import annotations

from typing import Any

import numpy as np

from whyflag.attribution import Attribution
from whyflag.attribution.display import categories_of, held, normal_range, observed
from whyflag.distribution import Distribution
from whyflag.report.groups import groups_of

MOST_ROWS = 500
MOST_FEATURES = 10
DIGITS = 6  # significant ones


def content(
    attribution: Attribution,
    normal: Distribution | None = None,
) -> dict[str, Any]:
    """All that the page shows, of the rows with the highest scores.

    Args:
        attribution: What is reported.
        normal: How normal values are distributed, to set observed ones against.
    """
    order = np.argsort(-attribution.scores, kind="stable")[:MOST_ROWS]
    shown = attribution[order]
    sentences = shown.sentences() if shown.can_be_repaired else None
    groups = groups_of(shown)
    group_of = {row: k for k, group in enumerate(groups) for row in group.rows}
    remarks = shown.remarks
    agreement = shown.agreement if shown.members else None
    said = [(member.method, member.shares) for member in shown.members]
    rows = []
    for i in range(len(shown)):
        row: dict[str, Any] = {
            "name": str(shown.row_names[i]),
            "score": _number(shown.scores[i]),
            "base": _number(shown.base_values[i]),
            "group": group_of[i],
            "features": [_feature(shown, i, int(j)) for j in _largest(shown, i)],
        }
        row["rest"] = _number(
            shown.values[i].sum() - sum(feature["value"] for feature in row["features"])
        )
        if shown.threshold is not None:
            row["flagged"] = bool(shown.flagged[i])
        if sentences is not None:
            row["sentence"] = sentences[i]
        if agreement is not None:
            row["agreement"] = _number(agreement[i])
            row["members"] = [
                {
                    "method": method,
                    "shares": {int(j): _number(shares[i, j]) for j in _largest(shown, i)},
                }
                for method, shares in said
            ]
        if remarks[i]:
            row["remark"] = remarks[i]
        rows.append(row)
    shares = shown.shares
    first = np.bincount(shown.order[:, 0], minlength=shares.shape[1])
    return {
        "method": attribution.method,
        "additive": attribution.additive,
        "threshold": None if attribution.threshold is None else _number(attribution.threshold),
        "n_rows": len(attribution),
        "n_flagged": None if attribution.threshold is None else int(attribution.flagged.sum()),
        "features": [
            {"name": name, **_distribution(attribution, j, normal)}
            for j, name in enumerate(attribution.feature_names)
        ],
        "rows": rows,
        "culprits": [
            {"feature": int(j), "share": _number(shares[:, j].mean()), "first": int(first[j])}
            for j in np.argsort(-shares.mean(axis=0), kind="stable")[:MOST_FEATURES]
        ],
        "groups": [
            {"rows": list(group.rows), "features": list(group.features)} for group in groups
        ],
    }


def _largest(attribution: Attribution, i: int) -> Any:
    return np.argsort(-np.abs(attribution.values[i]), kind="stable")[:MOST_FEATURES]


def _feature(attribution: Attribution, i: int, j: int) -> dict[str, Any]:
    said: dict[str, Any] = {
        "feature": j,
        "value": _number(attribution.values[i, j]),
        "observed": observed(attribution, i, j),
    }
    single = attribution.membership[j].sum() == 1 and not categories_of(attribution, j)
    if single:
        said["at"] = _number(attribution.data[i, attribution.membership[j]][0])
    if attribution.standard_errors is not None and attribution.standard_errors[i, j] > 0:
        error = attribution.standard_errors[i, j]
        said["error"] = _number(error) if np.isfinite(error) else None
    if attribution.can_be_repaired and attribution.repair.changed[i, j]:
        said["normal"] = held(attribution, attribution.repair.rows[i], j)
        if single:
            said["to"] = _number(attribution.repair.rows[i, attribution.membership[j]][0])
        if ends := normal_range(attribution, i, j):
            said["range"] = list(ends)
    return said


def _distribution(attribution: Attribution, j: int, normal: Distribution | None) -> dict[str, Any]:
    """The normal values of a feature: quantiles of a number, frequencies of categories."""
    if normal is None:
        return {}
    columns = np.flatnonzero(attribution.membership[j])
    if categories := categories_of(attribution, j):
        often = [_number(normal.mean[column]) for column in columns]
        return {"frequencies": list(map(list, zip(categories, often, strict=True)))}
    if len(columns) > 1:
        return {}
    return {"quantiles": [_number(value) for value in normal.quantiles[:, columns[0]]]}


def _number(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
