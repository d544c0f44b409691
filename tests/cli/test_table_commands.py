import json
import os
import re
import subprocess
import sys
from io import StringIO
from urllib.parse import quote

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from whyflag.attribution import Attribution
from whyflag.cli import app
from whyflag.cli.fit import MOST_COLUMNS, DetectorName, _detector
from whyflag.cli.terminal import MOST_LINES
from whyflag.model import Model

RNG = np.random.default_rng(0)


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    size = rng.normal(20, 2, n)
    return pd.DataFrame(
        {
            "name": [f"N{i}" for i in range(n)],
            "size": size.round(3),
            "weight": (2 * size + rng.normal(0, 1, n)).round(3),
            "colour": rng.choice(["red", "green", "blue"], n, p=[0.6, 0.3, 0.1]),
        }
    )


ODD = pd.DataFrame(
    {
        "colour": ["red", "green", "red"],
        "weight": [40.0, 70.0, 41.0],
        "size": [20.0, 20.0, 20.5],
        "name": ["fine", "heavy", "also fine"],
    }
)


def run(*arguments, text=None):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    table(300).to_csv(folder / "normal.csv", index=False)
    ODD.to_csv(folder / "odd.csv", index=False)
    said = run("fit", folder / "normal.csv", "--id", "name", "-o", folder / "model")
    assert said.exit_code == 0, said.output
    return folder


@pytest.fixture
def explained(folder, tmp_path):
    def explain(*options, rows="odd.csv", name="out.csv"):
        said = run("explain", folder / "model", folder / rows, *options, "-o", tmp_path / name)
        assert said.exit_code == 0, said.output
        return tmp_path / name

    return explain


def test_fitting_says_what_was_learnt(folder, tmp_path):
    said = run("fit", folder / "normal.csv", "--id", "name", "-o", tmp_path / "m")
    assert "Learnt from 300 rows and 3 columns, 1 of them categories." in said.stderr
    assert "at most 1 % of normal rows, by 300 rows that were held out" in said.stderr
    assert said.stdout == ""
    assert Model.load(tmp_path / "m").schema.id_column == "name"


@pytest.mark.parametrize("name", ["gmm", "dagmm", "vae"])
def test_detectors_are_made_as_asked(name):
    made = _detector(DetectorName(name), contamination=0.05, seed=7)
    assert type(made).__name__ == name.upper()
    assert (made.contamination, made.random_state) == (0.05, 7)


def test_the_culprit_of_a_row_comes_first(explained):
    said = pd.read_csv(explained("--top", "2"))
    assert said["row"].tolist() == [1, 1, 2, 2, 3, 3]
    assert said["id"].tolist()[::2] == ODD["name"].tolist()
    heavy = said[said["id"] == "heavy"].iloc[0]
    assert heavy["feature"] == "weight"
    assert heavy["flagged"]
    assert float(heavy["observed"]) == 70
    assert float(heavy["normal"]) == pytest.approx(40, abs=6)


def test_only_flagged_rows_on_request(explained):
    assert set(pd.read_csv(explained("--only-flagged"))["id"]) == {"heavy"}


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_every_format_says_the_same(explained, kind):
    path = explained("--top", "1", name=f"out.{kind}")
    if kind == "jsonl":
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        found = [(each["id"], each["culprits"][0]["feature"]) for each in records]
    else:
        said = pd.read_csv(path) if kind == "csv" else pd.read_parquet(path)
        found = list(zip(said["id"], said["feature"], strict=True))
    assert found[1] == ("heavy", "weight")
    assert [name for name, _ in found] == ODD["name"].tolist()


def test_a_report_is_a_page(explained):
    text = explained(name="report.html").read_text(encoding="utf-8")
    assert "Why were these rows of odd.csv flagged?" in text
    assert "1 of 3 rows raises an alarm" in text
    assert "near (" in text


def test_a_page_shows_of_each_row_its_own_cells(explained):
    page = explained(name="report.html").read_text(encoding="utf-8")
    lines = explained(name="o.jsonl").read_text(encoding="utf-8").splitlines()
    said = {record["id"]: record["sentence"] for record in map(json.loads, lines)}
    rows = {row.split('"', 1)[0]: row for row in page.split('<article id="row-')[1:]}
    assert list(rows) == ["heavy", "also%20fine", "fine"]  # not in the order of the file
    for _, row in ODD.iterrows():
        shown = rows[quote(row["name"])]
        # "No alarm." and the score stand in the first line of a row without an alarm.
        first = said[row["name"]].split(": the score is ")
        assert all(part.split(";")[0].split(",")[0] in shown for part in first)
        words = re.sub("<[^>]*>", " ", shown).split()
        for cell in (f"{row['size']:g}", f"{row['weight']:g}", row["colour"]):
            assert cell in words


