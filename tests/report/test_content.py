import json
import re
from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline

from whyflag import Domain, Ensemble, Explainer
from whyflag.detectors import GMM
from whyflag.distribution import Distribution
from whyflag.model import Model
from whyflag.report import write_report
from whyflag.report.content import MOST_ROWS, content
from whyflag.report.groups import groups_of
from whyflag.report.normal import Normal
from whyflag.report.rows import MOST_CELLS
from whyflag.table.schema import Schema

RNG = np.random.default_rng(0)
NORMAL = pd.DataFrame(RNG.normal(size=(400, 4)), columns=["a", "b", "c", "d"])
DETECTOR = GMM(1, random_state=0).fit(NORMAL)
EXPLAIN = Explainer(DETECTOR, NORMAL)
ODD = pd.DataFrame(
    [[0.0, 9, 0, 0], [0, 8, 0, 0], [7, 0, 0, -7], [6, 0, 0, -6.5], [0, 0, 0.1, 0]],
    columns=NORMAL.columns,
    index=["p", "q", "r", "s", "t"],
)


@pytest.fixture(scope="module")
def attribution():
    return EXPLAIN(ODD)


def row_of(said, name):
    return next(row for row in said["rows"] if row["name"] == name)


def feature_of(row, name):
    return next(one for one in row["features"] if one["name"] == name)


def test_it_is_json_with_the_highest_scores_first(attribution):
    said = content(attribution)
    assert json.loads(json.dumps(said, allow_nan=False)) == said
    scores = [row["score"] for row in said["rows"]]
    assert scores == sorted(scores, reverse=True)
    assert said["n_flagged"] == int(attribution.flagged.sum())
    assert {row["name"] for row in said["rows"]} == set(ODD.index)


def test_a_row_says_what_was_observed_and_what_would_have_been_normal(attribution):
    row = row_of(content(attribution), "p")
    first = row["features"][0]
    assert (first["name"], first["observed"], first["at"]) == ("b", "9", 9)
    assert abs(first["to"]) < 1
    assert first["lies"] == "above every normal row"
    shares = sum(one["share"] for one in row["features"]) + row["rest"]
    assert shares == pytest.approx(1)


def test_what_is_called_normal_is_the_repair_and_nothing_else(attribution):
    """No two places show different normal values of one cell."""
    for row in content(attribution)["rows"]:
        i = attribution.row_names.index(row["name"])
        assert row["sentence"] == attribution.sentences()[i]
        for one in row["features"]:
            rows, changed = attribution.repair.told
            assert (one["normal"] is not None) == changed[i, one["feature"]]
            if changed[i, one["feature"]]:
                assert one["to"] == rows[i, one["feature"]]
                assert f"about {one['normal']} ({one['span']})" in row["sentence"]


def test_a_row_that_is_unlike_normal_ones_has_the_same_normal_value_everywhere():
    blind = Explainer(DETECTOR, NORMAL, threshold=1e9)(ODD)
    row = row_of(content(blind), "p")
    first = row["features"][0]
    rows, changed = blind.repair.told
    assert changed[0].tolist() == [False, True, False, False]
    assert first["to"] == rows[0, 1] == blind.top(1)["normal"].iloc[0]
    assert f"about {first['normal']} ({first['span']}) would be like them" in row["sentence"]
    assert row["advice"] == ["Check b: the detector does not see it, but it is not usual."]
    assert blind.to_json()["rows"][0]["features"][0]["normal"].startswith(first["normal"][:4])
    assert blind.to_json()["rows"][0]["repair"]["usual"] == ["b"]
    assert row_of(content(blind), "t")["advice"] == ["Nothing: the row raises no alarm."]


