import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from whyflag import Domain
from whyflag.kinds import Kinds

RNG = np.random.default_rng(0)
PRICES = RNG.normal(20, 3, 200).round(2)
COUNTS = RNG.integers(0, 300, 200).astype(float)
DOORS = RNG.choice([2.0, 3.0, 5.0], 200)
ROWS = np.column_stack([PRICES, COUNTS, DOORS, RNG.normal(size=200)])


def test_decimals_and_lists_are_read_off_rows():
    kinds = Kinds.infer(ROWS)
    np.testing.assert_allclose(kinds.step, [0.01, 1, 1, 0])
    assert kinds.decimals.tolist() == [2, 0, 0, -1]
    assert [known is not None for known in kinds.given] == [False, False, True, False]
    assert kinds.given[2].tolist() == [2, 3, 5]


@pytest.mark.parametrize(
    ("unit", "step"), [(500, 500), (0.05, 0.05), (0.25, 0.25), (12, 12), (1000, 1000), (1, 1)]
)
def test_of_many_values_a_larger_step_is_read_off(unit, step):
    counts = np.random.default_rng(1).integers(-30, 70, size=(300, 1))
    kinds = Kinds.infer(np.round(counts * unit, 2))
    np.testing.assert_allclose(kinds.step, step)
    admitted = kinds.admit(np.array([[7.3 * unit]]), np.zeros((1, 1)))
    assert admitted[0, 0] == pytest.approx(7 * unit)


@pytest.mark.parametrize("values", [[0.0], [0, 500, 1000, 1500], [4000.0] * 50, [2.0**60] * 40])
def test_of_few_values_it_is_not(values):
    assert Kinds.infer(np.array(values, dtype=float)[:, None]).step.tolist() == [1]


def test_a_few_rows_do_not_make_a_list():
    assert Kinds.infer(np.array([[1.0], [2.0], [3.0]])).given == (None,)


def test_values_that_are_admitted_are_those_that_people_write():
    admitted = Kinds.infer(ROWS).admit(np.array([[20.129, 7.6, 4.1, 0.12345]]), np.zeros((1, 4)))
    assert admitted.tolist() == [[20.13, 8, 5, 0.12345]]
    assert f"{Kinds.infer(ROWS).admit(ROWS[:1] * 1.1, ROWS[:1])[0, 0]}".partition(".")[2] != ""


@given(hnp.arrays(float, (5, 4), elements=st.floats(-1e6, 1e6)))
def test_what_is_admitted_stays_as_it_is(values):
    kinds = Kinds.infer(ROWS)
    once = kinds.admit(values, values)
    np.testing.assert_array_equal(kinds.admit(once, once), once)


@pytest.mark.parametrize("step", [0.05, 0.25, 25.0])
def test_a_step_need_not_be_a_power_of_ten(step):
    domain = Domain(1).having(step={0: step})
    value = domain.admit(np.array([[3.1416 * step]]), np.zeros((1, 1)))[0, 0]
    assert value == pytest.approx(3 * step, rel=1e-12)
    assert len(str(value)) <= 5  # 0.15, not 0.15000000000000002


def test_bounds_are_at_values_that_can_be_held():
    domain = Domain(2, lower=[0.5, -1], upper=[7.5, 1]).having(step={0: 1})
    low, high = domain.admit(np.array([[-9.0, -9], [99, 9]]), np.zeros((2, 2)))
    assert low.tolist() == [1, -1]
    assert high.tolist() == [7, 1]


def test_what_may_only_rise_does_not_fall():
    domain = Domain(["age", "debt"]).having(rising=["age"], falling=["debt"])
    x = np.array([[30.0, 100.0]])
    assert domain.admit(np.array([[25.0, 120.0]]), x).tolist() == [[30, 100]]
    assert domain.admit(np.array([[35.0, 80.0]]), x).tolist() == [[35, 80]]


def test_kinds_survive_names_and_json():
    domain = Domain.infer(ROWS).having(rising=[0], upper={1: 400}).rename(["a", "b", "c", "d"])
    again = Domain.from_json(domain.to_json())
    for one in (domain, again):
        assert one.kinds.direction.tolist() == [1, 0, 0, 0]
        assert one.upper[1] == 400
        assert one.kinds.given[2].tolist() == [2, 3, 5]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"step": {0: -1.0}}, "must not be negative"),
        ({"step": {0: np.nan}}, "must not be negative"),
        ({"given": {0: []}}, "must list numbers"),
        ({"given": {7: [1.0]}}, "positions from 0 to 1"),
        ({"rising": [0], "falling": [0]}, "cannot be both"),
        ({"step": {0: 7}, "lower": {0: 1}, "upper": {0: 5}}, "a value of its kind between 1 and 5"),
        ({"given": {0: [0, 9]}, "lower": {0: 1}, "upper": {0: 5}}, "a value of its kind"),
        ({"lower": {0: 2.0}, "upper": {0: 1.0}}, "lower must not exceed upper"),
    ],
)
def test_what_makes_no_sense_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Domain(2).having(**settings)


def test_kinds_must_fit_the_columns():
    with pytest.raises(ValueError, match="those of 2 columns, got 3"):
        Domain(2, kinds=Kinds.any(3))


@pytest.mark.parametrize(("offset", "spread"), [(1e12 + 0.5, 0.2), (1e9 + 0.0005, 0.0002)])
def test_a_large_offset_hides_no_decimals(offset, spread):
    rows = offset + RNG.uniform(-spread, spread, size=(500, 1))
    domain = Domain.infer(rows, bounded=True)
    admitted = domain.admit(rows, rows)
    assert (domain.lower <= admitted).all()
    assert (admitted <= domain.upper).all()
    assert np.abs(admitted - rows).max() <= 1e-3 * spread


def test_zero_has_no_sign():
    domain = Domain(1, lower=-0.0, upper=9).having(step={0: 1})
    assert str(domain.admit(np.array([[-5.0]]), np.zeros((1, 1)))[0, 0]) == "0.0"