def test_a_report_without_alarms_has_nothing_to_say(folder, tmp_path):
    table(5, seed=3).to_csv(tmp_path / "fine.csv", index=False)
    out = tmp_path / "r.html"
    said = run("explain", folder / "model", tmp_path / "fine.csv", "--only-flagged", "-o", out)
    assert (said.exit_code, out.exists()) == (1, False)
    assert "raises an alarm" in said.stderr


def test_a_table_for_people(folder):
    said = run("explain", folder / "model", folder / "odd.csv", "--format", "table")
    assert said.exit_code == 0
    assert "heavy" in said.stdout
    assert "⚑" in said.stdout


def test_a_long_table_says_what_is_left_out(folder, tmp_path):
    table(MOST_LINES + 30, seed=5).to_csv(tmp_path / "many.csv", index=False)
    said = run("score", folder / "model", tmp_path / "many.csv", "--format", "table")
    assert "30 more lines" in said.stderr


def test_scores_are_those_of_the_detector(folder, tmp_path):
    said = run("score", folder / "model", folder / "odd.csv", "-o", tmp_path / "s.csv")
    assert "1 of 3 rows flagged" in said.stderr
    scores = pd.read_csv(tmp_path / "s.csv")
    assert list(scores.columns) == ["row", "id", "score", "severity", "flagged"]
    assert (
        scores["severity"].tolist()
        == Model.load(folder / "model").calibration.severity(scores["score"].to_numpy()).tolist()
    )
    model = Model.load(folder / "model")
    expected = model.detector.to_score()(model.read(ODD).rows.values)
    assert scores["score"].to_numpy() == pytest.approx(expected)


def whyflag(*arguments, text=None):
    """Run as from a shell, in a pipe."""
    return subprocess.run(  # noqa: S603
        [sys.executable, "-c", "from whyflag.cli import app; app()", *map(str, arguments)],
        input=text,
        capture_output=True,
        env=os.environ | {"COLUMNS": "200"},
        check=False,
    )


def test_a_pipe_has_results_only(folder):
    said = whyflag("explain", folder / "model", "-", text=(folder / "odd.csv").read_bytes())
    assert said.returncode == 0, said.stderr
    lines = said.stdout.decode().splitlines()
    assert lines[0].startswith("row,id,score,severity,flagged,rank,feature")
    assert len(lines) == 1 + 3 * 3
    assert b"3 of 3 rows explained" in said.stderr


def test_a_mistake_is_one_line_without_a_traceback(folder):
    said = whyflag("explain", folder / "model", folder / "none.csv", "--quiet")
    assert (said.returncode, said.stdout) == (1, b"")
    lines = said.stderr.decode().strip().splitlines()
    assert len(lines) == 1
    assert lines[0].endswith("none.csv does not exist.")


