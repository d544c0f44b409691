import pandas as pd
import pytest

from whyflag.table.schema import Schema

N = 24
COLUMNS = {
    "a minus behind": (lambda i: f"{i}.5-", "Negative numbers: 'a' ('0.5-' for -0.5)"),
    "parentheses": (lambda i: f"({i % 5}.5)", "Negative numbers: 'a' ('(0.5)' for -0.5)"),
    "thousands": (lambda i: f"{700 + 20 * i:,}", "Read as numbers: 'a' ('1,000' for 1000)"),
    "thousands in one row": (lambda i: "1,481" if i == 7 else f"{900 + i}", "('1,481' for 1481)"),
    "thousands and decimals": (
        lambda i: f"{700 + 20 * i:,}{'.25' if i == 20 else ''}",
        "Read as numbers: 'a' ('1,100.25' for 1100.25)",
    ),
    "decimal commas": (lambda i: f"EUR {i % 7},50", "Read as numbers: 'a' ('EUR 0,50' for 0.5)"),
    "narrow spaces": (lambda i: f"1\u202f{100 + i},5", "'a' ('1 100,5' for 1100.5)"),
    "many units": (lambda i: f"{i} {('kg', 'lb')[i % 2]}", "'a' ('kg', 'lb': not read as numbers)"),
    "some without": (lambda i: f"{i}{('%', '')[i % 2]}", "'a' ('%' and none: not read as numbers)"),
    "one of another": (
        lambda i: f"{i} {'lb' if i == 5 else 'kg'}",
        "Units differ: 'a' (numbers in 'kg'; not read: 'lb')",
    ),
    "one without": (
        lambda i: f"{i}{'' if i == 5 else ' kg'}",
        "Units differ: 'a' (numbers in 'kg'; those without one count as such)",
    ),
}


@pytest.mark.parametrize(("cell", "note"), COLUMNS.values(), ids=COLUMNS)
def test_odd_signs_and_several_units_are_said(cell, note):
    table = pd.DataFrame({"a": [cell(i) for i in range(N)], "b": [i % 7 for i in range(N)]})
    assert note in " ".join(Schema.of(table).assumed)


@pytest.mark.parametrize("cell", ["{}", "-{}", "{} kg", "r{}", "{}th"])
def test_of_others_nothing_is_said(cell):
    table = pd.DataFrame({"a": [cell.format(i) for i in range(N)], "b": [i % 7 for i in range(N)]})
    said = " ".join(Schema.of(table).assumed)
    assert "Negative" not in said
    assert "Units" not in said
