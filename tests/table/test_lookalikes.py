"""Tables as public ones are: learnt at the first try, and planted errors are found."""

import numpy as np
import pandas as pd
import pytest
from lookalikes import TABLES

from whyflag.detectors import GMM
from whyflag.model import Model
from whyflag.table.schema import Schema

READ_AS = {
    "penguins": "ccnnnnc",
    "diamonds": "ncccnnnnnn",
    "mpg": "nnnnnnnc-",
    "titanic": "nncnnnncccccccc",
    "taxis": "ttnnnnnncc--c",
    "planets": "cnnnnn",
    "tips": "nnccccn",
    "flights": "ncn",
    "seaice": "tn",
    "dowjones": "tn",
    "healthexp": "ncnn",
}


@pytest.mark.parametrize("name", TABLES)
def test_columns_are_what_they_are(name):
    table = TABLES[name](np.random.default_rng(0))
    schema = Schema.of(table)
    kinds = {each.name: each.codec.kind[0] for each in schema.columns}
    assert "".join(kinds.get(column, "-") for column in table.columns) == READ_AS[name]
    assert schema.encode(table).foreign.mean() <= 0.01


def planted(row, column, kind):
    """The row with an error of a kind in a column, or None where there is none of the kind."""
    value = row[column]
    as_number = pd.to_numeric(value, errors="coerce")
    if kind == "a word":
        return row | {column: "not measured"} if np.isfinite(as_number) else None
    if kind == "infinite":
        return row | {column: "inf"} if np.isfinite(as_number) else None
    if kind == "another century":
        is_date = value[:4].isdigit() and value[4:5] == "-"
        return row | {column: f"{int(value[:4]) - 100}{value[4:]}"} if is_date else None
    if kind == "a new category":
        return (
            None if not value or value[0].isdigit() or value[0] == "-" else row | {column: "mauve"}
        )
    return row | {column: ""}


KINDS = ("a word", "infinite", "another century", "a new category", "a gap")


@pytest.mark.parametrize("name", ["penguins", "titanic", "tips", "flights", "dowjones", "planets"])
def test_planted_errors_are_flagged_and_come_first(name):
    rng = np.random.default_rng(1)
    table = TABLES[name](rng).astype(object)
    table = table.where(table.notna(), "").astype(str)
    normal, held = table[: len(table) * 4 // 5], table[len(table) * 4 // 5 :]
    schema = Schema.of(normal)
    model = Model.fit(GMM(2, n_init=1, random_state=0), schema, normal)
    gaps = {name for name in schema.names if (normal[name] == "").mean() > 0.001}
    rows, culprits = [], []
    for kind in KINDS:
        for i in range(30):
            row = held.iloc[i % len(held)].to_dict()
            column = schema.names[i % len(schema.names)]
            # A gap is none of the errors where normal rows have gaps.
            odd = None if kind == "a gap" and column in gaps else planted(row, column, kind)
            if odd is not None and row[column]:
                rows.append(odd)
                culprits.append(column)
    said = model.explainer()(model.read(pd.DataFrame(rows)).rows)
    first = [said.feature_names[j] for j in said.order[:, 0]]
    assert len(rows) >= 30
    assert said.flagged.mean() >= 0.95
    assert np.mean(np.array(first) == culprits) >= 0.95
