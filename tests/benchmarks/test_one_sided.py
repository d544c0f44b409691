"""One-sided scores: which value was moved where, and that scores rise on one side."""

import numpy as np
import pytest

from benchmarks.culprits.one_sided import rows, scores, spoilt

RNG = np.random.default_rng(0)
NORMAL = rows(500, RNG.normal(size=(2, 5)), RNG)


def test_two_values_of_each_row_are_moved_and_never_the_same():
    X, raising, lowering = spoilt(NORMAL[:40], 4, -8)
    every = np.arange(40)
    assert (raising != lowering).all()
    assert (X[every, raising] == 4).all()
    assert (X[every, lowering] == -8).all()
    assert ((NORMAL[:40] != X).sum(axis=1) == 2).all()


@pytest.mark.parametrize("name", ["sum", "rectified", "squares", "exponential", "logistic"])
def test_a_score_rises_on_one_side_and_on_no_other(name):
    score = scores(NORMAL, np.random.default_rng(1))[name]
    higher, lower = NORMAL.copy(), NORMAL.copy()
    higher[:, 2], lower[:, 2] = 9, -9
    assert (score(higher) >= score(NORMAL)).all()
    assert (score(higher) > score(NORMAL)).any()
    assert (score(lower) <= score(NORMAL)).all()