def test_a_row_that_is_unlike_normal_ones_has_its_sentence_on_the_page(tmp_path):
    blind = Explainer(DETECTOR, NORMAL, threshold=1e9)(ODD)
    write_report(blind, tmp_path / "page.html")
    shown = re.findall('<p class="sentence">(.*?)</p>', (tmp_path / "page.html").read_text())
    unlike = [said for said in blind.sentences() if "would be like them" in said]
    assert sorted(map(unescape, shown)) == sorted(unlike)
    assert len(unlike) == 4  # of the fifth the first line says all


def test_a_page_can_do_without_a_detector(attribution):
    row = row_of(content(replace(attribution, repairer=None)), "p")
    assert "sentence" not in row
    assert not any("normal" in one or "at" in one for one in row["features"])
    assert row["stands"] == ""
    assert row["advice"][0].startswith("Check b first")


def test_where_a_score_stands_is_said(attribution):
    said = content(attribution)
    assert row_of(said, "p")["stands"] == "above all 400 normal rows"
    low = row_of(said, "t")
    scores = np.sort(EXPLAIN.score(NORMAL.to_numpy()))
    below = np.floor(1000 * (scores < low["score"]).mean()) / 10
    assert low["stands"] == f"above {below:g} % of 400 normal rows"


@pytest.mark.parametrize(("way", "near"), [(0.95, True), (1.05, True), (0.8, False), (1.3, False)])
def test_a_score_close_to_the_alarm_is_near_it(attribution, way, near):
    known = Normal.of(attribution)
    middle = float(np.median(known.scores))
    alarm = attribution.threshold
    assert known.is_near(middle + way * (alarm - middle), alarm) == near


def test_rows_with_the_same_culprits_are_a_group(attribution):
    groups = groups_of(attribution[:4])
    assert [group.rows for group in groups] == [(0, 1), (2, 3)]
    assert groups[0].features == (1,)
    assert set(groups[1].features) == {0, 3}


def test_a_row_alone_is_a_group_and_a_quiet_one_is_in_none(attribution):
    assert [group.rows for group in groups_of(attribution[0])] == [(0,)]
    assert row_of(content(attribution), "t")["group"] is None


def test_many_rows_are_cut_at_the_lowest_scores():
    many = EXPLAIN(RNG.normal(size=(MOST_ROWS + 20, 4)))
    said = content(many)
    assert len(said["rows"]) == MOST_ROWS
    assert said["n_rows"] == MOST_ROWS + 20
    assert said["rows"][-1]["score"] == np.sort(many.scores)[20]


def test_of_many_columns_as_many_are_shown_as_a_page_can_hold(attribution):
    wide = [{f"column {k}": "x" for k in range(MOST_CELLS)}] * len(ODD)
    cells = row_of(content(attribution, cells=wide), "p")["cells"]
    assert len(cells["shown"]) == MOST_CELLS // len(ODD)
    assert cells["n_others"] == MOST_CELLS - len(cells["shown"])


def test_members_of_an_ensemble_have_their_say():
    ensemble = Ensemble([EXPLAIN, Explainer(DETECTOR, NORMAL, "wKSH")])(ODD[:2])
    row = content(ensemble)["rows"][0]
    assert [member["method"] for member in row["members"]] == ["near", "wKSH"]
    assert row["agreement"] == pytest.approx(ensemble.agreement[0])


def test_a_remark_is_on_the_row_that_it_is_about():
    stuck = Explainer(DETECTOR, NORMAL, domain=Domain(4, fixed=[1]))(ODD)
    said = content(stuck)
    stands = "still raises the alarm"
    assert {row["name"] for row in said["rows"] if stands in row["remark"]} == {"p", "q"}
    assert row_of(said, "p")["remark"] == stuck.remarks[0]


def test_links_are_the_names_made_distinct():
    same = EXPLAIN(ODD.set_axis(["a b", "a b", "a/b", "ä", "x" * 100]))
    links = [row["link"] for row in content(same)["rows"]]
    assert len(set(links)) == len(links)
    assert {"row-a%20b", "row-a%20b--2", "row-a%2Fb", "row-%C3%A4", f"row-{'x' * 60}"} == set(links)


