"""Tables of a database: SQLite, which every Python has."""

import sqlite3

import pytest
from typer.testing import CliRunner

from whyflag.cli import app
from whyflag.table.database import without_password
from whyflag.table.reading import read_sheets
from whyflag.table.sheet import Sheet

pytest.importorskip("sqlalchemy")


@pytest.fixture
def sales(tmp_path):
    """A database with an id that is a text, a gap, and a date."""
    path = tmp_path / "sales.db"
    with sqlite3.connect(path) as base:
        base.execute("create table sales (id text, day date, amount real, pieces integer)")
        rows = [(f"{i:03d}", f"2024-01-{1 + i % 28:02d}", 10 + i % 7 / 4, i % 5) for i in range(60)]
        base.executemany("insert into sales values (?, ?, ?, ?)", rows)
        base.execute("update sales set amount = null where id = '004'")
    base.close()
    return f"sqlite:///{path}"


def test_cells_are_what_the_database_has(sales):
    sheet = Sheet.join(list(read_sheets(sales)))
    assert sheet.columns == ("id", "day", "amount", "pieces")
    row = {name: cells[3] for name, cells in sheet.cells.items()}
    assert row == {"id": "003", "day": "2024-01-04", "amount": "10.75", "pieces": "3"}
    assert sheet.cells["amount"][4] == ""
    assert (len(sheet), sheet.numbers[-1], sheet.place(0)) == (60, 60, "row 1")


def test_a_query_says_which_rows(sales):
    found = read_sheets(sales, query="select id, amount * 2 as twice from sales where pieces = 1")
    sheet = Sheet.join(list(found))
    assert (sheet.columns, len(sheet), sheet.cells["twice"][0]) == (("id", "twice"), 12, "20.5")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select * from sale", "can not be read: .*no such table: sale"),
        ("delete from sales", "the query finds no rows: it should begin with SELECT"),
        ("select id, id from sales", "several columns of the name 'id'"),
        ("select x'00ff' as blob", "a column holds bytes"),
        ("select * from sales where pieces > 9", "it has names of columns, but no rows"),
    ],
)
def test_what_is_wrong_with_a_query_is_said(sales, query, message):
    with pytest.raises(ValueError, match=message):
        list(read_sheets(sales, query=query))
    assert len(Sheet.join(list(read_sheets(sales)))) == 60  # and nothing was changed


def test_of_several_tables_one_is_to_be_named(sales):
    with sqlite3.connect(sales.removeprefix("sqlite:///")) as base:
        base.execute("create table other (a real)")
        base.execute("insert into other values (1)")
    base.close()
    with pytest.raises(ValueError, match=r"\(--query\): it has other, sales"):
        list(read_sheets(sales))
    assert len(next(read_sheets(sales, expected=["amount", "pieces"]))) == 60


def test_a_database_that_is_not_there_is_not_made(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        list(read_sheets(f"sqlite:///{tmp_path}/new.db"))
    assert not list(tmp_path.iterdir())


def test_passwords_are_not_shown():
    with pytest.raises(ValueError, match=r"nodatabase://ann:\*\*\*@host/x can not be read") as said:
        list(read_sheets("nodatabase://ann:secret@host/x"))
    assert "secret" not in str(said.value)


def test_a_query_goes_with_a_database(tmp_path):
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(ValueError, match="is no database, so that it can not be asked"):
        list(read_sheets(tmp_path / "t.csv", query="select 1"))


def test_the_command_line_fits_and_explains_rows_of_a_database(sales, tmp_path):
    run = CliRunner()
    fitted = run.invoke(app, ["fit", sales, "-o", str(tmp_path / "model")])
    assert fitted.exit_code == 0, fitted.output
    with sqlite3.connect(sales.removeprefix("sqlite:///")) as base:
        base.execute("update sales set amount = 9999 where id = '007'")
    base.close()
    query = "select * from sales where id between '005' and '009'"
    arguments = ["explain", str(tmp_path / "model"), sales, "--query", query, "--format", "csv"]
    said = run.invoke(app, [*arguments, "--top", "1", "--only-flagged"])
    assert said.exit_code == 0, said.output
    lines = [line for line in said.stdout.splitlines() if ",007," in line]
    assert len(lines) == 1
    assert ",amount," in lines[0]


@pytest.mark.parametrize("query", ["DROP TABLE sales", "-- why\n drop table sales", "pragma x"])
def test_what_asks_for_no_rows_is_not_run(sales, query):
    with pytest.raises(ValueError, match="it should begin with SELECT"):
        list(read_sheets(sales, query=query))
    assert len(Sheet.join(list(read_sheets(sales)))) == 60


@pytest.mark.parametrize(
    "query",
    [
        "-- all\n select * from sales",
        "/* a; b */ SELECT * from sales",
        "with s as (select * from sales) select * from s",
        "values (1, 2)",
    ],
)
def test_what_asks_for_rows_is_run(sales, query):
    assert len(Sheet.join(list(read_sheets(sales, query=query)))) in (60, 1)


def test_a_password_among_the_options_of_an_address_is_not_shown():
    shown = without_password("postgresql://h/db?user=ann&password=secret&x=1")
    assert shown == "postgresql://h/db?user=ann&password=***&x=1"