def test_a_reader_that_goes_is_no_error(folder):
    read, write = os.pipe()
    os.close(read)
    arguments = ("explain", folder / "model", folder / "odd.csv", "--format", "csv", "--quiet")
    said = subprocess.run(  # noqa: S603
        [sys.executable, "-c", "from whyflag.cli import app; app()", *map(str, arguments)],
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert said.returncode == 141
    assert said.stderr.decode().splitlines()[1:] == []  # the order of the columns, and no complaint


def test_nothing_that_a_terminal_obeys_is_shown(folder, tmp_path):
    odd = ODD.assign(name=["\x1b]0;x\x07[b]one", "two\x9b", "three"], colour="\x1b[31mred")
    odd.to_csv(tmp_path / "odd.csv", index=False)
    said = run("explain", folder / "model", tmp_path / "odd.csv", "--format", "table")
    assert said.exit_code == 0, said.output
    assert not set("\x1b\x07\x9b") & set(said.output)
    assert "[b]one" in said.stdout


def test_ids_are_no_formulas_unless_they_are_asked_for_as_they_are(folder, tmp_path):
    ODD.assign(name="=1+2").to_csv(tmp_path / "odd.csv", index=False)
    for options, name in (((), "'=1+2"), (("--raw",), "=1+2")):
        arguments = ("score", folder / "model", tmp_path / "odd.csv", "-o", tmp_path / "s.csv")
        assert run(*arguments, *options).exit_code == 0
        assert set(pd.read_csv(tmp_path / "s.csv")["id"]) == {name}


@pytest.mark.parametrize(
    "error", [RecursionError(), MemoryError(), KeyError("x"), OSError(28, "x")]
)
def test_an_error_of_any_type_is_one_line(folder, monkeypatch, error):
    def fail(*_):
        raise error

    monkeypatch.setattr(Model, "load", fail)
    said = run("score", folder / "model", folder / "odd.csv")
    assert said.exit_code == 1
    assert said.stderr.count("\n") == 1
    assert (
        type(error).__name__ if not isinstance(error, OSError) else "does not fit"
    ) in said.stderr


def test_wrong_usage_ends_with_2(folder):
    assert whyflag("explain", folder / "model").returncode == 2
    assert whyflag("explain", folder / "model", "x.csv", "--top", "none").returncode == 2


MISTAKES = {
    "empty": ("", "it is empty"),
    "only names": ("name,size,weight,colour\n", "has names of columns, but no rows"),
    "a missing column": ("name,size,weight\nA,1,2\n", "has no column 'colour'"),
    "a field too few": (
        "name,size,weight,colour\nA,20,40,red\nB,20,red\nC,1,2,red\n",
        "line 3 has 3",
    ),
}


@pytest.mark.parametrize(("text", "message"), MISTAKES.values(), ids=MISTAKES)
@pytest.mark.parametrize("command", ["score", "explain"])
def test_what_is_wrong_with_a_file_is_said(folder, tmp_path, command, text, message):
    (tmp_path / "rows.csv").write_text(text)
    out = tmp_path / "out.csv"
    said = run(command, folder / "model", tmp_path / "rows.csv", "-o", out)
    assert said.exit_code == 1
    assert message in said.stderr
    assert not out.exists()
    assert list(tmp_path.iterdir()) == [tmp_path / "rows.csv"]  # nothing half-written either


ODD_CELLS = {
    "a gap": ("B,20,,red", "weight", "no value"),
    "text for a number": ("B,big,40,red", "size", "not a number: 'big'"),
    "infinity": ("B,20,1e400,red", "weight", "1e400 (beyond all measure)"),
    "a new category": ("B,20,40,mauve", "colour", "mauve (not seen before)"),
}


@pytest.mark.parametrize(("line", "feature", "shown"), ODD_CELLS.values(), ids=ODD_CELLS)
@pytest.mark.parametrize("kind", ["csv", "html"])
def test_an_odd_cell_is_the_culprit_and_other_rows_are_explained(
    folder, tmp_path, line, feature, shown, kind
):
    (tmp_path / "rows.csv").write_text(f"name,size,weight,colour\nA,20,40,red\n{line}\n")
    said = run("explain", folder / "model", tmp_path / "rows.csv", "-o", tmp_path / f"o.{kind}")
    assert said.exit_code == 0, said.output
    if kind == "html":
        assert shown.replace("'", "&#39;") in (tmp_path / "o.html").read_text(encoding="utf-8")
        return
    why = pd.read_csv(tmp_path / "o.csv")
    assert why["id"].tolist() == ["A"] * 3 + ["B"] * 3
    first = why[why["rank"] == 1].set_index("id")
    assert first["flagged"].to_dict() == {"A": False, "B": True}
    assert (first["feature"]["B"], first["observed"]["B"]) == (feature, shown)


def test_a_file_is_answered_whole_or_not_at_all(folder, tmp_path):
    rows = [f"N{i},20,40,red" for i in range(60_000)]
    rows[59_000] += ",more"
    (tmp_path / "rows.csv").write_text("\n".join(["name,size,weight,colour", *rows]))
    said = run("score", folder / "model", tmp_path / "rows.csv", "--format", "csv")
    assert (said.exit_code, said.stdout) == (1, "")
    assert "line 59002 has 5" in said.stderr


def test_columns_are_matched_by_name_and_others_left_aside(folder, tmp_path):
    ODD.assign(score=1.0).to_csv(tmp_path / "rows.csv", index=False)
    said = run("score", folder / "model", tmp_path / "rows.csv", "-o", tmp_path / "o.csv")
    assert "not in the model, so left aside: 'score'" in said.stderr
    assert pd.read_csv(tmp_path / "o.csv")["flagged"].tolist() == [False, True, False]


def test_a_category_that_never_varied_is_shown_by_its_name(tmp_path):
    normal = table(100).drop(columns="name").assign(colour="red")
    normal.to_csv(tmp_path / "normal.csv", index=False)
    odd = normal.iloc[:2].assign(colour=["red", "mauve"])
    odd.to_csv(tmp_path / "odd.csv", index=False)
    assert run("fit", tmp_path / "normal.csv", "-o", tmp_path / "m").exit_code == 0
    run("explain", tmp_path / "m", tmp_path / "odd.csv", "-o", tmp_path / "o.csv")
    why = pd.read_csv(tmp_path / "o.csv")
    colours = why[why["feature"] == "colour"]
    assert set(colours["observed"]) == {"red", "mauve (not seen before)"}
    assert set(colours["normal"].dropna()) == {"red"}


@pytest.mark.parametrize("options", [(), ("--id", "name")])
def test_a_category_that_is_new_is_shown_as_it_is(folder, tmp_path, options):
    normal = table(100) if options else table(100).drop(columns="name")
    normal.to_csv(tmp_path / "normal.csv", index=False)
    odd = normal.iloc[:3].copy()
    odd.iloc[1, odd.columns.get_loc("colour")] = "<b>mauve"
    odd.to_csv(tmp_path / "odd.csv", index=False)
    run("fit", tmp_path / "normal.csv", *options, "-o", tmp_path / "m")
    said = run("explain", tmp_path / "m", tmp_path / "odd.csv", "-o", tmp_path / "o.csv")
    assert "'colour': <b>mauve (not seen before) (line 3)" in said.stderr
    why = pd.read_csv(tmp_path / "o.csv")
    first = why[(why["row"] == 2) & (why["rank"] == 1)].iloc[0]
    assert (first["feature"], first["observed"]) == ("colour", "<b>mauve (not seen before)")
    run("explain", tmp_path / "m", tmp_path / "odd.csv", "-o", tmp_path / "o.html")
    page = (tmp_path / "o.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;mauve" in page
    assert "<b>mauve" not in page


def test_a_german_csv(tmp_path):
    text = table(100).to_csv(sep=";", decimal=",", index=False).replace("colour", "Größe")
    (tmp_path / "normal.csv").write_bytes(text.encode("cp1252"))
    said = run("fit", tmp_path / "normal.csv", "--id", "name", "-o", tmp_path / "m")
    assert said.exit_code == 0, said.output
    assert Model.load(tmp_path / "m").schema.names == ("size", "weight", "Größe")


def test_a_column_named_score_is_a_feature_like_any_other(tmp_path):
    normal = table(100).drop(columns=["name", "colour"]).rename(columns={"size": "score"})
    normal.to_csv(tmp_path / "normal.csv", index=False)
    normal.iloc[:1].assign(score=90).to_csv(tmp_path / "odd.csv", index=False)
    assert run("fit", tmp_path / "normal.csv", "-o", tmp_path / "m").exit_code == 0
    run("explain", tmp_path / "m", tmp_path / "odd.csv", "-o", tmp_path / "o.csv")
    assert pd.read_csv(tmp_path / "o.csv")["feature"][0] == "score"


def test_one_row_can_be_explained_but_not_learnt_from(folder, tmp_path):
    ODD.iloc[1:2].to_csv(tmp_path / "one.csv", index=False)
    said = run("explain", folder / "model", tmp_path / "one.csv", "-o", tmp_path / "o.csv")
    assert said.exit_code == 0
    said = run("fit", tmp_path / "one.csv", "--id", "name", "-o", tmp_path / "m")
    assert said.exit_code == 1
    assert "has too few rows to learn from: 1; at least 10 are needed" in said.stderr


def test_chosen_columns_only(folder, tmp_path):
    said = run(
        *("fit", folder / "normal.csv", "--columns", "size, weight", "-o", tmp_path / "m"),
    )
    assert said.exit_code == 0
    assert Model.load(tmp_path / "m").schema.names == ("size", "weight")


def test_an_id_that_was_not_named_is_found(folder, tmp_path):
    said = run("fit", folder / "normal.csv", "-o", tmp_path / "m")
    assert said.exit_code == 0
    names = "'name' names the rows: a different text in each row. (--id says otherwise)"
    assert names in said.stderr


def test_columns_are_chosen_by_pattern_and_typed_by_hand(folder, tmp_path):
    options = ("--exclude", "w*", "--type", "size=category", "-o", tmp_path / "m")
    said = run("fit", folder / "normal.csv", *options)
    assert said.exit_code == 0, said.output
    schema = Model.load(tmp_path / "m").schema
    assert [(each.name, each.codec.kind) for each in schema.columns] == [
        ("size", "category"),
        ("colour", "category"),
    ]
    said = run("fit", folder / "normal.csv", "--type", "size", "-o", tmp_path / "m")
    assert "--type is given as COLUMN=TYPE, got 'size'" in said.stderr


def test_names_with_commas_are_names(tmp_path):
    normal = table(100).rename(columns={"size": "size, mm"})
    normal.to_csv(tmp_path / "n.csv", index=False)
    said = run("fit", tmp_path / "n.csv", "--columns", "size, mm", "-o", tmp_path / "m")
    assert said.exit_code == 0, said.output
    assert Model.load(tmp_path / "m").schema.names == ("size, mm",)


def test_a_folder_with_other_things_in_it_is_left_alone(folder, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    said = run("fit", folder / "normal.csv", "--id", "name", "-o", tmp_path)
    assert said.exit_code == 1
    assert "has other files in it" in said.stderr


def test_methods_that_need_rows_have_them_kept_and_it_is_said(folder, tmp_path):
    arguments = ("--id", "name", "--method", "ASH", "--method", "wKSH", "-o", tmp_path / "m")
    said = run("fit", folder / "normal.csv", *arguments)
    assert "Rows are explained by ASH and wKSH. The model holds 300 of the rows" in said.stderr
    assert "of the rows, because wKSH needs them." in said.stderr
    said = run("explain", tmp_path / "m", folder / "odd.csv", "-o", tmp_path / "r.html")
    assert said.exit_code == 0, said.output
    assert "Ensemble(ASH, wKSH)" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_fit_says_by_which_method_rows_are_explained(folder, tmp_path):
    arguments = ("--id", "name", "--method", "ASH", "-o", tmp_path / "m")
    said = run("fit", folder / "normal.csv", *arguments)
    assert "Rows are explained by ASH.\n" in said.stderr


def test_a_method_whose_rows_were_not_kept_is_refused(folder, tmp_path):
    run("fit", folder / "normal.csv", "--id", "name", "--method", "ASH", "-o", tmp_path / "m")
    said = run("explain", tmp_path / "m", folder / "odd.csv", "--method", "wKSH")
    assert said.exit_code == 1
    assert "fit it for wKSH" in said.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--method", "magic"), "magic"),
        (("-o", "out.docx"), "does not say by its name how to write it"),
        (("--format", "parquet"), "name one with -o"),
        (("--format", "html"), "name one with -o"),
    ],
)
def test_what_is_asked_for_and_can_not_be_had_is_said(folder, arguments, message):
    said = run("explain", folder / "model", folder / "odd.csv", *arguments)
    assert said.exit_code == 1
    assert message in said.stderr


def test_scores_are_no_page(folder, tmp_path):
    said = run("score", folder / "model", folder / "odd.csv", "-o", tmp_path / "s.html")
    assert said.exit_code == 1
    assert "whyflag explain" in said.stderr


def test_the_demo_ends_with_a_table_and_a_page(tmp_path):
    said = run("demo", "-o", tmp_path / "demo")
    assert said.exit_code == 0, said.output
    assert "flavanoids" in said.stdout
    page = tmp_path / "demo" / "report.html"
    assert said.stdout.rstrip().endswith("in a browser.")
    assert "B150" in page.read_text(encoding="utf-8")


def test_rows_of_a_chunk_are_put_in_order_once(explained, monkeypatch):
    sorted_ = []
    order = Attribution.order.fget
    monkeypatch.setattr(
        Attribution, "order", property(lambda self: sorted_.append(1) or order(self))
    )
    assert len(pd.read_csv(explained())) == 9
    assert len(sorted_) == 2  # for the culprits, and for the sentences


@pytest.fixture(scope="module")
def two_kinds(tmp_path_factory):
    """Normal rows of two kinds: their mean, from which IG starts, is neither, and an alarm."""
    folder = tmp_path_factory.mktemp("two kinds")
    kind = RNG.choice([-20.0, 20.0], 300)[:, None]
    normal = pd.DataFrame(kind + RNG.normal(size=(300, 3)), columns=["a", "b", "c"])
    odd = pd.DataFrame([[20.0, 20, 90], [20, 20, 20]], columns=normal.columns)
    odd.assign(name=["[far]", "fine"]).to_csv(folder / "odd.csv", index=False)
    normal.assign(name="n").to_csv(folder / "normal.csv", index=False)
    options = ("--id", "name", "--method", "IG", "-o", folder / "model")
    said = run("fit", folder / "normal.csv", *options)
    assert said.exit_code == 0, said.output
    return folder


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_a_normal_that_raises_the_alarm_is_remarked_in_files(two_kinds, tmp_path, kind):
    path = tmp_path / f"out.{kind}"
    said = run("explain", two_kinds / "model", two_kinds / "odd.csv", "--top", "1", "-o", path)
    assert "1 of 2 rows has a remark" in said.stderr
    if kind == "jsonl":
        lines = path.read_text(encoding="utf-8").splitlines()
        remarks = [json.loads(line)["remark"] for line in lines]
    else:
        table = pd.read_csv(path) if kind == "csv" else pd.read_parquet(path)
        remarks = [None if pd.isna(text) else text for text in table["remark"]]
    assert "still raises the alarm: its score is" in remarks[0]
    assert remarks[1] is None


def test_a_normal_that_raises_the_alarm_is_remarked_below_the_table(two_kinds, tmp_path):
    rows = ("explain", two_kinds / "model", two_kinds / "odd.csv", "--format", "table")
    said = run(*rows).stdout
    assert said.count("! [far]: What was found as normal still raises the alarm") == 1
    assert "⚑ !" in said
    assert "! fine" not in said
    run(*rows, "-o", tmp_path / "table.txt")
    assert "! [far]: What" in (tmp_path / "table.txt").read_text(encoding="utf-8")


def test_rows_without_a_remark_are_not_spoken_of(explained, folder):
    said = run("explain", folder / "model", folder / "odd.csv", "--format", "table")
    assert "!" not in said.stdout
    assert "remark" not in said.stderr
    assert pd.read_csv(explained())["remark"].isna().all()


def test_drift_is_said_first_and_once(folder, tmp_path):
    changed = pd.concat([table(100, seed=8), table(300, seed=9).assign(weight=70.0)])
    changed.to_csv(tmp_path / "drift.csv", index=False)
    for command in (("score",), ("explain", "--jobs", "1", "--top", "1")):
        arguments = (folder / "model", tmp_path / "drift.csv", "--format", "csv")
        said = run(command[0], *arguments, *command[1:], "--quiet")
        assert said.exit_code == 0, said.output
        (line,) = [each for each in said.stderr.splitlines() if "Since row" in each]
        assert "Since row 101, 300 of 300 rows are flagged, and most of them for 'weight'" in line
        assert said.stderr.splitlines().index(line) < len(said.stderr.splitlines()) - 1


def test_drift_stands_above_all_rows_of_a_page(folder, tmp_path):
    changed = pd.concat([table(100, seed=8), table(300, seed=9).assign(weight=70.0)])
    for name, rows in (("drift", changed), ("clean", table(100, seed=8))):
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
        out = tmp_path / f"{name}.html"
        run("explain", folder / "model", tmp_path / f"{name}.csv", "-o", out, "--jobs", "1")
        text = out.read_text(encoding="utf-8")
        at = text.find("Since row 101, 300 of 300 rows are flagged")
        assert (0 < at < text.index("<main>")) == (name == "drift")


def test_of_clean_files_and_scattered_anomalies_no_drift_is_said(folder, tmp_path):
    scattered = table(400, seed=11)
    scattered.loc[::4, "weight"] = 70.0
    for name, rows in (("clean", table(400, seed=10)), ("scattered", scattered)):
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
        said = run("score", folder / "model", tmp_path / f"{name}.csv", "--format", "csv")
        assert "Since row" not in said.stderr


def test_refits_say_how_often_a_feature_comes_first(folder, explained):
    said = pd.read_csv(explained("--refits", "3", "--top", "3"))
    heavy = said[said["id"] == "heavy"]
    assert heavy["first"].sum() == pytest.approx(1)
    assert heavy.iloc[0][["feature", "first"]].tolist() == ["weight", 1.0]
    assert heavy.iloc[0]["spread"] > 0
    shown = run("explain", folder / "model", folder / "odd.csv", "--refits", "3", "--format=table")
    assert "100 %" in shown.stdout


def test_refits_need_one_method_and_rows(folder):
    arguments = ("explain", folder / "model", folder / "odd.csv", "--refits", "2")
    said = run(*arguments, "--method", "near", "--method", "marg")
    assert (said.exit_code, "one method" in said.stderr) == (1, True)


def test_the_rows_of_a_table_stand_in_the_order_of_their_scores(folder):
    said = run("score", folder / "model", folder / "odd.csv", "--format", "table")
    order = sorted(ODD["name"], key=said.stdout.index)
    csv = run("score", folder / "model", folder / "odd.csv", "--format", "csv").stdout
    scores = pd.read_csv(StringIO(csv)).set_index("id")["score"]
    assert order == scores.sort_values(ascending=False).index.tolist()


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_word_is_cut_however_narrow_the_terminal(folder, monkeypatch, width):
    from whyflag.cli import terminal

    monkeypatch.setattr(terminal.console, "_width", width)
    said = run("explain", folder / "model", folder / "odd.csv", "--format", "table")
    assert "…" not in said.stdout
    words = said.stdout.split()
    assert {"weight", "size", "colour"} <= {word.strip(":,.") for word in words}
    assert max(map(len, said.stdout.splitlines())) <= width


def test_the_help_names_the_extra_that_networks_need():
    assert "whyflag[torch]" in " ".join(run("fit", "--help").stdout.split())


@pytest.mark.parametrize("name", ["forest", "lof"])
def test_other_detectors_find_the_culprit_too(folder, tmp_path, name):
    model = tmp_path / "m"
    said = run("fit", folder / "normal.csv", "--id", "name", "--detector", name, "-o", model)
    assert said.exit_code == 0, said.output
    assert "Detector:" not in said.stderr
    rows = run("explain", model, folder / "odd.csv", "--format", "csv", "--top", "1").stdout
    heavy = pd.read_csv(StringIO(rows)).set_index("id").loc["heavy"]
    assert heavy["feature"] == "weight"
    assert heavy["severity"] > 95


def test_fit_says_which_detector_it_took_and_why(folder, tmp_path):
    said = run("fit", folder / "normal.csv", "--id", "name", "-o", tmp_path / "m")
    (line,) = [each for each in said.stderr.splitlines() if each.startswith("Detector:")]
    assert "Detector: gmm. Anomalies planted in held-out rows" in line
    assert "forest" in line
    assert "lof" in line


def test_a_row_that_is_normal_but_for_a_gap_has_no_remark(tmp_path):
    pd.DataFrame({"a": [3] * 40, "b": ["x"] * 40}).to_csv(tmp_path / "n.csv", index=False)
    (tmp_path / "odd.csv").write_text("a,b\n3,\n4,x\n3,y\n", encoding="utf-8")
    assert run("fit", tmp_path / "n.csv", "-o", tmp_path / "m").exit_code == 0
    said = run("explain", tmp_path / "m", tmp_path / "odd.csv", "--format", "jsonl")
    rows = [json.loads(line) for line in said.stdout.splitlines()]
    assert [row["culprits"][0]["feature"] for row in rows] == ["b", "a", "b"]
    assert [row["flagged"] for row in rows] == [True] * 3
    assert [row["remark"] for row in rows] == [None] * 3


def test_a_gap_is_filled_by_what_the_rest_of_the_row_says(tmp_path):
    net = np.random.default_rng(0).lognormal(6, 0.7, 300).round(2)
    land = np.where(np.arange(300) % 3, "DE", "CH")
    tax = (net * np.where(land == "DE", 0.19, 0.08)).round(2)
    rows = pd.DataFrame({"net": net, "tax": tax, "land": land})
    rows.to_csv(tmp_path / "n.csv", index=False)
    (tmp_path / "odd.csv").write_text("net,tax,land\n1000,,DE\n1000,190,PL\n", encoding="utf-8")
    said = run("fit", tmp_path / "n.csv", "-o", tmp_path / "m", "--detector", "forest")
    assert said.exit_code == 0
    said = run("explain", tmp_path / "m", tmp_path / "odd.csv", "--format", "jsonl")
    gap, new = (json.loads(line)["culprits"][0] for line in said.stdout.splitlines())
    assert gap["feature"] == "tax"
    assert float(gap["normal"]) == pytest.approx(190, rel=0.15)  # the median is about 70
    assert float(gap["lower"]) < 190 < float(gap["upper"])
    assert (new["feature"], new["normal"]) == ("land", "DE")  # CH is the rarest


def test_what_can_not_be_learnt_is_said_in_words(folder, tmp_path):
    taken = tmp_path / "taken"
    taken.write_text("mine", encoding="utf-8")
    said = run("fit", folder / "normal.csv", "-o", taken)
    assert (said.exit_code, taken.read_text(encoding="utf-8")) == (1, "mine")
    assert "is a file: name a folder with -o" in said.stderr
    assert run("fit", folder / "normal.csv", "-o", tmp_path / "m", "--seed", "-1").exit_code == 2
    numbers = "a\n" + "\n".join(map(str, range(1, 41)))
    (tmp_path / "ids.csv").write_text(numbers, encoding="utf-8")
    said = run("fit", tmp_path / "ids.csv", "-o", tmp_path / "m")
    assert said.exit_code == 1
    assert "'a': it names the rows" in said.stderr


def test_of_very_many_columns_no_mixture_is_tried_and_that_is_said(tmp_path):
    rows = np.random.default_rng(0).normal(size=(20, MOST_COLUMNS + 1)).round(3)
    pd.DataFrame(rows).add_prefix("x").to_csv(tmp_path / "wide.csv", index=False)
    said = run("fit", tmp_path / "wide.csv", "-o", tmp_path / "model")
    assert said.exit_code == 0, said.output
    assert f"No mixture is tried: with {MOST_COLUMNS + 1} columns" in said.stderr
    assert type(Model.load(tmp_path / "model").detector).__name__ in ("Forest", "LOF")


def test_a_row_without_a_name_goes_by_its_number(folder, tmp_path):
    ODD.assign(name=["fine", "", "also fine"]).to_csv(tmp_path / "odd.csv", index=False)
    said = run("explain", folder / "model", tmp_path / "odd.csv", "--format", "table")
    assert "row 2: weight is 70" in said.stdout


def test_where_no_row_raises_an_alarm_that_is_said_and_no_empty_table(folder):
    said = run("explain", folder / "model", folder / "odd.csv", "--only-flagged", "--top", "1")
    quiet = ODD.assign(weight=40.0, size=20.0)
    quiet.to_csv(folder / "quiet.csv", index=False)
    none = run(
        "explain", folder / "model", folder / "quiet.csv", "--only-flagged", "--format", "table"
    )
    assert "1 of 3 rows explained by near." in said.stderr
    assert "None of 3 rows raises an alarm, so none is explained." in none.stderr
    assert none.stdout.strip() == ""


def test_what_fit_notices_of_cells_and_totals_names_the_file(tmp_path):
    rows = table(40).astype(str)
    rows.loc[7, "size"] = "broken"
    total = pd.DataFrame([{"name": "Total", "weight": f"{rows['weight'].astype(float).sum():.3f}"}])
    pd.concat([rows, total]).to_csv(tmp_path / "report.csv", index=False)
    said = run("fit", tmp_path / "report.csv", "-o", tmp_path / "model", "--detector", "gmm")
    assert f"{tmp_path}/report.csv: 'size': not a number: 'broken' (line 9)." in said.stderr
    assert "report.csv: taken for totals, not for a row: the last one" in said.stderr
    assert "Learnt from 40 rows" in said.stderr


def test_rows_that_repeat_get_a_detector_that_flags_errors(tmp_path):
    rng = np.random.default_rng(0)
    distinct = rng.multivariate_normal([20, 40, 5], [[4, 3.6, 0], [3.6, 4, 0], [0, 0, 1]], 60)
    frame = pd.DataFrame(distinct.round(2)[rng.integers(60, size=1000)], columns=list("abc"))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame[:20].mul(1000).to_csv(tmp_path / "wrong.csv", index=False)
    said = run("fit", tmp_path / "rows.csv", "-o", tmp_path / "model")
    assert "Detector: gmm." in said.stderr
    assert "Duplicate" not in said.stderr
    said = run("score", tmp_path / "model", tmp_path / "wrong.csv")
    assert "20 of 20 rows flagged" in said.stderr
    said = run("fit", tmp_path / "rows.csv", "--detector", "lof", "-o", tmp_path / "lof")
    assert said.stderr.count("infinitely dense") == 1


@pytest.mark.parametrize("command", ["score", "explain"])
@pytest.mark.parametrize("name", ["rows.csv", "link.csv"])
def test_rows_are_not_written_over(folder, tmp_path, command, name):
    rows, link = tmp_path / "rows.csv", tmp_path / "link.csv"
    ODD.to_csv(rows, index=False)
    link.symlink_to(rows)
    said = run(command, folder / "model", rows, "-o", tmp_path / name)
    assert said.exit_code == 1
    assert "is the file of rows itself: name another with -o." in said.stderr
    assert rows.read_text() == ODD.to_csv(index=False)


def test_a_model_is_not_written_around_its_rows(folder, tmp_path):
    run("fit", folder / "normal.csv", "-o", tmp_path / "model")
    rows = tmp_path / "model" / "rows.csv"
    table(300).to_csv(rows, index=False)
    said = run("fit", rows, "-o", tmp_path / "model")
    assert said.exit_code == 1
    assert "holds the file of rows" in said.stderr


def test_a_date_that_is_missing_has_no_range_of_hours(tmp_path):
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 9 * 1440, 300), "min")
    frame = pd.DataFrame({"paid": days.strftime("%Y-%m-%d %H:%M"), "size": rng.normal(size=300)})
    frame = pd.concat([frame, frame[:3]])  # the times are no names
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame[:2].assign(paid=["", "soon"]).to_csv(tmp_path / "odd.csv", index=False)
    run("fit", tmp_path / "rows.csv", "--detector", "gmm", "-o", tmp_path / "m")
    said = run("explain", tmp_path / "m", tmp_path / "odd.csv", "--format", "jsonl", "--top", "1")
    for each in map(json.loads, said.stdout.splitlines()):
        (culprit,) = each["culprits"]
        assert culprit["normal"] == "a time in 2024"
        assert (culprit["lower"], culprit["upper"], culprit["range"]) == (None, None, None)
        assert "a time in 2024 would be normal" in each["sentence"]


