import pandas as pd
import pytest

from whyflag.table.schema import Schema

N = 24
COLUMNS = {
    "a minus behind": (lambda i: f"{i}.5-", "Negative numbers: 'a' ('0.5-' for -0.5)"),
    "parentheses": (lambda i: f"({i % 5}.5)", "Negative numbers: 'a' ('(0.5)' for -0.5)"),
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
