import json

import numpy as np
import pandas as pd
import pytest

from whyflag import Domain, Explainer


def test_infer_reads_scale_center_and_binary_columns():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"age": rng.normal(40, 12, 200), "smoker": rng.integers(2, size=200), "id": 7.0}
    )
    domain = Domain.infer(frame)
    assert domain.columns == ("age", "smoker", "id")
    assert domain.binary.tolist() == [False, True, False]
    np.testing.assert_allclose(domain.scale, [frame["age"].std(ddof=0), 1.0, 7.0])
    np.testing.assert_allclose(domain.center[0], frame["age"].median())
    np.testing.assert_array_equal(domain.lower, [-np.inf, 0.0, -np.inf])
    np.testing.assert_array_equal(domain.upper, [np.inf, 1.0, np.inf])


def test_infer_takes_the_range_of_the_rows_as_bounds_when_asked():
    domain = Domain.infer([[1.0, 5.0], [3.0, 2.0]], bounded=True)
    assert domain.lower.tolist() == [1.0, 2.0]
    assert domain.upper.tolist() == [3.0, 5.0]


def test_the_scale_of_a_constant_column_is_its_magnitude_or_one():
    assert Domain.infer([[0.1, 0.0]] * 10).scale.tolist() == [0.1, 1.0]
    assert Domain.infer([[1e6, -3.0]] * 3).scale.tolist() == [1e6, 3.0]


def test_a_deviation_that_is_rounding_alone_is_no_scale():
    rows = np.full((1000, 1), 0.1)
    assert rows.std() > 0
    assert Domain.infer(rows).scale[0] == pytest.approx(0.1)
    assert Domain.infer([[1.0], [1.0 + 1e-6]]).scale[0] == pytest.approx(5e-7)


def test_a_column_of_both_zeros_and_ones_is_binary_and_no_other_is():
    rows = [[0.0, 0.0, 1.0, 0.0], [1.0, 2.0, 1.0, 0.5], [0.0, 1.0, 1.0, 1.0]]
    assert Domain.infer(rows).binary.tolist() == [True, False, False, False]


def test_infer_takes_fixed_columns_and_players():
    domain = Domain.infer(np.eye(3), fixed=[1], players={"pair": [0, 2]})
    assert domain.fixed.tolist() == [False, True, False]
    assert domain.player_names == ("pair", "x1")


def test_json_gives_the_domain_back():
    domain = Domain(
        ["a", "b", "c"],
        scale=[1, 2, 3],
        lower=[-np.inf, 0, 0],
        upper=[5, np.inf, 1],
        center=[np.nan, 4, np.nan],
        binary=["c"],
        fixed=["b"],
        players={"g": ["a", "c"]},
    )
    content = json.loads(json.dumps(domain.to_json(), allow_nan=False))
    again = Domain.from_json(content)
    assert again.named
    assert again.columns == domain.columns
    assert again.player_names == ("g", "b")
    for name in ("scale", "lower", "upper", "center", "binary", "fixed", "membership"):
        np.testing.assert_array_equal(getattr(again, name), getattr(domain, name))
    assert not Domain.from_json(Domain(2).to_json()).named


def test_players_are_groups_and_the_columns_left_over():
    domain = Domain(["a", "b", "c", "d"], players={"bd": ["b", "d"]})
    assert domain.player_names == ("a", "bd", "c")
    np.testing.assert_array_equal(
        domain.expand(np.array([[False, True, False], [True, False, True]])),
        [[False, True, False, True], [True, False, True, False]],
    )


def test_players_of_one_column_each_are_no_change():
    assert Domain(2, players={"x1": [1], "x0": [0]}).player_names == Domain(2).player_names


def test_names_positions_and_masks_mean_the_same():
    for fixed in (["b"], [1], np.array([1]), np.array([False, True]), [False, True]):
        assert Domain(["a", "b"], fixed=fixed).fixed.tolist() == [False, True]


def test_other_names_leave_everything_else_as_it_is():
    domain = Domain(3, scale=[1, 2, 3], lower=0, binary=[0], fixed=[2], players={"g": [0, 2]})
    renamed = domain.rename(["a", "b", "c"])
    assert renamed.columns == ("a", "b", "c")
    assert renamed.player_names == ("g", "b")
    for name in ("scale", "lower", "upper", "center", "binary", "fixed", "membership"):
        np.testing.assert_array_equal(getattr(renamed, name), getattr(domain, name))


def test_a_column_may_have_one_value_only():
    assert Domain(2, lower=1.0, upper=1.0).lower.tolist() == [1.0, 1.0]


def test_names_that_are_given_are_told_from_numbers():
    assert Domain(["x0", "x1"]).named
    assert not Domain(2).named