def test_names_that_are_written_otherwise_are_said_once(folder, tmp_path):
    names = ["+49 170 1234", "@home", "=1+1", "-7"]
    ODD.iloc[[0, 1, 2, 0]].assign(name=names).to_csv(tmp_path / "rows.csv", index=False)
    command = ("score", folder / "model", tmp_path / "rows.csv", "-o", tmp_path / "out.csv")
    said = run(*command)
    assert said.stderr.count("3 cells begin as a formula does, and got an apostrophe") == 1
    written = ["'+49 170 1234", "'@home", "'=1+1", "-7"]
    assert pd.read_csv(tmp_path / "out.csv")["id"].tolist() == written
    said = run(*command, "--raw")
    assert "apostrophe" not in said.stderr
    assert pd.read_csv(tmp_path / "out.csv")["id"].tolist() == names


@pytest.mark.parametrize("command", ["score", "explain"])
def test_a_line_is_standard_output(folder, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    said = run(command, folder / "model", folder / "odd.csv", "-o", "-")
    assert said.stdout == run(command, folder / "model", folder / "odd.csv").stdout != ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--method", "foo"), "`method` must be one of"),
        (("--contamination", "0.9"), "`--contamination` must be a finite number, above 0"),
        (("-o", "-"), "A model is a folder"),
    ],
)
def test_what_fit_can_not_do_is_refused_before_any_work(folder, tmp_path, options, message):
    said = run("fit", folder / "normal.csv", "-o", tmp_path / "model", *options)
    assert said.exit_code == 1
    assert said.stderr.startswith(message)


def test_jobs_that_are_none_are_refused_by_the_name_of_the_option(folder):
    said = run("explain", folder / "model", folder / "odd.csv", "--jobs", "-5")
    assert said.stderr.startswith("`--jobs` must be a whole number, at least 1, or -1, got -5.")
