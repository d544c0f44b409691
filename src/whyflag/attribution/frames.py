"""An attribution as a table: for pandas, for shap, and for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from whyflag.arrays import Matrix
from whyflag.attribution.display import (
    categories_of,
    is_redacted,
    normal,
    number,
    observed,
    state_of,
)
from whyflag.checks import check_whole
from whyflag.extras import require
from whyflag.table.codec import GAP, REDACTED, WORDS, State, cell

if TYPE_CHECKING:
    import pandas as pd

    from whyflag.attribution.base import Attribution

MOST_ROWS, MOST_FEATURES = 10, 3  # of a table in a notebook


def top(attribution: Attribution, k: int) -> pd.DataFrame:
    """The k largest attributions of each row, with what was observed and what is normal."""
    import pandas as pd

    check_whole("k", k, at_least=1)
    errors = attribution.standard_errors
    normal_rows = _normal_rows(attribution)
    extra = {
        "error": errors if errors is not None and errors.any() else None,
        "spread": attribution.refit_spread,
        "first": attribution.refit_first,
    }
    told = {name: each for name, each in extra.items() if each is not None}
    first = attribution.order[:, :k]
    records = [
        {
            "row": attribution.row_names[i],
            "feature": attribution.feature_names[j],
            "attribution": attribution.values[i, j],
            **{name: each[i, j] for name, each in told.items()},
            "observed": _observed(attribution, i, j),
            "normal": None if normal_rows is None else _normal(attribution, normal_rows, i, j),
        }
        for i in range(len(attribution))
        for j in first[i]
    ]
    columns = ["row", "feature", "attribution", *told, "observed", "normal"]
    return pd.DataFrame.from_records(records, columns=columns)


def _normal_rows(attribution: Attribution) -> Matrix | None:
    """What people are told would be normal, as far as it is known."""
    return attribution.repair.told[0] if attribution.can_be_repaired else attribution.reference


def to_frame(attribution: Attribution) -> pd.DataFrame:
    """The attributions as a table: one row for each row, one column for each feature."""
    import pandas as pd

    names = list(attribution.row_names), list(attribution.feature_names)
    return pd.DataFrame(attribution.values, *names)


def to_shap(attribution: Attribution) -> Any:
    """The attributions as a `shap.Explanation`."""
    shap = require("shap", "to_shap()")
    # A group has no one value to colour a point by: its mean stands in, as it does for the lags
    # of a sensor, and what the group holds is shown as text.
    sizes = attribution.membership.sum(axis=1)  # p
    data = attribution.data @ attribution.membership.T / sizes  # n x p
    data[:, [is_redacted(attribution, j) for j in range(data.shape[1])]] = np.nan
    display = None
    if (sizes != 1).any():
        n, p = attribution.values.shape
        cells = [[_observed(attribution, i, j) for j in range(p)] for i in range(n)]
        display = np.array([[str(cell) for cell in row] for row in cells])
    errors = attribution.standard_errors
    return shap.Explanation(
        values=attribution.values.copy(),
        base_values=attribution.base_values.copy(),
        data=data,
        display_data=display,
        feature_names=list(attribution.feature_names),
        error_std=None if errors is None else errors.copy(),
    )


def as_html(attribution: Attribution) -> str:
    """The first culprits of the first rows, as a table for notebooks."""
    head = ("row", "score", "feature", "attribution", "observed", "normal")
    first = attribution[:MOST_ROWS]
    order, lines, remarks = first.order, [], []
    for i, said in enumerate(first.remarks):
        name = str(first.row_names[i])
        if said:
            remarks.append(f"{name}: {said}")
        for rank, j in enumerate(order[i, :MOST_FEATURES]):
            of_the_row = ("", "") if rank else (name, number(first.scores[i]))
            cells = (
                *of_the_row,
                first.feature_names[j],
                number(first.values[i, j]),
                observed(first, i, int(j)),
                normal(first, i, int(j)) or "",
            )
            lines.append("".join(f"<td>{escape(cell)}</td>" for cell in cells))
    more = len(attribution) - MOST_ROWS
    rest = f"<p>and {more} more rows</p>" if more > 0 else ""
    return (
        f"<p>{escape(repr(attribution))}</p>"
        f"<table><thead><tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr></thead>"
        f"<tbody>{''.join(f'<tr>{line}</tr>' for line in lines)}</tbody></table>"
        f"{rest}{''.join(f'<p>{escape(text)}</p>' for text in remarks)}"
    )


def _cell(attribution: Attribution, rows: Matrix, i: int, j: int) -> Any:
    if is_redacted(attribution, j):
        return REDACTED
    name = attribution.feature_names[j]
    values = rows[i, attribution.membership[j]]
    return cell(values, attribution.codecs.get(name), categories_of(attribution, j))


def _normal(attribution: Attribution, rows: Matrix, i: int, j: int) -> Any:
    """What would be normal; of a cell for which another value stands in, only if that is known."""
    stands_in = attribution.can_be_repaired and state_of(attribution, i, j) != State.USUAL
    if stands_in and not attribution.repair.told[1][i, j]:
        return np.nan
    return _cell(attribution, rows, i, j)


def _observed(attribution: Attribution, i: int, j: int) -> Any:
    """What was observed; what numbers can not say of it, in words."""
    if is_redacted(attribution, j):
        return observed(attribution, i, j)
    shown = {} if attribution.shown is None else attribution.shown[i]
    said = shown.get(attribution.feature_names[j]) or WORDS.get(state_of(attribution, i, j))
    if said is not None:
        return np.nan if said == GAP else said
    return _cell(attribution, attribution.data, i, j)
