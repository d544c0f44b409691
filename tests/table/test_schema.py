import json

import numpy as np
import pandas as pd
import pytest

from whyflag.detectors import GMM
from whyflag.model import Model
from whyflag.table.learning import MOST_COLUMNS
from whyflag.table.recognition import TooManyCategoriesError
from whyflag.table.schema import Schema
from whyflag.table.sheet import Sheet

N = 40
RNG = np.random.default_rng(0)
NORMAL = pd.DataFrame(
    {
        "id": [f"p{i}" for i in range(N)],
        "size": RNG.normal(5, 1, N).round(2),
        "colour": ["red", "blue", "red", "red"] * (N // 4),
        "grade": [1, 2, 1, 1] * (N // 4),
        "open": [True, False, True, True] * (N // 4),
        "when": pd.date_range("2024-01-01", periods=N, freq="7h").astype(str),
    },
    index=range(1, N + 1),
)


@pytest.fixture(scope="module")
def schema():
    return Schema.of(NORMAL, types={"grade": "category"})


def changed(**columns):
    table = NORMAL.astype({"size": object, "open": object})
    for name, value in columns.items():
        table.loc[2, name] = value
    return table


def test_a_number_beyond_all_measure_among_the_normal_rows_is_none_of_them():
    texts = [*map(str, range(100, 300)), "1e300"]
    schema = Schema.of(pd.DataFrame({"a": texts}), types={"a": "number"})
    encoded = schema.encode(pd.DataFrame({"a": ["1e300", "150"]}))
    assert encoded.foreign.tolist() == [[True], [False]]
    assert encoded.rows.values.max() < 300
    assert encoded.notes == ("X: 'a': 1e300 (beyond all measure) (row 1).",)
    small = [f"1e-{i}" for i in range(60)]  # each of them has others nearby
    assert (
        not Schema.of(pd.DataFrame({"a": small})).encode(pd.DataFrame({"a": small})).foreign.any()
    )


def test_each_column_is_what_it_looks_like(schema):
    assert schema.id_column == "id"
    assert {each.name: each.codec.kind for each in schema.columns} == {
        "size": "number",
        "colour": "category",
        "grade": "category",
        "open": "category",
        "when": "time",
    }
    assert schema.encoded_columns[:7] == (
        *("size", "colour=blue", "colour=red", "grade=1", "grade=2", "open=False", "open=True"),
    )
    assert schema.encoded_columns[7:] == ("when: hour",)
    assert schema.players["colour"] == ["colour=blue", "colour=red"]
    assert "size" not in schema.players
    assert schema.assumed == (
        "'id' names the rows: a different text in each row.",
        "Times: 'when' (hour counts).",
    )


def test_rows_become_numbers_by_the_names_of_columns(schema):
    encoded = schema.encode(NORMAL[NORMAL.columns[::-1]])
    assert encoded.rows.values[:2, :8].tolist() == [
        [NORMAL["size"][1], 0, 1, 1, 0, 0, 1, 0],
        [NORMAL["size"][2], 1, 0, 0, 1, 1, 0, 7],
    ]
    assert encoded.rows.index[:2] == ("p0", "p1")
    assert not encoded.foreign.any()
    assert encoded.notes == ()


FOREIGN = {
    "a gap": ({"size": None}, "size", "no value"),
    "a word": ({"size": "not measured"}, "size", "not a number: 'not measured'"),
    "a mark of a gap that was never used": ({"size": "n/a"}, "size", "not a number: 'n/a'"),
    "infinity": ({"size": "inf"}, "size", "inf (beyond all measure)"),
    "more than a number holds": ({"size": "1e400"}, "size", "1e400 (beyond all measure)"),
    "more than any measure": ({"size": "-1e300"}, "size", "-1e300 (beyond all measure)"),
    "a new category": ({"colour": "mauve"}, "colour", "mauve (not seen before)"),
    "no category": ({"colour": None}, "colour", "no value"),
    "another truth": ({"open": "perhaps"}, "open", "perhaps (not seen before)"),
    "another century": (
        {"when": "1924-01-01 07:00:00"},
        "when",
        "1924-01-01 07:00:00 (far from 2024)",
    ),
    "no time": ({"when": "today"}, "when", "not a time: 'today'"),
}


@pytest.mark.parametrize(("change", "name", "shown"), FOREIGN.values(), ids=FOREIGN)
def test_a_cell_that_has_no_place_is_foreign_and_shown_as_it_is(schema, change, name, shown):
    table = changed(**change)
    encoded = schema.encode(table)
    expected = np.zeros((N, 5), dtype=bool)
    expected[1, schema.names.index(name)] = True
    assert (encoded.foreign == expected).all()
    assert schema.shown(table)[1][name] == shown
    assert np.isfinite(encoded.rows.values).all()
    # The other rows, and the other cells of the row, are as if nothing was wrong.
    same = [not each.startswith(name) for each in schema.encoded_columns]
    assert (encoded.rows.values[:, same] == schema.encode(NORMAL).rows.values[:, same]).all()


def test_what_is_foreign_is_told_with_its_place(schema):
    (note,) = schema.encode(changed(size="n/a"), where="t.csv").notes
    assert note == "t.csv: 'size': not a number: 'n/a' (row 2)."


def test_a_gap_is_usual_where_enough_normal_rows_have_one():
    table = NORMAL.assign(size=NORMAL["size"].where(NORMAL.index % 4 > 0))
    schema = Schema.of(table)
    assert not schema.encode(table).foreign.any()
    assert schema.shown(table)[3]["size"] == "no value"
    # One gap in forty rows is no alarm if one row in a hundred may be, and is if one in two may.
    assert not Schema.of(changed(size=None)).encode(changed(size=None)).foreign.any()
    few = Schema.of(changed(size=None), rare=0.5)
    assert few.encode(changed(size=None)).foreign.sum() == 1


def test_a_gap_in_a_category_is_a_category():
    table = NORMAL.assign(colour=NORMAL["colour"].where(NORMAL.index % 4 > 0))
    schema = Schema.of(table)
    assert schema.categories["colour"] == ("no value", "blue", "red")
    assert schema.encode(table).rows.values[3, 1:4].tolist() == [1, 0, 0]


def test_true_and_false_are_told_as_yes_and_no():
    table = pd.DataFrame({"open": ["True", "FALSE"] * 30, "kind": ["true", "maybe"] * 30})
    schema = Schema.of(table)
    assert schema.categories["open"] == ("no", "yes")
    assert set(schema.categories["kind"]) == {"true", "maybe"}
    odd = pd.DataFrame({"open": ["True", "perhaps"], "kind": ["true", "maybe"]})
    assert [row["open"] for row in schema.shown(odd)] == ["yes", "perhaps (not seen before)"]
    assert schema.shown(odd)[0]["kind"] == "true"


MARKED = pd.DataFrame({"a": ["<0.5" if i % 20 == 0 else f"{i % 73}.5" for i in range(388)]})


def foreign(schema, *texts):
    return schema.encode(pd.DataFrame({"a": texts})).foreign[:, 0].tolist()


def test_words_that_normal_rows_have_are_usual_and_any_other_is_not():
    table = pd.concat([MARKED, pd.DataFrame({"a": [">400", ">400", "ERR", "1.5"] * 3})])
    schema = Schema.of(table, rare=0.01)
    assert foreign(schema, " <0.5", ">400", "1OO", "<0.4") == [False, False, True, True]
    said = "Texts that can not be read, and are usual: 'a' ('<0.5', '>400'); any other raises"
    assert said in " ".join(schema.assumed)
    # ERR stands in three rows, and four may be alarms.
    assert foreign(schema, "ERR") == [True]
    (note,) = schema.encode(table).notes
    assert note.startswith("X: 'a': not a number: 'ERR'; ")
    assert "(row 391, row 395, row 399 and " in note
    again = Schema.from_json(json.loads(json.dumps(schema.to_json())))
    assert foreign(again, "<0.5", "1OO") == [False, True]


def test_any_word_is_usual_where_many_rows_have_one_of_their_own():
    table = pd.DataFrame({"a": [f"<0.{i}" if i % 20 == 0 else f"{i % 73}.5" for i in range(400)]})
    schema = Schema.of(table)
    assert foreign(schema, "<0.55") == [False]
    assert "Texts that can not be read, and are usual: 'a' (any)." in schema.assumed


def test_a_column_that_is_left_out_though_most_of_it_are_numbers_says_so():
    texts = ["<0.3" if i % 8 == 0 else f"{i * 7 % 173}.25" for i in range(400)]
    table = pd.DataFrame({"a": texts, "b": range(0, 4000, 10)})
    reason = Schema.of(table, id_column="b", types={"a": "number"}).left_out
    assert reason == {}
    with pytest.raises(ValueError, match=r"88 % of its values are numbers, and as a column of"):
        Schema.of(table, id_column="b")


def test_a_new_category_is_usual_where_many_were_seen_only_once():
    kinds = ["a"] * (N - 8) + [f"b{i}" for i in range(8)]
    schema = Schema.of(NORMAL.assign(colour=kinds))
    assert not schema.encode(changed(colour="b9")).foreign[1, 1]


def test_a_new_category_has_the_numbers_of_the_rarest(schema):
    rows = schema.encode(changed(colour="mauve")).rows.values
    assert rows[1, 1:3].tolist() == [1, 0]


def test_any_other_value_of_what_was_always_the_same_is_foreign():
    table = NORMAL.assign(size=5.0, colour="red")
    schema = Schema.of(table)
    assert "Always the same: 'size' (5), 'colour' (red)" in " ".join(schema.assumed)
    other = table.copy()
    other.loc[1, "size"], other.loc[2, "colour"] = 5.0001, "blue"
    assert schema.encode(other).foreign[:3, :2].tolist() == [[1, 0], [0, 1], [0, 0]]
    assert schema.shown(other)[0]["size"] == "5.0001 (always 5 before)"


@pytest.mark.parametrize("above", [3, 3000])
def test_how_numbers_are_written_is_learnt_from_all_of_a_sorted_file(above):
    amounts = np.r_[np.linspace(1, 999, 6000), np.linspace(1002.7, 9000, above)]
    texts = [f"{amount:,.2f}" for amount in amounts]
    rows = Schema.of(pd.DataFrame({"a": texts})).encode(pd.DataFrame({"a": texts[-above:]})).rows
    assert rows.values[:, 0] == pytest.approx(amounts[-above:], abs=0.006)
    assert not rows.states.any()


def test_values_are_written_as_people_write_them():
    table = NORMAL.assign(size=[f"{each:.2f} €".replace(".", ",") for each in NORMAL["size"]])
    schema = Schema.of(table)
    rows = schema.encode(table).rows
    assert set(rows.codecs) == {"size", "when"}
    assert rows.codecs["size"].write(rows.values[0, :1]) == table["size"][1]
    assert rows.codecs["when"].write(rows.values[0, -1:]) == "00:00"


NAMES = {
    "different texts": [f"n{i}" for i in range(N)],
    "leading zeros": [f"{i:03d}" for i in range(N)],
    "rising": list(range(1000, 1000 + N)),
    "beyond double precision": [9007199254740993 + 2 * i for i in range(N)],
}


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_what_names_the_rows_comes_back_to_the_letter(names):
    table = pd.DataFrame({"first": names, "size": NORMAL["size"].to_numpy()})
    schema = Schema.of(table)
    assert (schema.id_column, schema.names) == ("first", ("size",))
    assert schema.encode(table).rows.index == tuple(map(str, names))


@pytest.mark.parametrize(("name", "is_id"), [("user_id", True), ("userId", True), ("width", False)])
def test_whole_numbers_that_differ_are_an_id_if_they_are_called_so(name, is_id):
    table = pd.DataFrame({name: RNG.permutation(10_000)[:N], "size": NORMAL["size"].to_numpy()})
    assert (Schema.of(table).id_column == name) is is_id


def test_texts_of_many_kinds_are_left_out_and_it_is_said():
    table = NORMAL.assign(note=[f"text {2 * i // 3}" for i in range(N)], empty=None)
    schema = Schema.of(table)
    assert schema.left_out == {"note": "27 different texts", "empty": "no value at all"}
    assert "Left out: 'note' (27 different texts), 'empty' (no value at all)." in schema.assumed


def test_what_is_assumed_can_be_said_otherwise():
    schema = Schema.of(
        NORMAL, columns=["s*", "grade"], types={"size": "category"}, id_column="colour"
    )
    assert schema.names == ("size", "grade")
    assert schema.columns[0].codec.kind == "category"
    assert schema.id_column == "colour"
    schema = Schema.of(NORMAL, exclude=["o*", "when"])
    assert schema.names == ("size", "colour", "grade")


def test_all_that_is_wrong_with_a_choice_is_one_message():
    with pytest.raises(ValueError, match=r"no column 'weight'.*no column 'x'.*type of 'size'"):
        Schema.of(NORMAL, columns=["weight"], exclude=["x"], types={"size": "colour"})
    with pytest.raises(ValueError, match="names the rows, so it can not count"):
        Schema.of(NORMAL, columns=["id", "size"], id_column="id")
    with pytest.raises(ValueError, match=r"no column that counts: 'a': no value at all"):
        Schema.of(pd.DataFrame({"a": [None, None]}))
    many = pd.DataFrame({"a": range(2000)})
    with pytest.raises(TooManyCategoriesError, match="2000 different texts"):
        Schema.of(many, types={"a": "category"})
    with pytest.raises(ValueError, match="told to hold numbers, got 'red', 'blue'"):
        Schema.of(NORMAL, types={"colour": "number"})


def test_missing_columns_are_named_together(schema):
    with pytest.raises(ValueError, match=r"t\.csv has no column 'size', 'grade'; it has 'id'"):
        schema.encode(NORMAL.drop(columns=["size", "grade"]), where="t.csv")
    rows = schema.encode(NORMAL.drop(columns="id"), where="t.csv")
    assert rows.notes == ("t.csv: there is no column 'id', so rows go by their numbers.",)
    assert rows.rows.index == tuple(range(1, N + 1))
    extra = schema.encode(NORMAL.assign(more=1), where="t.csv")
    assert extra.notes == ("t.csv: not in the model, so left aside: 'more'.",)


def test_a_schema_survives_json(schema):
    again = Schema.from_json(json.loads(json.dumps(schema.to_json())))
    assert again == schema
    assert (again.encode(NORMAL).rows.values == schema.encode(NORMAL).rows.values).all()


def test_tables_of_other_libraries_are_read_alike(schema):
    pa = pytest.importorskip("pyarrow")
    arrow = pa.Table.from_pandas(NORMAL, preserve_index=False)
    assert (schema.encode(arrow).rows.values == schema.encode(NORMAL).rows.values).all()
    polars = pytest.importorskip("polars")
    frame = polars.from_arrow(arrow)
    for table in (frame, frame.lazy()):
        assert (schema.encode(table).rows.values == schema.encode(NORMAL).rows.values).all()


def test_what_is_no_table_is_refused():
    with pytest.raises(TypeError, match="must be a DataFrame of pandas or polars"):
        Sheet.of([[1, 2]])
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(ValueError, match="several columns of the name 'a'"):
        Sheet.of(twice)


def test_packed_texts_are_the_same_texts():
    sheet = Sheet.of(NORMAL)
    packed = sheet.packed()
    assert all((packed.cells[name] == sheet.cells[name]).all() for name in sheet.cells)
    assert len(Sheet.join([packed, packed])) == 2 * N


def test_more_columns_than_can_count_are_refused_with_what_to_do():
    wide = pd.DataFrame(np.arange(2.0 * (MOST_COLUMNS + 1)).reshape(2, -1)).add_prefix("x")
    with pytest.raises(ValueError, match=r"has 10,001 columns, and 10,000 can count at the most"):
        Schema.of(wide)
    chosen = pd.concat([wide] * 6, ignore_index=True)
    assert Schema.of(chosen, columns=["x1?", "x20"]).names[-1] == "x20"


def test_columns_that_are_called_as_a_part_of_another_are_kept_apart():
    n = 40
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n) * 97, "min")
    frame = pd.DataFrame(
        {
            "color=red": np.arange(n) % 7,
            "color": np.where(np.arange(n) % 3, "red", "blue"),
            "t": [f"{day:%Y-%m-%d %H:%M}" for day in days[[*range(n - 1), 0]]],
            "t: hour": np.arange(n) % 5,
        }
    )
    schema = Schema.of(frame)
    assert schema.encoded_columns == (
        *("color=red", "color=blue", "color=red (2)", "t: hour (2)", "t: hour"),
    )
    assert schema.players == {"color": ["color=blue", "color=red (2)"], "t": ["t: hour (2)"]}
    assert Schema.from_json(schema.to_json()).encoded_columns == schema.encoded_columns
    model = Model.fit(GMM(), schema, frame)
    assert len(model.explainer().explain(model.read(frame[:3]).rows)) == 3


@pytest.mark.parametrize("unit", [1, 1000])
def test_a_clock_in_seconds_is_left_out_whether_or_not_it_repeats(unit):
    seconds = unit * (1_700_000_000 + 60 * np.repeat(np.arange(50), 2))
    table = pd.DataFrame({"ts": seconds, "a": np.arange(100) % 7 / 2})
    schema = Schema.of(table)
    assert schema.left_out == {"ts": "seconds since 1970 that never fall from row to row"}
    mixed = table.sample(frac=1, random_state=0)  # in no order of time it is a number
    assert Schema.of(mixed).names == ("ts", "a")
