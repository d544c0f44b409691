"""What is redacted stands in nothing that people see."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from whyflag import Explainer
from whyflag.cli import app
from whyflag.detectors import GMM
from whyflag.domain import Domain
from whyflag.report.rules import STATES
from whyflag.table.codec import State
from whyflag.table.codec import redacted as told

RNG = np.random.default_rng(0)
N = 400
HIDDEN = ("salary", "illness", "person", "note", "born")


def people(n, seed):
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 65, n)
    return pd.DataFrame(
        {
            "person": [f"PERSON-{seed}-{i:04d}" for i in range(n)],
            "age": age,
            "salary": (1000.13 * age + rng.normal(0, 900, n)).round(2),
            "illness": rng.choice(["gout-q", "asthma-q", "none-q"], n, p=[0.2, 0.3, 0.5]),
            "born": pd.date_range("2003-01-01 07:41", periods=n, freq="31h").astype(str).str[:16],
            "shift": rng.choice(["day", "night"], n),
            "note": [f"seen in room {rng.integers(10**6)}" for _ in range(n)],
        }
    ).astype(object)


def odd():
    rows = people(12, 7)
    rows.loc[0, "salary"] = 913777.77
    rows.loc[1, "salary"] = "unspeakable"
    rows.loc[2, "illness"] = "plague-q"
    rows.loc[3, "born"] = "1701-02-03 04:05"
    rows.loc[4, "age"] = 999
    rows.loc[5, "salary"] = ""
    rows.loc[6, "salary"] = 913888.88
    rows.loc[7, "salary"] = 77.07
    rows.loc[8, "salary"] = -5151.51
    return rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("redaction")
    people(N, 1).to_csv(folder / "normal.csv", index=False)
    odd().to_csv(folder / "odd.csv", index=False)
    said = run("fit", folder / "normal.csv", "--id", "person", "-o", folder / "model")
    assert said.exit_code == 0, said.output
    return folder


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def hidden():
    """All cells of the columns that are redacted, of normal rows as well."""
    cells = pd.concat([people(N, 1), odd()])[list(HIDDEN)].to_numpy().ravel().tolist()
    return {str(cell) for cell in cells if str(cell)}


def options():
    return [each for name in HIDDEN for each in ("--redact", name)]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "html", "txt"])
def test_no_value_is_told_anywhere(folder, tmp_path, kind):
    out = tmp_path / f"out.{kind}"
    said = run("explain", folder / "model", folder / "odd.csv", "-o", out, "--top", "6", *options())
    assert said.exit_code == 0, said.output
    told = out.read_text(encoding="utf-8") + said.output
    assert [cell for cell in hidden() if cell in told] == []
    assert "redacted" in told
    for shown in ("salary", "illness", "born", "999", "shift"):
        assert shown in told
    plain = run("explain", folder / "model", folder / "odd.csv", "-o", out)
    told = out.read_text(encoding="utf-8") + plain.output
    assert [cell for cell in ("913777.77", "unspeakable", "plague-q", "PERSON-7-0004") if
            cell not in told] == []  # fmt: skip


def test_shares_stay_and_say_which_column_it_is(folder, tmp_path):
    for name, more in (("a.csv", []), ("b.csv", options())):
        run("explain", folder / "model", folder / "odd.csv", "-o", tmp_path / name, *more)
    plain, redacted = (pd.read_csv(tmp_path / name) for name in ("a.csv", "b.csv"))
    for same in ("score", "flagged", "rank", "feature", "attribution"):
        assert (plain[same] == redacted[same]).all()
    first = redacted[(redacted["row"] == 1) & (redacted["rank"] == 1)].iloc[0]
    assert (first["feature"], first["observed"], first["normal"]) == (
        "salary", "redacted", "another value",
    )  # fmt: skip
    assert pd.isna(first["lower"])
    assert first["id"] == 1
    assert first["sentence"].startswith(
        "salary is off (redacted); with the rest as it is, another value would be normal."
    )
    gap = redacted[(redacted["row"] == 6) & (redacted["rank"] == 1)].iloc[0]
    assert gap["sentence"].startswith("salary has no value; ")
    new = redacted[(redacted["row"] == 3) & (redacted["rank"] == 1)].iloc[0]
    assert new["observed"] == "not seen before (redacted)"


def test_score_tells_nothing_either(folder, tmp_path):
    said = run("score", folder / "model", folder / "odd.csv", *options())
    assert said.exit_code == 0, said.output
    assert [cell for cell in hidden() if cell in said.output] == []
    assert "unreadable (redacted) (line 3)" in said.output


def test_a_pattern_names_several_columns(folder, tmp_path):
    out = tmp_path / "o.csv"
    run("explain", folder / "model", folder / "odd.csv", "-o", out, "--redact", "s*", "--top", "6")
    told = pd.read_csv(out).set_index("feature")["observed"]
    assert set(told[["salary", "shift"]]) <= {"redacted", "no value", "unreadable (redacted)"}
    assert "redacted" not in set(told["age"])


def test_a_column_that_is_not_there_is_an_error(folder, tmp_path):
    out = tmp_path / "o.html"
    said = run("explain", folder / "model", folder / "odd.csv", "-o", out, "--redact", "salery")
    assert (said.exit_code, out.exists()) == (1, False)
    assert "odd.csv has no column 'salery' to redact; it has 'person', 'age'" in said.output


def test_a_group_of_redacted_rows_has_a_rule_about_other_columns_or_none(folder, tmp_path):
    rows = people(40, 9)
    rows.loc[:19, "salary"] = 900_000.5
    rows.to_csv(tmp_path / "rows.csv", index=False)
    told = {}
    for name, more in (("a.html", []), ("b.html", ["--redact", "salary"])):
        run("explain", folder / "model", tmp_path / "rows.csv", "-o", tmp_path / name, *more)
        told[name] = (tmp_path / name).read_text(encoding="utf-8")
    assert "salary &gt; " in told["a.html"]
    assert "salary &gt; " not in told["b.html"]
    assert "salary &lt;" not in told["b.html"]


def test_whatever_a_cell_is_has_words_that_tell_no_value():
    said = {state: told(state) for state in State}
    assert len(set(said.values())) == len(said)
    assert set(STATES) == set(State) - {State.USUAL}


def test_in_python_words_and_json_have_no_value():
    normal = pd.DataFrame(RNG.normal(100, 10, (300, 4)).round(2), columns=list("abcd"))
    domain = Domain.infer(normal, players={"pair": ["c", "d"]})
    said = Explainer(GMM(1, random_state=0).fit(normal), normal, domain=domain)(
        [[812.34, 100.0, 100.0, 100.0], [100.0, 100.0, 923.45, 934.56]]
    )
    hidden = replace(said, redacted=frozenset({"a", "pair"}))
    for text in (
        *hidden.sentences(),
        str(hidden.to_json()),
        hidden.top(4).to_string(),
        hidden._repr_html_(),
    ):
        for value in ("812.34", "923.4", "934.5"):
            assert value not in text
    assert hidden.sentences()[1].startswith("pair is off (redacted); with the rest as it is, ")


def test_in_python_a_group_with_a_redacted_column_shows_none_of_its_values():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(50, 1, (300, 3)), columns=["salary", "bonus", "age"])
    odd = pd.DataFrame([[77.5, 50.0, 50.0], [50.0, 50.0, 93.25]], columns=rows.columns)
    detector = GMM(1, random_state=0).fit(rows)
    for players in (None, {"pay": ["salary", "bonus"]}):
        attribution = Explainer(detector, rows, players=players)(odd)
        hidden = replace(attribution, redacted=frozenset({"salary"}))
        shown = (
            " ".join(hidden.sentences()),
            hidden.top().to_string(),
            hidden.repair.to_frame().to_string(),
            hidden._repr_html_(),
            str(hidden.to_json()),
        )
        assert all("77.5" not in each for each in shown)
        assert all("93.25" in each for each in shown)


def test_shap_gets_no_redacted_value():
    pytest.importorskip("shap")
    rows = np.random.default_rng(0).normal(size=(100, 2))
    attribution = Explainer(GMM(1, random_state=0).fit(rows), rows)([[9.0, 0.0]])
    data = replace(attribution, redacted=frozenset({"x0"})).to_shap().data
    assert np.isnan(data[0, 0])
    assert data[0, 1] == 0
