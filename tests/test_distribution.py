import json

import numpy as np
import pytest

from whyflag.distribution import FREQUENT, LEVELS, Distribution

RNG = np.random.default_rng(0)
HEAVY = RNG.standard_cauchy(20_000)
FEW = RNG.choice([4.0, 6.0, 8.0], 20_000, p=[0.48, 0.21, 0.31])
ROUND = np.round(RNG.normal(50, 20, 20_000))
ROWS = np.column_stack([HEAVY, FEW, ROUND])
KNOWN = Distribution.of(ROWS)


@pytest.mark.parametrize("column", [0, 1, 2])
def test_a_value_stands_where_it_stands_among_the_rows(column):
    values = ROWS[:, column]
    for value in [*np.quantile(values, [0.0002, 0.003, 0.1, 0.5, 0.77, 0.996, 0.9997]), 6.0, 6.5]:
        place = KNOWN.place(column, float(value))
        assert place.below == pytest.approx((values < value).mean(), abs=0.011)
        same = (values == value).mean()
        assert place.same == (same if same >= FREQUENT else 0)
        assert place.below + place.same + place.above == pytest.approx(1)


def test_ties_are_counted_as_what_they_are():
    place = KNOWN.place(1, 4.0)
    assert (place.below, place.same) == (0, (FEW == 4).mean())
    assert KNOWN.place(1, 8.0).above == pytest.approx(0)


@pytest.mark.parametrize("part", [0.0005, 0.002, 0.998, 0.9995])
def test_both_ends_are_known_finely(part):
    place = KNOWN.place(0, float(np.quantile(HEAVY, part)))
    assert place.below == pytest.approx(part, abs=0.3 * min(part, 1 - part))


def test_beyond_all_values_there_is_nothing():
    assert KNOWN.place(0, 1e300).below == 1
    assert KNOWN.place(0, -1e300).above == 1
    assert KNOWN.place(1, 9.0).below == 1


def test_parts_are_those_of_a_histogram():
    edges = np.linspace(-10, 110, 13)
    counts, _ = np.histogram(ROUND, edges)
    assert KNOWN.parts(2, edges) == pytest.approx(counts / len(ROUND), abs=0.02)
    assert KNOWN.parts(1, np.array([4.0, 6.0, 8.0])) == pytest.approx([0.48, 0.52], abs=0.01)


def test_it_survives_json():
    again = Distribution.from_json(json.loads(json.dumps(KNOWN.to_json())))
    np.testing.assert_array_equal(again.quantiles, KNOWN.quantiles)
    np.testing.assert_array_equal(again.mean, KNOWN.mean)
    assert again.place(1, 4.0) == KNOWN.place(1, 4.0)


def test_parts_that_do_not_fit_are_refused():
    content = KNOWN.to_json()
    with pytest.raises(ValueError, match="frequent values are of 1 columns"):
        Distribution.from_json({**content, "frequent": content["frequent"][:1]})


def test_levels_rise_from_the_smallest_to_the_largest():
    assert (np.diff(LEVELS) > 0).all()
    assert (LEVELS[0], LEVELS[-1]) == (0, 1)
