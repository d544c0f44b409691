"""The figures that the paper prints."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files


def printed(table: str, dataset: str, detector: str, quantity: str) -> float | None:
    """A figure of Takeishi & Kawahara (TMLR 2023); None where the paper has none.

    Args:
        table: "synthanom_mrr", "realanom_mrr" and so on: the names of the tables in its source.
        dataset: As in its tables; "ALL" for the percentiles.
        detector: As in its tables; "percentile 25" and so on.
        quantity: A method, or another column of the table.

    >>> printed("synthanom_mrr", "Thyroid", "GMM", "ASH")
    0.78
    """
    return _figures().get((table, dataset.casefold(), detector, quantity))


@cache
def _figures() -> dict[tuple[str, str, str, str], float]:
    file = files("whyflag_paper") / "paper.csv"
    with file.open(encoding="utf-8") as lines:
        return {
            (row["table"], row["dataset"].casefold(), row["detector"], row["quantity"]): float(
                row["value"]
            )
            for row in csv.DictReader(lines)
            if row["value"]
        }
