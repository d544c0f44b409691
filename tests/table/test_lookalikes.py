"""Tables as public ones are: learnt at the first try, and planted errors are found."""

import numpy as np
import pytest
from lookalikes import TABLES

from benchmarks.tables import measure
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


@pytest.mark.parametrize("name", ["penguins", "titanic", "tips", "flights", "dowjones", "planets"])
def test_planted_errors_are_flagged_and_come_first(name):
    lines = measure(name)
    assert len(lines) >= 5
    for line in lines:
        # Orbits take from a day to a thousand years: a thousand times more may be another planet's.
        least = 0.75 if (name, line["error"]) == ("planets", "x 1000") else 0.95
        assert line["both"] >= least * line["rows"], line


def test_a_turned_sign_is_turned_back():
    table = TABLES["penguins"](np.random.default_rng(0))
    schema = Schema.of(table)
    model = Model.fit(GMM(2, n_init=1, random_state=0), schema, table)
    row = table.iloc[[100]].assign(body_mass_g=-table["body_mass_g"].iloc[100])
    said = model.explainer()(model.read(row).rows)
    mass = said.feature_names.index("body_mass_g")
    assert said.order[0, 0] == mass
    assert said.repair.rows[0, list(said.column_names).index("body_mass_g")] == -row.iat[0, 5]
    assert schema.shown(row)[0]["body_mass_g"].endswith("(never below zero before)")
