import numpy as np
import pytest

from whyflag import Domain
from whyflag.repair.expected import Expected

RNG = np.random.default_rng(0)


def expected(rows, x, columns, domain=None):
    domain = domain or Domain.infer(rows)
    what = Expected(rows, domain)
    columns = np.isin(np.arange(rows.shape[1]), columns)
    features = (domain.membership & columns).any(axis=1)
    far = what.apart(x, np.where(features, 0.0, 1.0)).sum(axis=1, keepdims=True)
    return what.of_some(x, columns, what.nearest(far)[:, 0])


@pytest.mark.parametrize("columns", [[0], [2], [0, 1]], ids=str)
def test_of_a_gaussian_it_is_about_the_conditional_mean(columns):
    covariance = np.array([[1.0, 0.9, 0.5], [0.9, 1.0, 0.6], [0.5, 0.6, 1.0]])
    rows = RNG.multivariate_normal([5, -3, 100], covariance, size=2000)
    x = np.array([6.0, -2.2, 101.0])
    rest = [j for j in range(3) if j not in columns]
    bond = covariance[np.ix_(columns, rest)] @ np.linalg.inv(covariance[np.ix_(rest, rest)])
    mean = np.array([5, -3, 100])[columns] + bond @ (x - [5, -3, 100])[rest]
    spread = np.sqrt(
        np.diag(covariance[np.ix_(columns, columns)] - bond @ covariance[np.ix_(rest, columns)])
    )
    # Eight neighbours: the mean of their residuals is off by a third of the spread at most, mostly.
    assert (np.abs(expected(rows, x, columns) - mean) < spread).all()


def test_bends_are_followed_where_there_are_rows():
    t = RNG.uniform(-2, 2, 1500)
    rows = np.column_stack([t, t**2 + 0.05 * RNG.normal(size=1500)])
    found = expected(rows, np.array([1.5, -9999.0]), [1])
    assert found[0] == pytest.approx(2.25, abs=0.2)  # a straight line has 1.3 everywhere


def test_the_value_itself_has_no_part_in_it():
    rows = RNG.normal(size=(300, 3)) @ RNG.normal(size=(3, 3))
    one, other = (expected(rows, np.array([0.3, -0.2, far]), [2]) for far in (0.0, 1e9))
    assert one == pytest.approx(other, rel=1e-9)


def test_columns_that_are_the_same_and_columns_that_do_not_change():
    a = RNG.normal(size=200)
    rows = np.column_stack([a, a, np.full(200, 7.0)])
    assert expected(rows, np.array([1.0, 50.0, 7.0]), [1])[0] == pytest.approx(1.0, abs=0.1)
    assert expected(rows, np.array([1.0, 1.0, 9.0]), [2])[0] == pytest.approx(7.0)


def test_more_columns_than_rows():
    rows = RNG.normal(size=(20, 60))
    assert np.isfinite(expected(rows, rows[0], [3])).all()


def test_of_equally_near_rows_some_from_all_over_count():
    rows = np.repeat(RNG.normal(size=(5, 2)), 10, axis=0)
    domain = Domain.infer(rows)
    far = np.zeros((50, 1))
    noise = 1e-13 * RNG.normal(size=far.shape)
    what = Expected(rows, domain)
    found = what.nearest(far + noise)[:, 0]
    assert found.tolist() == what.nearest(far)[:, 0].tolist()
    assert {k // 10 for k in found.tolist()} == set(range(5))


def test_what_is_expected_does_not_hang_on_how_rows_are_sorted():
    a = np.sort(RNG.normal(100, 10, size=400))
    rows = np.column_stack([a, np.tile([1.0, 0.0], 200), np.tile([0.0, 1.0], 200)])
    for some in (rows, rows[::-1]):
        of_first = expected(some, np.array([200.0, 1.0, 0.0]), [0])[0]
        assert of_first == pytest.approx(np.median(a), abs=5)


def test_features_are_known_by_what_they_go_with():
    a = RNG.normal(size=500)
    rows = np.column_stack([RNG.normal(size=500), a, a + 0.2 * RNG.normal(size=500), 5 * a**3])
    what = Expected(rows, Domain.infer(rows, players={"both": [0, 3]}))
    assert what.bound_to(1)[0] == 2
    assert sorted(what.bound_to(0).tolist()) == [1, 2]