def test_its_arrays_are_not_the_callers():
    scale = np.ones(2)
    domain = Domain(2, scale=scale)
    scale[0] = 5
    assert domain.scale[0] == 1


def test_repr_says_what_it_holds():
    assert repr(Domain(3, binary=[0])) == "Domain(3 columns (1 binary, 0 fixed), 3 players)"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"columns": 0}, "`columns` must be a whole number, at least 1, got 0"),
        ({"columns": True}, "`columns` must be a whole number"),
        ({"columns": []}, "at least one"),
        ({"columns": "ab"}, "`columns` must be a list of columns, got 'ab'"),
        ({"columns": ["a", "a"]}, "distinct names"),
        ({"scale": 0.0}, "scale must be positive.*column 'x0'"),
        ({"scale": [1.0, np.nan]}, "scale must be positive.*column 'x1'"),
        ({"scale": [1.0, 1.0, 1.0]}, r"shape \(2,\), got \(3,\)"),
        ({"lower": 2.0, "upper": 1.0}, "lower must not exceed upper, got"),
        ({"fixed": ["z"]}, "`fixed` must name columns.*got 'z'"),
        ({"fixed": "x0"}, "`fixed` must be a list of columns, got 'x0'"),
        ({"players": {"g": "x0"}}, r"`players\['g'\]` must be a list of columns, got 'x0'"),
        ({"players": ["x0"]}, r"`players` must be lists of columns by name, got \['x0'\]"),
        ({"fixed": -5}, "`fixed` must be a list of columns, got -5"),
        ({"fixed": None}, "`fixed` must be a list of columns, got None"),
        ({"lower": np.inf}, "some number must be allowed, got .* lower inf"),
        ({"upper": -np.inf}, "some number must be allowed, got .* upper -inf"),
        ({"center": np.inf}, "center must be a number, or NaN .* center inf in column 'x0'"),
        ({"fixed": [2]}, "positions from 0 to 1, got 2"),
        ({"fixed": [-1]}, "positions from 0 to 1, got -1"),
        ({"fixed": [True]}, "positions from 0 to 1, got True"),
        ({"scale": np.inf}, "scale must be positive"),
        ({"lower": [0.0, 2.0], "upper": 1.0}, "lower 2.0, upper 1.0, center nan in column 'x1'"),
        ({"lower": np.nan}, "lower must not exceed upper"),
        ({"players": {"g": [0, 1], "h": [1]}}, "'x1' belongs to several"),
        ({"players": {"g": []}}, "'g' has none"),
        ({"players": {"x0": [1]}}, "has the name of a column outside it"),
    ],
)
def test_a_domain_that_is_none_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Domain(**{"columns": 2, **settings})


@pytest.mark.parametrize("value", [0.0, 1.0, 7.0])
def test_a_column_that_never_varied_keeps_its_value(value):
    """Of a column that is always 1 nobody knows that it could be 0."""
    rows = np.column_stack([np.random.default_rng(0).normal(size=50), np.full(50, value)])
    domain = Domain.infer(rows, bounded=True)
    assert not domain.binary.any()
    assert (domain.lower[1], domain.upper[1]) == (value, value)
    explain = Explainer(lambda X: X[:, 0] ** 2 + 3 * X[:, 1], rows)
    attribution = explain([[2.0, value]])
    assert attribution.values[0, 1] == pytest.approx(0.0, abs=1e-4)
    assert attribution.reference[0, 1] == value


@pytest.mark.parametrize("wrong", [[np.inf, 0.0], [0.0, np.nan]])
def test_typical_rows_that_are_not_finite_are_refused(wrong):
    with pytest.raises(ValueError, match=r"`typical` must be finite rows of shape \(k, 2\)"):
        Domain(2, typical=[[1.0, 2.0], wrong])


def test_rows_that_are_all_unlike_one_another_stand_for_themselves():
    """A cluster of one is an outlier, unless there are no others."""
    rows = np.array([[0.0, 0.0], [100.0, 3.0], [7.0, -50.0]])
    typical = Domain.infer(rows).typical
    assert sorted(typical.tolist()) == sorted(rows.tolist())


def test_a_number_of_columns_may_be_of_any_type_of_whole_numbers():
    assert Domain(np.int64(2)).columns == Domain(2).columns == ("x0", "x1")
    assert not Domain(np.int64(2)).named


@pytest.mark.parametrize("fixed", [-5, None, np.nan, "a", True])
def test_an_explainer_refuses_fixed_columns_that_are_no_list(fixed):
    with pytest.raises(ValueError, match="`fixed` must be a list of columns"):
        Explainer(lambda X: X.sum(axis=1), np.eye(3), fixed=fixed)
