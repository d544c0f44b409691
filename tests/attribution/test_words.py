from dataclasses import replace

import numpy as np
import pytest
from made import alarming, make

from whyflag.outcome import Outcome, ended_if


def test_repr_is_short():
    assert repr(make()) == "<Attribution by no named method: 2 rows, 3 features>"
    alarmed = replace(make(), threshold=float(make().scores.min()), method="ASH")
    assert repr(alarmed) == "<Attribution by ASH: 2 rows (1 flagged), 3 features>"


@pytest.mark.parametrize(
    ("converged", "said"),
    [
        ([False, False], ", 2 not converged>"),
        ([True, False], ", 1 not converged>"),
        ([True] * 2, ">"),
    ],
)
def test_what_has_not_converged_is_said(converged, said):
    attribution = replace(make(), ended=ended_if(np.array(converged), Outcome.NO_BOTTOM))
    assert repr(attribution).endswith(f"2 rows, 3 features{said}")


def test_a_normal_that_raises_the_alarm_is_said():
    attribution = alarming()
    assert attribution.still_alarming.tolist() == [True, False]
    assert repr(attribution).endswith("features, 1 whose normal still raises the alarm>")
    assert attribution.remarks == (
        "What was found as normal still raises the alarm: its score is 0.5, the alarm is at 0.4.",
        "",
    )


def test_the_score_and_the_alarm_are_told_apart_in_words():
    (said, _) = alarming(base_values=np.array([0.4 + 1e-7, 0.0])).remarks
    assert "its score is 0.4000001, the alarm is at 0.4." in said


def test_remarks_of_a_row_stand_beside_one_another():
    ended = np.array([Outcome.OUT_OF_BUDGET, Outcome.ARRIVED])
    attribution = alarming(ended=ended, fallback=np.array([True, True]))
    first, second = attribution.remarks
    assert first.count(".") >= 3
    for text in ("before it reached its goal", "still raises the alarm", "another took its place"):
        assert text in first
    assert second == "The fast definition does not hold on this row: another took its place."
    assert attribution[1].remarks == (second,)


def test_remarks_of_an_ensemble_name_the_member():
    fine = replace(make(), method="wKSH", threshold=9.0)
    ensemble = alarming(method="both", members=(fine, alarming(method="comp")))
    assert ensemble.still_alarming.tolist() == [True, False]
    assert ensemble.remarks[0].startswith("comp: What was found as normal still raises the alarm")
    assert ensemble.remarks[1] == ""


@pytest.mark.parametrize(
    ("base", "alarm", "said"),
    [
        (2.0, 1.0, "its score is 2, the alarm is at 1."),
        (1.23456, 1.23451, "its score is 1.2346, the alarm is at 1.2345."),
        (1.0, 1.0, "its score is 1, the alarm is at 1."),
        (np.inf, 1.0, "its score is inf, the alarm is at 1."),
    ],
)
def test_as_many_digits_as_tell_the_score_from_the_alarm(base, alarm, said):
    itself = replace(make(), reference=make().data, base_values=np.full(2, base), threshold=alarm)
    assert itself.remarks[0].endswith(said)
