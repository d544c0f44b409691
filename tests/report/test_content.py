import json

import numpy as np
import pandas as pd
import pytest

from whyflag import Domain, Ensemble, Explainer
from whyflag.detectors import GMM
from whyflag.distribution import Distribution
from whyflag.report.content import MOST_ROWS, content
from whyflag.report.groups import groups_of
from whyflag.report.mending import mend

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
    said = content(attribution, EXPLAIN, Distribution.of(NORMAL.to_numpy()))
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


def test_mending_moves_the_culprits_alone_and_is_computed_anew(attribution):
    mended = mend(attribution, EXPLAIN)
    row = 2  # a and d are to blame
    for k in (1, 2):
        point = mended.points[row, k - 1]
        first = attribution.order[row, :k]
        assert set(np.flatnonzero(point != attribution.data[row])) == set(first)
        assert mended.scores[row, k - 1] == pytest.approx(EXPLAIN.score(point[None])[0])
    assert mended.scores[row, 1] < attribution.threshold < attribution.scores[row]
    few = attribution.values[4] > 0
    assert np.isnan(mended.scores[4]).sum() == 4 - few.sum()


def test_mending_one_of_two_that_go_together_does_not_raise_the_score():
    """What would have been normal for the whole row would: the other one has not moved."""
    normal = RNG.multivariate_normal([0, 0], [[1, 0.99], [0.99, 1]], size=400)
    explain = Explainer(GMM(1).fit(normal), normal, "ASH")
    said = explain([[2.0, 2.8]])  # each within the range of normal rows
    mended = mend(said, explain)
    assert mended.scores[0, 0] < said.scores[0]
    pasted = np.where(said.membership[said.order[0, 0]], said.reference[0], said.data[0])
    assert explain.score(pasted[None])[0] > said.scores[0]


def test_a_page_can_do_without_mending(attribution):
    assert "mended" not in content(attribution)["rows"][0]
    row = content(attribution, EXPLAIN)["rows"][0]
    assert row["mended"][0]["to"][0][1] != row["features"][0]["observed"]


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
    assert {row["name"] for row in said if "remark" in row} == {"p", "q"}
    first = next(row for row in said if row["name"] == "p")
    assert first["remark"] == stuck.remarks[0]
    assert "still raises the alarm" in first["remark"]
