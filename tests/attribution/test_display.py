from dataclasses import replace

import numpy as np
import pytest
from made import mixed

from whyflag import Explainer
from whyflag.attribution.display import categories_of, held, normal, number, observed, shorten


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (1234.5678, 4, "1235"),
        (1234.5678, 10, "1234.5678"),
        (1e-12, 4, "1e-12"),
        (-2.5, 4, "-2.5"),
        (np.inf, 4, "inf"),
        (np.nan, 4, "nan"),
    ],
)
def test_a_number_takes_few_characters(value, digits, text):
    assert number(value, digits) == text


@pytest.mark.parametrize("most", [3, 4, 9, 10])
def test_a_long_name_keeps_its_ends(most):
    short = shorten("abcdefghijklmnop", most)
    head, tail = short.split("…")
    assert len(short) == most
    assert "abcdefghijklmnop".startswith(head)
    assert "abcdefghijklmnop".endswith(tail)


def test_a_name_that_fits_stays():
    assert shorten("abcd", 4) == "abcd"


def test_a_feature_is_shown_as_what_it_is():
    attribution = mixed()
    assert [observed(attribution, 0, j) for j in range(3)] == ["1235", "green", "7, 8"]
    assert [normal(attribution, 0, j) for j in range(3)] == ["0.5", "blue", "1, 2"]
    assert observed(attribution, 0, 0, digits=10) == "1234.5678"


def test_a_category_that_is_none_of_the_known_is_said():
    attribution = mixed()
    assert held(attribution, np.zeros(6), 1) == "none of the known"


def test_of_more_numbers_than_people_read_only_their_count_is_shown():
    attribution = replace(mixed(), membership=np.eye(6, dtype=bool)[:3] | [False] * 2 + [True] * 4)
    assert held(attribution, attribution.data[0], 2) == "4 values"


def test_what_the_table_had_is_shown_in_place_of_the_value():
    attribution = replace(mixed(), shown=({"colour": "pink (not seen before)"}, {}))
    assert observed(attribution, 0, 1) == "pink (not seen before)"
    assert observed(attribution, 0, 0) == "1235"
    assert observed(attribution, 1, 1) == "green"
    assert normal(attribution, 0, 1) == "blue"


def test_without_a_reference_nothing_is_normal():
    assert normal(replace(mixed(), reference=None), 0, 0) is None


def test_only_a_category_has_categories():
    assert categories_of(mixed(), 1) == ("red", "green", "blue")
    assert categories_of(mixed(), 0) == ()


def test_a_normal_value_is_told_in_as_many_digits_as_tell_it_from_the_observed_one():
    rows = 1e6 + np.random.default_rng(0).uniform(0.1, 0.2, size=(300, 1))
    far = Explainer(lambda X: np.abs(X[:, 0] - 1000000.15), rows, threshold=0.1)([[1000000.37654]])
    assert observed(far, 0, 0) == "1000000"
    assert normal(far, 0, 0) in ("1000000.1", "1000000.2")
