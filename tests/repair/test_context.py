import numpy as np
import pytest

from whyflag import Domain
from whyflag.repair.context import context_of
from whyflag.repair.known import Known
from whyflag.repair.trials import Trials
from whyflag.score import Score

RNG = np.random.default_rng(0)
A = RNG.normal(size=1500)
ROWS = np.column_stack([A, A + 0.1 * RNG.normal(size=1500), RNG.normal(size=1500)])
DOMAIN = Domain.infer(ROWS, bounded=True)


def energy(X):
    """The third column has nothing to do with the others."""
    return 50 * (X[:, 1] - X[:, 0]) ** 2 + X[:, 0] ** 2 / 2 + X[:, 2] ** 2 / 2


KNOWN = Known(Score(energy, n_features=3), DOMAIN, ROWS)


def context(x, repaired):
    feature = int(np.flatnonzero(np.not_equal(x, repaired))[0])
    sound = np.equal(x, repaired)
    return context_of(np.array(x), np.array(repaired), feature, sound, 0, KNOWN, Trials(KNOWN, 1))


@pytest.mark.parametrize("feature", [0, 1])
def test_a_value_is_odd_for_the_column_that_it_goes_with(feature):
    x = [1.0, 1.0, 0.3]
    wrong = list(x)
    wrong[feature] = -1.2
    found = context(wrong, x)
    assert found.feature == feature
    assert found.given == (1 - feature,)
    assert found.n_alike >= 20
    assert found.n_as_far == 0


def test_a_value_that_is_odd_anywhere_is_odd_by_itself():
    assert context([0.5, 0.5, 40.0], [0.5, 0.5, 0.1]).given == ()


def test_what_no_normal_row_has_is_odd_in_any_company():
    most = ROWS[:, 1].max()
    near, far = ([most - 1.5, most + away, 0.0] for away in (0.1, 0.5))
    repaired = [most - 1.5, most - 1.5, 0.0]
    assert context(near, repaired).given == (0,)
    assert context(far, repaired).given == ()


def test_what_is_wrong_itself_makes_nothing_odd():
    x, repaired = np.array([1.0, -1.2, 0.3]), np.array([1.0, 1.0, 0.3])
    for sound, given in ((np.array([True, False, True]), (0,)), (np.zeros(3, bool), ())):
        found = context_of(x, repaired, 1, sound, 0, KNOWN, Trials(KNOWN, 1))
        assert found.given == given


def test_few_rows_that_share_a_value_are_not_counted():
    x, repaired = [-1.0, 3.2, 0.0], [3.2, 3.2, 0.0]
    found = context(x, repaired)
    shared = (np.abs(ROWS[:, 1] - 3.2) / DOMAIN.scale[1] <= 0.25).sum()
    assert shared < 20
    assert found.given == (1,)
    assert (found.n_alike, found.n_as_far, found.counted) == (0, 0, 0)
