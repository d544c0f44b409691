from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from whyflag import Attribution, Domain, Explainer
from whyflag.detectors import GMM
from whyflag.model import Model
from whyflag.score import Score
from whyflag.table.schema import Schema

RNG = np.random.default_rng(0)
COLOURS = ("red", "green", "blue")
SIZE = RNG.normal(100, 10, 400).round(1)
NORMAL = pd.DataFrame(
    {
        "size": SIZE,
        "weight": (2 * SIZE + RNG.normal(0, 2, 400)).round(),
        **{f"is {name}": (np.arange(400) % 3 == k).astype(float) for k, name in enumerate(COLOURS)},
    }
)
DOMAIN = Domain.infer(
    NORMAL,
    bounded=True,
    players={"colour": [f"is {name}" for name in COLOURS]},
    categories={"colour": COLOURS},
)


def bond(X):
    """How far size and weight are from going together, and a colour that is not allowed."""
    return np.abs(X[:, 1] - 2 * X[:, 0]) + 50 * X[:, 4] + 0.1 * np.abs(X[:, 0] - 100)


def said(row, *, threshold=12.0, score=bond, **changes):
    explain = Explainer(Score(score, n_features=5, threshold=threshold), NORMAL, domain=DOMAIN)
    return explain([row]).sentences()[0]


def test_one_value_that_ends_the_alarm():
    text = said([100.0, 2000.0, 1.0, 0.0, 0.0])
    assert text.startswith("weight is 2000; with the rest as it is, about ")
    value, low, high = (
        float(word.strip("(,)"))
        for word in text.split("about ")[1].replace(" to ", " ").split(" would")[0].split()
    )
    assert 188 <= low < value < high <= 212
    assert "That alone ends the alarm (score 1800 → " in text
    assert "alarm at 12)." in text


def test_two_values_are_named_and_end_it_together():
    text = said([1000.0, -50.0, 1.0, 0.0, 0.0], score=lambda X: np.abs(X[:, :2]).max(axis=1) * 0.1
                + 1000 * (X[:, 1] < 0), threshold=30.0)  # fmt: skip
    assert "size is 1000" in text
    assert "weight is -50" in text
    assert "Together they end the alarm" in text


def test_a_category_and_those_that_would_do_as_well():
    text = said([100.0, 200.0, 0.0, 0.0, 1.0])
    assert text.startswith("colour is blue; with the rest as it is, ")
    assert "red (green too) would be normal" in text or "green (red too) would be normal" in text


def test_for_what_a_value_is_odd_and_what_else_would_do():
    text = said([112.0, 190.0, 1.0, 0.0, 0.0])
    first, other = ("size", "weight") if text.startswith("size") else ("weight", "size")
    assert f"{first} is odd for {other} " in text
    assert "normal rows with about these values" in text
    assert f"Other single changes that end it: {other} " in text


def test_no_alarm_needs_no_change():
    assert said([100.0, 201.0, 1.0, 0.0, 0.0]) == ("No alarm: the score is 1, the alarm is at 12.")


def test_a_score_that_is_nothing_beside_the_alarm_is_0():
    def kernel(X):
        return -np.exp(-np.minimum(np.abs(X[:, 1] - 2 * X[:, 0]), 600.0))

    text = said([100.0, 2000.0, 1.0, 0.0, 0.0], score=kernel, threshold=-0.5)
    assert "(score 0 → -" in text
    assert "e-" not in text


def test_scores_have_as_many_digits_as_tell_them_from_the_alarm():
    def close(X):
        return 7 + 1e-6 * (np.abs(X[:, 1]) > 500)

    text = said([100.0, 2000.0, 1.0, 0.0, 0.0], score=close, threshold=7 + 5e-7)
    assert "(score 7.000001 → 7, alarm at 7.0000005)" in text


def test_a_row_that_is_unlike_normal_ones_is_said_to_be_also_without_an_alarm():
    text = said([100.0, 2000.0, 1.0, 0.0, 0.0], threshold=1e6)
    assert text.startswith(
        "No alarm: the score is 1800, the alarm is at 1000000. But the row is unlike the normal "
        "rows: weight is 2000; with the rest as it is, about 199 ("
    )
    assert text.endswith(") would be like them.")


def test_a_row_that_is_unlike_normal_ones_throughout_is_no_more_than_said_to_be():
    text = said([1e4, -2000.0, 1.0, 0.0, 0.0], threshold=1e6, score=lambda X: X[:, 0])
    assert "But the row is unlike the normal rows" in text


def test_what_does_not_end_the_alarm_is_said():
    text = said([100.0, 2000.0, 1.0, 0.0, 0.0], threshold=-1.0)
    assert "nothing that was tried ends the alarm" in text
    assert "comes nearest (score 1800 → " in text
    assert "would be normal" not in text


def test_a_score_that_nothing_brings_down():
    text = said([100.0, 200.0, 1.0, 0.0, 0.0], score=lambda X: np.full(len(X), 7.0), threshold=5.0)
    assert text == "Nothing that was tried brings the score down: it is 7, the alarm is at 5."


def test_without_a_threshold_it_is_said_what_counts_as_normal():
    text = said([100.0, 2000.0, 1.0, 0.0, 0.0], threshold=None)
    assert "The detector has no threshold" in text
    assert "That alone makes the score normal (score 1800 → " in text
    assert "alarm" not in text


