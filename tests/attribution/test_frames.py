import re
import sys
from dataclasses import replace

import matplotlib
import numpy as np
import pandas as pd
import pytest
from made import make, mixed

from whyflag import Attribution, Explainer
from whyflag.attribution import concatenate
from whyflag.attribution.frames import MOST_FEATURES, MOST_ROWS
from whyflag.detectors import GMM
from whyflag.outcome import Outcome
from whyflag.table.codec import State

matplotlib.use("Agg")


def test_top_is_sorted_by_attribution_within_each_row():
    top = make().top(2)
    assert top.columns.tolist() == ["row", "feature", "attribution", "observed", "normal"]
    assert top["row"].tolist() == ["r1", "r1", "r2", "r2"]
    assert top["feature"].tolist() == ["dose", "rate", "rate", "dose"]
    assert top["attribution"].tolist() == [5.0, 2.0, 4.0, 0.0]
    assert top["observed"].tolist() == [20.0, 30.0, 60.0, 50.0]
    assert top["normal"].tolist() == [19.0, 29.0, 59.0, 49.0]
    assert pd.api.types.is_float_dtype(top["normal"])


def test_of_a_cell_that_has_a_stand_in_nothing_is_normal_unless_it_is_replaced():
    rows = np.random.default_rng(0).normal(size=(200, 2)).round(2)
    explain = Explainer(lambda X: np.abs(X).max(axis=1), rows, threshold=5.0)
    said = explain([[0.5, 0.25], [0.5, 90.0]])
    gap = np.full((2, 2), State.USUAL, dtype=np.int8)
    gap[:, 0] = State.GAP
    normal = replace(said, states=gap).top(2).pivot(index="row", columns="feature")["normal"]
    assert normal["x0"].isna().all()
    assert normal["x1"].tolist() == [0.25, said.repair.rows[1, 1]]


def test_top_of_more_than_there_are_is_all():
    assert len(make().top(99)) == 6


def test_top_shows_a_group_as_a_tuple_and_no_normal_value_where_there_is_none():
    top = make(reference=False, grouped=True).top(1)
    assert top["observed"].tolist() == [(0.0, 1.0), 60.0]
    assert top["normal"].isna().all()


def test_top_of_nothing_is_refused():
    with pytest.raises(ValueError, match="`k` must be a whole number, at least 1, got 0"):
        make().top(0)


def test_frame_has_the_names():
    frame = make().to_frame()
    assert frame.index.tolist() == ["r1", "r2"]
    assert frame.columns.tolist() == ["age", "dose", "rate"]
    assert frame.loc["r2", "rate"] == 4.0


@pytest.mark.parametrize("grouped", [False, True], ids=["columns", "groups"])
@pytest.mark.parametrize("plot", ["waterfall", "bar", "beeswarm"])
def test_shaps_plots_take_it(plot, grouped):
    import matplotlib.pyplot as plt
    import shap

    explanation = make(grouped=grouped).to_shap()
    assert explanation.values.shape == (2, 3)
    assert explanation.base_values.shape == (2,)
    shown = explanation[0] if plot == "waterfall" else explanation
    getattr(shap.plots, plot)(shown, show=False)
    labels = " ".join(text.get_text() for text in plt.gca().get_yticklabels())
    plt.close("all")
    for name in ("age", "dose", "rate"):
        assert name in labels


def test_shap_gets_what_each_player_holds():
    single, grouped = make().to_shap(), make(grouped=True).to_shap()
    np.testing.assert_array_equal(single.data, make().data)
    assert single.display_data is None
    np.testing.assert_array_equal(grouped.data, [[10.0, 0.5, 30.0], [40.0, 0.5, 60.0]])
    assert grouped.display_data[0].tolist() == ["10.0", "(0.0, 1.0)", "30.0"]


def test_shap_gets_copies():
    attribution = replace(make(), standard_errors=np.ones((2, 3)))
    explanation = attribution.to_shap()
    for theirs in (explanation.values, explanation.base_values, explanation.error_std):
        theirs[:] = np.nan
    np.testing.assert_array_equal(attribution.values, make().values)
    np.testing.assert_array_equal(attribution.base_values, make().base_values)
    np.testing.assert_array_equal(attribution.standard_errors, 1.0)


def test_the_largest_attribution_is_the_default_of_three():
    five = replace(
        make()[0],
        values=np.arange(5.0)[None],
        data=np.arange(5.0)[None],
        feature_names=tuple("abcde"),
        membership=np.eye(5, dtype=bool),
        reference=None,
    )
    assert five.top()["feature"].tolist() == ["e", "d", "c"]


def test_without_shap_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ImportError, match=r"pip install 'whyflag\[shap\]'"):
        make().to_shap()


