import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from whyflag import Domain, Ensemble, Explainer
from whyflag.detectors import GMM
from whyflag.distribution import Distribution
from whyflag.report.content import MOST_ROWS, content
from whyflag.report.groups import groups_of

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


def test_it_is_json_with_the_highest_scores_first(attribution):
    said = content(attribution, Distribution.of(NORMAL.to_numpy()))
    assert json.loads(json.dumps(said, allow_nan=False)) == said
    scores = [row["score"] for row in said["rows"]]
    assert scores == sorted(scores, reverse=True)
    assert said["n_flagged"] == int(attribution.flagged.sum())
    assert {row["name"] for row in said["rows"]} == set(ODD.index)


def test_a_row_says_what_was_observed_and_what_would_have_been_normal(attribution):
    said = content(attribution)
    row = next(row for row in said["rows"] if row["name"] == "p")
    first = row["features"][0]
    assert said["features"][first["feature"]]["name"] == "b"
    assert (first["observed"], first["at"]) == ("9", 9)
    assert abs(first["to"]) < 1
    parts = sum(feature["value"] for feature in row["features"]) + row["rest"]
    assert row["base"] + parts == pytest.approx(row["score"], rel=1e-4)


def test_what_is_called_normal_is_the_repair_and_nothing_else(attribution):
    """No two places show different normal values of one cell."""
    said = content(attribution)
    names = [feature["name"] for feature in said["features"]]
    for row in said["rows"]:
        i = attribution.row_names.index(row["name"])
        assert row["sentence"] == attribution.sentences()[i]
        for feature in row["features"]:
            j = names.index(said["features"][feature["feature"]]["name"])
            assert ("normal" in feature) == attribution.repair.changed[i, j]
            if "normal" in feature:
                assert feature["to"] == pytest.approx(attribution.repair.rows[i, j], rel=1e-5)
                assert f"about {feature['normal']}" in row["sentence"]
                assert " to ".join(feature["range"]) in row["sentence"]


def test_a_page_can_do_without_a_detector(attribution):
    row = content(replace(attribution, repairer=None))["rows"][0]
    assert "sentence" not in row
    assert not any("normal" in feature for feature in row["features"])


def test_rows_with_the_same_culprits_are_a_group(attribution):
    groups = groups_of(attribution[:4])
    assert [group.rows for group in groups] == [(0, 1), (2, 3)]
    assert groups[0].features == (1,)
    assert set(groups[1].features) == {0, 3}


def test_a_row_alone_is_a_group(attribution):
    assert [group.rows for group in groups_of(attribution[0])] == [(0,)]


def test_many_rows_are_cut_at_the_lowest_scores():
    many = EXPLAIN(RNG.normal(size=(MOST_ROWS + 20, 4)))
    said = content(many)
    assert len(said["rows"]) == MOST_ROWS
    assert said["n_rows"] == MOST_ROWS + 20
    assert said["rows"][-1]["score"] == pytest.approx(np.sort(many.scores)[20], rel=1e-5)


def test_members_of_an_ensemble_have_their_say():
    ensemble = Ensemble([EXPLAIN, Explainer(DETECTOR, NORMAL, "wKSH")])(ODD[:2])
    row = content(ensemble)["rows"][0]
    assert [member["method"] for member in row["members"]] == ["near", "wKSH"]
    assert row["agreement"] == pytest.approx(ensemble.agreement[0], rel=1e-5)
    assert "base" in row


def test_a_remark_is_on_the_row_that_it_is_about():
    stuck = Explainer(DETECTOR, NORMAL, domain=Domain(4, fixed=[1]))(ODD)
    said = content(stuck)["rows"]
    stands = "still raises the alarm"
    assert {row["name"] for row in said if stands in row.get("remark", "")} == {"p", "q"}
    first = next(row for row in said if row["name"] == "p")
    assert first["remark"] == stuck.remarks[0]