def test_a_file_keeps_them(tmp_path):
    explain = Explainer(Score(bond, n_features=5, threshold=12.0), NORMAL, domain=DOMAIN)
    whole = explain([[100.0, 2000.0, 1.0, 0.0, 0.0], [112.0, 190.0, 0.0, 0.0, 1.0]])
    whole.save(tmp_path / "said.npz")
    again = Attribution.load(tmp_path / "said.npz")
    assert again.sentences() == whole.sentences()
    assert again.to_json() == whole.to_json()
    pd.testing.assert_frame_equal(again.repair.to_frame(), whole.repair.to_frame())
    assert again.repair.contexts == whole.repair.contexts


def test_a_file_whose_repair_does_not_fit_is_refused(tmp_path):
    explain = Explainer(Score(bond, n_features=5, threshold=12.0), NORMAL, domain=DOMAIN)
    explain([[100.0, 2000.0, 1.0, 0.0, 0.0]]).save(tmp_path / "said.npz")
    with np.load(tmp_path / "said.npz") as arrays:
        parts = dict(arrays)
    parts["repair/scores"] = np.zeros(3)
    np.savez(tmp_path / "wrong.npz", **parts)
    with pytest.raises(ValueError, match=r"`scores` of its repair must be numbers of shape \(1,\)"):
        Attribution.load(tmp_path / "wrong.npz")


def test_two_categories_at_once_are_none_of_them():
    text = said([100.0, 2000.0, 0.0, 1.0, 1.0], score=lambda X: 20 * (X[:, 2:].sum(axis=1) > 1))
    assert "colour is several at once" in text


def test_a_quiet_row_without_a_threshold_has_no_alarm_to_tell():
    text = said([100.0, 200.0, 1.0, 0.0, 0.0], threshold=None)
    assert text.startswith("The score is 0; normal rows score up to ")
    assert "alarm" not in text


def cylinders(X):
    """Cylinders should be 4, 6 or 8 as long as the rest is small."""
    return np.abs(X[:, 0] - 6) + np.abs(X[:, 1:]).sum(axis=1)


def of_cylinders(row, values, *, players=None, threshold=3.0):
    rows = np.array([[value, *np.resize([0.1, -0.1, 0.2], 5)] for value in values * 30], float)
    domain = Domain.infer(rows, bounded=True, players=players)
    score = Score(cylinders, n_features=6, threshold=threshold)
    return Explainer(score, rows, domain=domain)([row]).sentences()[0]


@pytest.mark.parametrize(
    ("values", "normal"),
    [
        ([3, 4, 6, 8], "(4, 6 or 8) would be normal"),  # 5 and 7 do not occur
        ([3, 4, 5, 6, 7, 8], "(4 to 8) would be normal"),  # each of these does
        ([3, 6], "would be normal"),
    ],
)
def test_of_few_values_those_that_would_do_are_named(values, normal):
    text = of_cylinders([60.0, 0.1, -0.1, 0.2, 0.1, -0.1], values)
    assert text.startswith("x0 is 60; with the rest as it is, ")
    assert f" {normal}" in text
    assert "about" not in text


def test_of_many_values_with_holes_their_number_is_said():
    values = [k * k for k in range(12)]
    text = of_cylinders([900.0, 0.1, -0.1, 0.2, 0.1, -0.1], values, threshold=100.0)
    assert "(one of 11 values from 0 to 100) would be normal" in text


def test_a_group_of_numbers_is_told_in_figures():
    text = of_cylinders(
        [6.0, 30.0, 0.1, 40.0, 0.2, 0.1], [4, 6, 8], players={"lags": ["x1", "x2", "x3", "x4"]}
    )
    assert text.startswith("lags is off (x1 30, x3 40, ")
    assert "and 1 more); with the rest as it is, lags with x" in text
    pair = of_cylinders([6.0, 30.0, 0.1, 0.1, 0.1, 0.1], [4, 6, 8], players={"pair": ["x1", "x2"]})
    assert pair.startswith("pair is off (x1 30 and x2 0.1); with the rest as it is, pair with x1 ")


def read_and_explain(column, cells):
    """Sentences on cells of a table of two columns, the first of which is learnt from 300 rows."""
    table = pd.DataFrame({"what": column, "size": SIZE[:300].astype(str)})
    model = Model.fit(GMM(1, random_state=0), schema := Schema.of(table, rare=0.001), table)
    assert schema.names == ("what", "size")
    odd = pd.DataFrame({"what": cells, "size": ["100"] * len(cells)})
    rows = replace(model.read(odd).rows, shown=schema.shown(odd))
    return model.explainer().explain(rows).sentences()


def test_a_time_that_is_out_of_all_years_gets_years_and_no_weekday():
    days = pd.date_range("2019-01-07 08:00", periods=300, freq="33h").strftime("%Y-%m-%d %H:%M")
    far, not_one = read_and_explain(days, ["1919-03-04 08:00", "tomorrow"])
    assert far.startswith(
        "what is 1919-03-04 08:00 (far from 2019 to 2020); with the rest as it is"
    )
    for text in (far, not_one):
        assert "as it is, a time from 2019 to 2020 would be normal" in text


def test_a_gap_is_told_as_one():
    (text,) = read_and_explain(SIZE[100:].astype(str), [""])
    assert text.startswith("what has no value; with the rest as it is, ")
