from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from whyflag import Domain, Ensemble, Explainer, combine, plot
from whyflag.attribution.display import held, number, shorten
from whyflag.detectors import GMM
from whyflag.plot.style import LOWERS, RAISES, largest

mpl.use("Agg")

RNG = np.random.default_rng(0)
NORMAL = pd.DataFrame(RNG.normal(size=(300, 4)), columns=["a", "b", "c", "d"])
ODD = pd.DataFrame([[0.0, 9, 0, 0], [7, 0, 0, -6], [0, 0, 0, 0.1]], columns=NORMAL.columns)
DETECTOR = GMM(1, random_state=0).fit(NORMAL)


@pytest.fixture(autouse=True)
def _close():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def attribution():
    return Explainer(DETECTOR, NORMAL, "ASH")(ODD)


@pytest.fixture(scope="module")
def ensemble():
    return Ensemble([Explainer(DETECTOR, NORMAL, method) for method in ("ASH", "wKSH")])(ODD)


@pytest.fixture(scope="module")
def wide():
    names = [f"a rather long name of a sensor in hall {i // 50}, number {i}" for i in range(300)]
    normal = pd.DataFrame(RNG.normal(size=(400, 300)), columns=names)
    odd = normal.iloc[:60].copy()
    odd.iloc[:, 7] += 6
    return Explainer(GMM(1, reg_covar=0.1, random_state=0).fit(normal), normal, "IG")(odd)


def labels(ax, which="y"):
    return [text.get_text() for text in getattr(ax, f"get_{which}ticklabels")()]


def test_a_waterfall_leads_from_the_base_to_the_score(attribution):
    ax = plot.waterfall(attribution, 0)
    assert labels(ax)[0] == "b = 9"
    bars = ax.patches
    assert bars[0].get_x() + bars[0].get_width() == pytest.approx(attribution.scores[0])
    last = min(bars[-1].get_x(), bars[-1].get_x() + bars[-1].get_width())
    assert last == pytest.approx(attribution.base_values[0], abs=abs(attribution.scores[0]) * 1e-6)
    assert sum(bar.get_width() for bar in bars) == pytest.approx(attribution.values[0].sum())


def test_bars_have_the_sign_in_their_colour_and_side(attribution):
    row = 2
    ax = plot.bar(attribution, row)
    for patch in ax.patches:
        assert patch.get_facecolor() == mpl.colors.to_rgba(
            RAISES if patch.get_width() >= 0 else LOWERS
        )
    widths = [patch.get_width() for patch in ax.patches]
    assert sorted(widths) == pytest.approx(sorted(attribution.values[row]))


def test_error_bars_are_drawn_where_coalitions_were(wide):
    assert not plot.bar(wide, 0).containers[0].errorbar
    names = [f"f{i}" for i in range(14)]
    normal = pd.DataFrame(RNG.normal(size=(300, 14)), columns=names)
    odd = pd.DataFrame(RNG.normal(size=(1, 14)) * 4, columns=names)
    drawn = Explainer(DETECTOR.__class__(3, random_state=0).fit(normal), normal)(odd)
    assert drawn.standard_errors.max() > 0
    ax = plot.bar(drawn, 0, max_features=14)
    errors = [c for c in ax.containers if isinstance(c, mpl.container.ErrorbarContainer)]
    assert len(errors) == int((drawn.standard_errors[0] > 0).sum())


def test_bars_over_all_rows_are_shares(attribution):
    ax = plot.bar(attribution)
    assert sum(patch.get_width() for patch in ax.patches) == pytest.approx(1)
    assert "mean over 3 rows" in ax.get_xlabel()


def test_a_heatmap_has_the_highest_scores_at_the_top(attribution):
    ax = plot.heatmap(attribution)
    image = ax.images[0].get_array()
    order = np.argsort(-attribution.scores)
    assert image.shape == (3, 4)
    assert labels(ax) == [f"{i}: {number(attribution.scores[i])}" for i in order]
    columns = [NORMAL.columns.get_loc(name) for name in labels(ax, "x")]
    assert np.asarray(image) == pytest.approx(attribution.values[np.ix_(order, columns)])


def test_a_beeswarm_has_a_dot_for_each_row_and_feature(attribution):
    ax = plot.beeswarm(attribution)
    dots = [collection for collection in ax.collections if len(collection.get_offsets())]
    assert [len(each.get_offsets()) for each in dots] == [3] * 4
    for each, name in zip(dots, labels(ax), strict=True):
        column = NORMAL.columns.get_loc(name)
        assert np.asarray(each.get_offsets())[:, 0] == pytest.approx(attribution.values[:, column])


@pytest.mark.parametrize("background", [None, NORMAL.to_numpy()], ids=["alone", "background"])
def test_a_whatif_shows_both_values_of_what_is_repaired(attribution, background):
    ax = plot.whatif(attribution, 0, background=background, max_features=2)
    assert labels(ax)[0] == "b"
    texts = [text.get_text() for text in ax.texts if text.get_text()]
    assert attribution.repair.changed[0].tolist() == [False, True, False, False]
    assert len(texts) == 3  # two of the culprit, one of a feature that stays as it is
    assert {"9", number(attribution.repair.rows[0, 1])} <= set(texts)