def test_a_broken_bond_is_set_against_the_column_that_makes_it_odd():
    size = RNG.normal(100, 10, 400)
    normal = np.column_stack([size, 2 * size + RNG.normal(0, 1, 400), RNG.normal(size=400)])
    said = Explainer(GMM(1, random_state=0).fit(normal), normal)([[115.0, 180.0, 0.0]])
    pair = content(said)["rows"][0]["pair"]
    assert set(pair["names"]) == {"x0", "x1"}
    assert sorted(pair["at"]) == [115.0, 180.0]
    assert pair["to"] is not None


# A table as it comes: what does not count, a gap, a new category, a word among numbers, a time.
N = 300
AS_IT_COMES = pd.DataFrame(
    {
        "no": [f"P-{i:03d}" for i in range(N)],
        "when": pd.date_range("2024-01-01 06:00", periods=N, freq="7h").strftime("%Y-%m-%d %H:%M"),
        "size": RNG.normal(100, 10, N).round(1).astype(str),
        "kind": RNG.choice(["oak", "ash", "elm"], N, p=[0.5, 0.3, 0.2]),
        "sold": RNG.choice(["True", "False"], N),
        "remark": [f"text {i} of many" for i in range(N)],
    }
)
SCHEMA = Schema.of(AS_IT_COMES, rare=0.005)
MODEL = Model.fit(GMM(1, random_state=0), SCHEMA, AS_IT_COMES)
COMING = pd.DataFrame(
    {
        "no": ["P-900", "P-901", "P-902", "P-903", "P-904"],
        "when": [
            "2024-02-01 08:00",
            "2024-02-02 08:00",
            "1924-02-03 08:00",
            *["2024-03-01 09:00"] * 2,
        ],
        "size": ["", "not yet", "100", "500", "100"],
        "kind": ["oak", "ash", "oak", "oak", "yew"],
        "sold": ["True"] * 5,
        "remark": ["a", "b", "c", "d", "e"],
    }
)


@pytest.fixture(scope="module")
def as_it_comes():
    read = MODEL.read(COMING)
    attribution = MODEL.explainer().explain(replace(read.rows, shown=SCHEMA.shown(COMING)))
    cells = [dict(zip(COMING.columns, row, strict=True)) for row in COMING.to_numpy().tolist()]
    return content(attribution, cells=cells, id_column="no")


def test_a_value_that_stands_in_for_none_is_not_marked_among_normal_ones(as_it_comes):
    gap, word = (feature_of(row_of(as_it_comes, name), "size") for name in ("P-900", "P-901"))
    assert (gap["observed"], gap["mark"]) == ("no value", "has no value")
    assert (word["observed"], word["mark"]) == ("not a number: 'not yet'", "can not be read")
    new = feature_of(row_of(as_it_comes, "P-904"), "kind")
    assert (new["observed"], new["mark"]) == ("yew (not seen before)", "was not seen before")
    far = feature_of(row_of(as_it_comes, "P-902"), "when")
    assert far["normal"] == "a time in 2024"
    for one in (gap, word, new, far):
        assert not {"at", "to", "lies", "part"} & set(one)
    usual = feature_of(row_of(as_it_comes, "P-903"), "size")
    assert (usual["at"], usual["lies"]) == (500, "above every normal row")


def test_the_whole_row_is_there_with_what_is_unusual_and_what_does_not_count(as_it_comes):
    cells = {each["column"]: each for each in row_of(as_it_comes, "P-900")["cells"]["shown"]}
    assert list(cells) == list(COMING.columns)
    assert (cells["no"]["text"], cells["no"]["mark"]) == ("P-900", "names the row")
    assert (cells["remark"]["text"], cells["remark"]["mark"]) == ("a", "not used")
    assert (cells["size"]["text"], cells["size"]["mark"]) == ("no value", "not usual")
    assert (cells["sold"]["text"], cells["sold"]["mark"]) == ("yes", "")


