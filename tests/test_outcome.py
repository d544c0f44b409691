import numpy as np
import pytest

from whyflag.outcome import Outcome, ended_if, worst


@pytest.mark.parametrize("outcome", Outcome)
def test_only_what_went_wrong_has_a_sentence(outcome):
    assert bool(outcome.sentence) == (outcome != Outcome.ARRIVED)
    assert outcome.sentence == "" or outcome.sentence.endswith(".")


def test_no_two_outcomes_say_the_same():
    assert len({outcome.sentence for outcome in Outcome}) == len(Outcome)


def test_what_did_not_arrive_has_the_reason():
    ended = ended_if(np.array([True, False]), Outcome.NO_BOTTOM)
    assert ended.tolist() == [Outcome.ARRIVED, Outcome.NO_BOTTOM]
    assert ended.dtype == np.int64


def test_of_several_the_worst_counts_row_by_row():
    one = np.array([Outcome.ARRIVED, Outcome.NOT_FINITE, Outcome.ARRIVED])
    other = np.array([Outcome.OUT_OF_BUDGET, Outcome.NO_BOTTOM, Outcome.ARRIVED])
    expected = [Outcome.OUT_OF_BUDGET, Outcome.NOT_FINITE, Outcome.ARRIVED]
    assert worst([one, None, other]).tolist() == expected


def test_nothing_that_can_fail_has_no_outcome():
    assert worst([None, None]) is None
    assert worst([]) is None