def test_a_whatif_needs_what_can_be_repaired(attribution):
    with pytest.raises(ValueError, match="ask an Explainer"):
        plot.whatif(replace(attribution, repairer=None))


def test_agreement_shows_every_member(ensemble):
    ax = plot.agreement(ensemble, 0)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ASH", "wKSH"]
    assert f"{number(ensemble.agreement[0])}" in ax.get_title(loc="left")
    for line, member in zip(ax.lines, ensemble.members, strict=True):
        columns = [NORMAL.columns.get_loc(name) for name in labels(ax)]
        assert line.get_xdata() == pytest.approx(member.shares[0, columns])


def test_agreement_of_pairs_is_one_on_the_diagonal(ensemble):
    odd = ensemble[:2]  # in the third row wKSH blames nobody
    image = np.asarray(plot.agreement(odd).images[0].get_array())
    assert np.diag(image) == pytest.approx(1)
    assert image[0, 1] == pytest.approx(odd.agreement.mean())


def test_agreement_needs_an_ensemble(attribution):
    with pytest.raises(ValueError, match="members of an ensemble"):
        plot.agreement(attribution)


def test_only_parts_of_the_score_make_a_waterfall():
    said = Explainer(DETECTOR, NORMAL, "comp")(ODD)
    with pytest.raises(ValueError, match=r"plot\.bar shows them"):
        plot.waterfall(said)


@pytest.mark.parametrize(
    "draw",
    [
        lambda a: plot.waterfall(a, 0),
        lambda a: plot.bar(a, 0),
        lambda a: plot.bar(a),
        lambda a: plot.whatif(a, 0),
        lambda a: plot.agreement(combine([a, replace(a, values=a.values**2)]), 0),
        plot.heatmap,
        plot.beeswarm,
    ],
    ids=["waterfall", "bar", "overall", "whatif", "agreement", "heatmap", "beeswarm"],
)
def test_three_hundred_features_with_long_names_are_readable(wide, draw):
    ax = draw(wide)
    figure = ax.figure
    figure.canvas.draw()
    texts = [text for text in (*ax.get_yticklabels(), *ax.get_xticklabels()) if text.get_text()]
    assert max(len(text.get_text()) for text in texts) <= 48
    assert len(ax.get_yticklabels()) <= 41
    boxes = [text.get_window_extent() for text in ax.get_yticklabels()]
    apart = np.abs(np.diff([box.y0 for box in boxes])).min()
    assert apart > 0.9 * max(box.height for box in boxes)  # no two names overlap
    assert min(box.x0 for box in boxes) >= 0  # nor is one cut off


def test_axes_that_are_given_are_drawn_into(attribution, ensemble):
    import matplotlib.pyplot as plt

    for draw in (plot.waterfall, plot.bar, plot.heatmap, plot.beeswarm, plot.whatif):
        _, ax = plt.subplots()
        assert draw(attribution, ax=ax) is ax
    _, ax = plt.subplots()
    assert plot.agreement(ensemble, 1, ax=ax) is ax


@pytest.mark.parametrize("row", [3, -4])
def test_a_row_that_is_not_there_is_refused(attribution, row):
    with pytest.raises(IndexError, match="a position among 3 rows"):
        plot.bar(attribution, row)


def test_at_least_one_feature_is_drawn(attribution):
    with pytest.raises(ValueError, match="`max_features` must be at least 1"):
        plot.bar(attribution, 0, max_features=0)
    with pytest.raises(ValueError, match="`max_rows` must be at least 1"):
        plot.heatmap(attribution, max_rows=0)


def test_categories_are_shown_by_their_names():
    columns = ["colour=blue", "colour=red", "lag 1", "lag 2"]
    groups = {"colour": columns[:2], "sensor": columns[2:]}
    names = {"colour": ["blue", "red"]}
    domain = Domain(columns, binary=columns[:2], players=groups, categories=names)
    normal = np.column_stack([np.eye(2)[RNG.integers(2, size=200)], RNG.normal(size=(200, 2))])
    detector = GMM(1, reg_covar=0.1).fit(pd.DataFrame(normal, columns=columns))
    rows = np.array([[1, 0, 5.0, 5.0], [0, 0, 0, 0]])
    said = Explainer(detector, domain=domain)(rows)
    assert held(said, said.data[0], 0) == "blue"
    assert held(said, said.data[1], 0) == "none of the known"
    assert held(said, said.data[0], 1) == "5, 5"
    assert "colour = blue" in labels(plot.bar(said, 0))
    plot.whatif(said, 0)


def test_names_keep_their_ends():
    assert shorten("short") == "short"
    assert shorten("x" * 20 + "y" * 20, 11) == "xxxxx…yyyyy"


def test_the_largest_come_first():
    shown, rest = largest(np.array([1.0, -3.0, 2.0]), 2)
    assert (shown.tolist(), rest.tolist()) == ([1, 2], [0])
