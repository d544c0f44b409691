import re
from dataclasses import replace

import numpy as np
import pytest

from whyflag import Attribution
from whyflag.attribution.display import (
    MOST_FEATURES,
    MOST_ROWS,
    categories_of,
    held,
    normal,
    number,
    observed,
    shorten,
)
from whyflag.outcome import Outcome


def make(n=2):
    """A number, a category in three columns, and a group of two, of n rows."""
    data = np.tile([[1234.5678, 0.0, 1.0, 0.0, 7.0, 8.0]], (n, 1))
    return Attribution(
        values=np.tile([[1.0, 3.0, 2.0]], (n, 1)),
        base_values=np.zeros(n),
        scores=np.full(n, 6.0),
        evaluations=np.ones(n, dtype=int),
        reference=np.tile([[0.5, 0.2, 0.3, 0.9, 1.0, 2.0]], (n, 1)),
        data=data,
        row_names=tuple(f"r{i}" for i in range(n)),
        feature_names=("speed", "colour", "lags"),
        column_names=("speed", "red", "green", "blue", "lag1", "lag2"),
        membership=np.array(
            [[1, 0, 0, 0, 0, 0], [0, 1, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1]], dtype=bool
        ),
        categories={"colour": ("red", "green", "blue")},
        method="own",
    )


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
    attribution = make()
    assert [observed(attribution, 0, j) for j in range(3)] == ["1235", "green", "2 values"]
    assert [normal(attribution, 0, j) for j in range(3)] == ["0.5", "blue", "2 values"]
    assert observed(attribution, 0, 0, digits=10) == "1234.5678"


def test_a_category_that_is_none_of_the_known_is_said():
    attribution = make()
    assert held(attribution, np.zeros(6), 1) == "none of the known"


def test_what_the_table_had_is_shown_in_place_of_the_value():
    attribution = replace(make(), shown=({"colour": "pink (not seen before)"}, {}))
    assert observed(attribution, 0, 1) == "pink (not seen before)"
    assert observed(attribution, 0, 0) == "1235"
    assert observed(attribution, 1, 1) == "green"
    assert normal(attribution, 0, 1) == "blue"


def test_without_a_reference_nothing_is_normal():
    assert normal(replace(make(), reference=None), 0, 0) is None


def test_only_a_category_has_categories():
    assert categories_of(make(), 1) == ("red", "green", "blue")
    assert categories_of(make(), 0) == ()


def cells(html):
    body = html.split("<tbody>")[1].split("</tbody>")[0]
    rows = re.findall("<tr>(.*?)</tr>", body)
    return [re.findall("<td>(.*?)</td>", row) for row in rows]


def test_the_table_has_the_features_from_the_most_to_blame():
    first, second, third, *rest = cells(make(1)._repr_html_())
    assert first == ["r0", "6", "colour", "3", "green", "blue"]
    assert second == ["", "", "lags", "2", "2 values", "2 values"]
    assert third == ["", "", "speed", "1", "1235", "0.5"]
    assert rest == []


def test_the_table_of_a_method_without_normal_values_has_none():
    table = cells(replace(make(1), reference=None)._repr_html_())
    assert [row[-1] for row in table] == ["", "", ""]


def test_long_tables_are_cut():
    html = make(MOST_ROWS + 5)._repr_html_()
    assert len(cells(html)) == MOST_ROWS * MOST_FEATURES
    assert f"r{MOST_ROWS - 1}<" in html
    assert f"r{MOST_ROWS}<" not in html
    assert "<p>and 5 more rows</p>" in html


def test_a_table_that_fits_is_not_cut():
    html = make(MOST_ROWS)._repr_html_()
    assert len(cells(html)) == MOST_ROWS * MOST_FEATURES
    assert "more rows" not in html


def test_a_table_of_no_rows_is_empty():
    assert cells(make(2)[:0]._repr_html_()) == []


def test_names_are_no_html():
    evil = "<script>alert('&')</script>"
    attribution = replace(
        make(1),
        feature_names=(evil, "colour", "lags"),
        row_names=(evil,),
        shown=({"colour": evil},),
        method=evil,
        ended=np.array([Outcome.NO_BOTTOM]),
    )
    html = attribution._repr_html_()
    assert "<script" not in html
    # In the title, the row, its feature, its value, and the remark.
    assert html.count("&lt;script&gt;alert(&#x27;&amp;&#x27;)&lt;/script&gt;") == 5


def test_categories_are_no_html():
    attribution = replace(make(1), categories={"colour": ("red", "<green>", "<blue>")})
    assert cells(attribution._repr_html_())[0][-2:] == ["&lt;green&gt;", "&lt;blue&gt;"]


def test_remarks_stand_below_the_table():
    ended = np.array([Outcome.ARRIVED, Outcome.OUT_OF_BUDGET])
    html = replace(make(), ended=ended)._repr_html_()
    below = html.split("</table>")[1]
    assert below.startswith("<p>r1: The computation stopped at its limit")
    assert below.count("<p>") == 1


def test_remarks_of_rows_that_are_cut_are_not_said():
    n = MOST_ROWS + 1
    ended = np.full(n, Outcome.ARRIVED)
    ended[-1] = Outcome.OUT_OF_BUDGET
    assert "The computation stopped" not in replace(make(n), ended=ended)._repr_html_()


def test_only_rows_that_are_shown_are_put_in_order(monkeypatch):
    lengths = []
    order = Attribution.order.fget
    monkeypatch.setattr(
        Attribution, "order", property(lambda self: lengths.append(len(self)) or order(self))
    )
    assert make(50)._repr_html_()
    assert lengths == [MOST_ROWS]