def test_standard_errors_follow_the_rows_into_tables_and_plots():
    errors = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    attribution = replace(make(), standard_errors=errors)
    top = attribution.top(1)
    columns = ["row", "feature", "attribution", "error", "observed", "normal"]
    assert top.columns.tolist() == columns
    assert top["error"].tolist() == [0.2, 0.6]
    np.testing.assert_array_equal(attribution[1].standard_errors, errors[1:])
    both = concatenate([attribution[0], attribution[1]])
    np.testing.assert_array_equal(both.standard_errors, errors)
    np.testing.assert_array_equal(attribution.to_shap().error_std, errors)


def test_errors_are_shown_if_any_is_above_zero():
    errors = np.array([[0.0, 0.2, 0.0], [0.0, 0.0, 0.0]])
    top = replace(make(), standard_errors=errors).top(1)
    assert top["error"].tolist() == [0.2, 0.0]


def test_exact_values_have_no_column_of_errors():
    exact = replace(make(), standard_errors=np.zeros((2, 3)))
    assert "error" not in exact.top(1).columns


def test_rows_are_put_in_order_once_and_not_once_for_each(monkeypatch):
    """Else a table of n rows takes n times as long as it should."""
    sorted_ = []
    order = Attribution.order.fget
    monkeypatch.setattr(
        Attribution, "order", property(lambda self: sorted_.append(1) or order(self))
    )
    attribution = make()
    assert len(attribution) > 1
    attribution.top(2)
    assert len(sorted_) == 1


def cells(html):
    body = html.split("<tbody>")[1].split("</tbody>")[0]
    rows = re.findall("<tr>(.*?)</tr>", body)
    return [re.findall("<td>(.*?)</td>", row) for row in rows]


def test_the_table_has_the_features_from_the_most_to_blame():
    first, second, third, *rest = cells(mixed(1)._repr_html_())
    assert first == ["r0", "6", "colour", "3", "green", "blue"]
    assert second == ["", "", "lags", "2", "7, 8", "1, 2"]
    assert third == ["", "", "speed", "1", "1235", "0.5"]
    assert rest == []


def test_the_table_of_a_method_without_normal_values_has_none():
    table = cells(replace(mixed(1), reference=None)._repr_html_())
    assert [row[-1] for row in table] == ["", "", ""]


def test_ten_rows_of_three_features_are_shown():
    html = mixed(15)._repr_html_()
    assert len(cells(html)) == 10 * 3
    assert "r9<" in html
    assert "r10<" not in html
    assert "<p>and 5 more rows</p>" in html


def test_a_table_that_fits_is_not_cut():
    html = mixed(MOST_ROWS)._repr_html_()
    assert len(cells(html)) == MOST_ROWS * MOST_FEATURES
    assert "more rows" not in html


def test_a_table_of_no_rows_is_empty():
    assert cells(mixed(2)[:0]._repr_html_()) == []


def test_names_are_no_html():
    evil = "<script>alert('&')</script>"
    attribution = replace(
        mixed(1),
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
    attribution = replace(mixed(1), categories={"colour": ("red", "<green>", "<blue>")})
    assert cells(attribution._repr_html_())[0][-2:] == ["&lt;green&gt;", "&lt;blue&gt;"]


def test_remarks_stand_below_the_table():
    ended = np.array([Outcome.ARRIVED, Outcome.OUT_OF_BUDGET])
    clear = np.tile([[1.0, 9.0, 2.0]], (2, 1))
    html = replace(mixed(), values=clear, ended=ended)._repr_html_()
    below = html.split("</table>")[1]
    assert below.startswith("<p>r1: The computation stopped at its limit")
    assert below.count("<p>") == 1


def test_remarks_of_rows_that_are_cut_are_not_said():
    n = MOST_ROWS + 1
    ended = np.full(n, Outcome.ARRIVED)
    ended[-1] = Outcome.OUT_OF_BUDGET
    assert "The computation stopped" not in replace(mixed(n), ended=ended)._repr_html_()


def test_only_rows_that_are_shown_are_put_in_order(monkeypatch):
    lengths = []
    order = Attribution.order.fget
    monkeypatch.setattr(
        Attribution, "order", property(lambda self: lengths.append(len(self)) or order(self))
    )
    assert mixed(50)._repr_html_()
    assert lengths == [MOST_ROWS]


def test_a_notebook_repairs_only_the_rows_that_it_shows(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(300, 3))
    attribution = Explainer(GMM(1, random_state=0).fit(rows), rows)(rows + 9.0)
    asked, repair = [], type(attribution.repairer).__call__

    def counted(self, data, *others):
        asked.append(len(data))
        return repair(self, data, *others)

    monkeypatch.setattr(type(attribution.repairer), "__call__", counted)
    attribution._repr_html_()
    assert asked == [10]
