import numpy as np
import pytest

from whyflag import Domain
from whyflag.repair.known import Known
from whyflag.repair.ranges import ranges
from whyflag.repair.trials import Trials
from whyflag.score import Score


def found(function, row, column, domain, alarm, seen=None):
    known = Known(Score(function, n_features=len(row), threshold=alarm), domain, None)
    changed = np.arange(len(row))[None] == column
    rows = np.array([row])
    observed = rows if seen is None else np.where(changed, seen, rows)
    low, high = ranges(rows, observed, changed, known, Trials(known, 1))
    return low[0, column], high[0, column]


@pytest.mark.parametrize("bound", [1.5, 10.0, 1e9])
def test_the_range_of_a_parabola_is_known(bound):
    domain = Domain(2, lower=-bound, upper=bound)
    low, high = found(lambda X: (X**2).sum(axis=1), [0.5, 0.3], 0, domain, 1.0)
    edge = np.sqrt(1 - 0.09)
    assert -edge <= low <= -edge + 0.02
    assert edge - 0.02 <= high <= edge


def test_bounds_end_it():
    domain = Domain(1, lower=-1, upper=2)
    assert found(lambda X: np.zeros(len(X)), [0.0], 0, domain, 1.0) == (-1, 2)


def test_it_ends_before_the_first_alarm_and_not_at_the_last():
    def two_valleys(X):
        return np.where(np.abs(X[:, 0] - 2) < 0.5, 9.0, 0.0)

    low, high = found(two_valleys, [0.0], 0, Domain(1, lower=-5, upper=5), 1.0)
    assert low == -5
    assert 1.45 < high <= 1.5


@pytest.mark.parametrize("spike", np.linspace(0.952, 0.99, 12))
def test_a_score_that_jumps_over_the_alarm_close_to_it_ends_the_range(spike):
    """As that of a local outlier factor does, where a neighbour gives way to another."""

    def jumping(X):
        return np.abs(X[:, 0]) + (np.abs(X[:, 0] - spike) < 0.0015) * 0.1

    _, high = found(jumping, [0.0], 0, Domain(1, lower=-5, upper=5), 1.0)
    assert high < spike


@pytest.mark.parametrize("top", [0.21, 0.43, 0.67, 0.88])
def test_a_jump_where_the_score_is_high_ends_the_range_wherever_that_is(top):
    """The score climbs towards the alarm on the way, and is above it for 0.6 % of that."""

    def hill(X):
        away = np.abs(X[:, 0] - top)
        return 0.98 * np.exp(-((away / 0.1) ** 2)) + 0.1 * (away < 0.003)

    _, high = found(hill, [0.0], 0, Domain(1, lower=-1, upper=1), 1.0)
    assert high < top


def test_ends_are_of_the_columns_kind():
    domain = Domain(1, lower=0, upper=100).having(step={0: 1})
    assert found(lambda X: np.abs(X[:, 0] - 7), [7.0], 0, domain, 3.4) == (4, 10)


def test_of_what_is_not_asked_for_nothing_is_known():
    domain = Domain(2, lower=-1, upper=1)
    score = Score(lambda X: X.sum(axis=1), n_features=2, threshold=1.0)
    known = Known(score, domain, None)
    trials = Trials(known, 1)
    low, high = ranges(np.zeros((1, 2)), np.ones((1, 2)), np.zeros((1, 2), bool), known, trials)
    assert np.isnan(low).all()
    assert np.isnan(high).all()
    assert trials.count.tolist() == [0]


def test_the_rest_of_the_row_is_held_also_where_it_is_not_normal():
    """The other column is out of its bounds, and no whole number."""
    domain = Domain(2, lower=0, upper=100).having(step={0: 1, 1: 1})

    def away(X):
        return np.abs(X[:, 0] - 50) + 0.3 * np.abs(X[:, 1] - 50)

    assert found(away, [50.0, 200.5], 0, domain, 60.0) == (36, 64)


@pytest.mark.parametrize("width", [0.0, 1e-6, 1e-3])
def test_what_was_seen_is_never_in_the_range_if_it_raises_the_alarm(width):
    def stuck(X):  # at one value, as a sensor that fails
        return np.where(np.abs(X[:, 0] - 0.3) <= width, 9.0, 0.0)

    low, high = found(stuck, [1.0, 0.0], 0, Domain(2, lower=-2, upper=2), 1.0, seen=0.3)
    assert 0.3 + width < low < 0.31 + width
    assert high == 2
    low, high = found(stuck, [-1.0, 0.0], 0, Domain(2, lower=-2, upper=2), 1.0, seen=0.3)
    assert low == -2
    assert 0.29 - width < high < 0.3 - width