def test_what_is_to_be_done_depends_on_what_the_cell_is(as_it_comes):
    first = {row["name"]: row["advice"][0] for row in as_it_comes["rows"]}
    assert first["P-900"] == "Find out why size has no value, and fill it in."
    assert first["P-901"] == "Correct size: not a number: 'not yet'."
    assert first["P-902"].startswith("Correct when: 1924-02-03 08:00 (far from 2024)")
    assert first["P-903"].startswith("Check size where the row comes from")
    assert first["P-904"].startswith("Find out whether kind is wrong, or new: yew")


def test_rows_have_a_time_unless_it_is_out_of_all_years(as_it_comes):
    times = {row["name"]: row["time"] for row in as_it_comes["rows"]}
    assert times["P-902"] is None
    assert times["P-900"] == pd.Timestamp("2024-02-01 08:00").timestamp()
    assert as_it_comes["time"] == {
        "name": "when",
        "first": "2024-02-01 08:00",
        "last": "2024-03-01 09:00",
    }


def test_a_gap_in_a_column_and_a_value_of_it_are_two_groups(as_it_comes):
    groups = [
        {as_it_comes["rows"][i]["name"] for i in group["rows"]} for group in as_it_comes["groups"]
    ]
    assert {"P-900"} in groups
    assert {"P-903"} in groups


def test_a_detector_without_an_alarm_has_a_page_too(tmp_path):
    said = Explainer(lambda X: np.abs(X).sum(axis=1), NORMAL, "KSH")(ODD)
    row = content(said)["rows"][0]
    assert row["flagged"] is None
    assert row["near"] is False
    write_report(said, tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "5 rows, from the highest score down." in text
    assert "the detector names none" in text


def test_without_normal_rows_two_columns_have_the_ranges_of_what_is_known(attribution, tmp_path):
    lone = replace(attribution, repaired=attribution.repair, repairer=None)
    write_report(lone, tmp_path / "r.html", normal=Distribution.of(NORMAL.to_numpy()))
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert 'class="most"' in text
    assert 'class="cloud"' not in text
    assert "where 99 %, and half, of the normal rows are in each column" in text


def test_nothing_to_report_is_a_page_as_well(attribution, tmp_path):
    write_report(attribution[:0], tmp_path / "r.html")
    assert "0 of 0 rows raise an alarm" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_name_that_is_half_a_character_does_no_harm(attribution, tmp_path):
    odd = replace(attribution, row_names=("\ud800", "\x00", "\u202e", "<b>", "'\""))
    write_report(odd, tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Row ?" in text
    assert "<b>" not in text


def test_a_number_of_a_column_with_gaps_has_its_place_and_a_gap_has_none():
    normal = pd.DataFrame({"age": RNG.normal(50, 5, 200).round(), "size": RNG.normal(size=200)})
    normal.loc[::10, "age"] = np.nan
    detector = make_pipeline(SimpleImputer(), GaussianMixture(random_state=0)).fit(normal)
    rows = pd.DataFrame({"age": [90.0, np.nan], "size": [0.0, 9.0]}, index=["old", "gap"])
    said = content(Explainer(detector, normal, threshold=8.0)(rows))
    assert feature_of(row_of(said, "old"), "age")["lies"] == "above every normal row"
    gap = row_of(said, "gap")
    assert feature_of(gap, "size")["lies"] == "above every normal row"
    assert all("at" not in one for one in gap["features"] if one["name"] == "age")


def test_what_contributes_most_is_counted_in_rows_that_raise_an_alarm(attribution):
    data = content(attribution)
    n_flagged = int(attribution.flagged.sum())
    assert 0 < n_flagged < len(attribution)
    assert sum(each["first"] for each in data["culprits"]) == n_flagged
    assert data["culprits_of"] == "rows shown that raise an alarm"
    quiet = attribution[~attribution.flagged]
    assert content(quiet)["culprits_of"] == "rows shown"
