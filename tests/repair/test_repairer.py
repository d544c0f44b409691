import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from machines import COLOURS, DETECTOR, DOMAIN, EXPLAIN, NORMAL, QUIET, spoilt
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from whyflag import Domain, Ensemble, Explainer, as_score
from whyflag.detectors import GMM
from whyflag.repair import Doubt

ERRORS = {
    "a thousand times": ("power", lambda value: 1000 * value),
    "a million times": ("power", lambda value: 1e6 * value),
    "the sign": ("year", lambda value: -value),
    "a century": ("year", lambda value: value - 100),
    "doors": ("doors", lambda value: value * 10),
}


@pytest.fixture(scope="module", params=list(ERRORS))
def repaired(request):
    column, change = ERRORS[request.param]
    wrong, truth = spoilt(column, change)
    return column, wrong, truth, EXPLAIN.repair(wrong)


def test_the_wrong_value_alone_is_repaired(repaired):
    column, wrong, _truth, repair = repaired
    expected = np.array([name == column for name in DOMAIN.player_names])
    assert (repair.changed == expected).all()
    held = wrong.columns != column
    np.testing.assert_array_equal(repair.rows[:, held], wrong.to_numpy()[:, held])


def test_the_alarm_ends_and_the_score_is_that_of_the_repaired_row(repaired):
    _, wrong, _, repair = repaired
    np.testing.assert_allclose(repair.scores, EXPLAIN.score(repair.rows), rtol=1e-12)
    np.testing.assert_allclose(repair.before, EXPLAIN.score(wrong.to_numpy()), rtol=1e-12)
    assert (repair.scores <= EXPLAIN.score.threshold).all()
    assert repair.silenced.all()


def test_the_value_is_near_the_true_one_and_the_range_holds_it(repaired):
    column, _, truth, repair = repaired
    j, true = NORMAL.columns.get_loc(column), truth[column].to_numpy()
    off = np.abs(repair.rows[:, j] - true)
    if column != "doors":  # which go with nothing
        assert np.median(off) < 0.3 * np.median(np.abs(NORMAL[column].median() - true))
    assert ((repair.lower[:, j] <= true) & (true <= repair.upper[:, j])).mean() >= 0.95


def test_values_are_those_that_people_could_have_written(repaired):
    column, _, _, repair = repaired
    values = repair.rows[:, NORMAL.columns.get_loc(column)]
    digits = {"year": 0, "power": 1, "doors": 0}[column]
    np.testing.assert_array_equal(values, values.round(digits))
    assert NORMAL[column].min() <= values.min()
    assert values.max() <= NORMAL[column].max()
    if column == "doors":
        assert set(values) <= {2, 3, 5}


def test_every_value_in_the_range_raises_no_alarm(repaired):
    column, _, _, repair = repaired
    j = NORMAL.columns.get_loc(column)
    for row, low, high in zip(repair.rows, repair.lower[:, j], repair.upper[:, j], strict=True):
        tried = np.repeat(row[None], 50, axis=0)
        tried[:, j] = np.linspace(low, high, 50)
        tried = DOMAIN.admit(tried, np.repeat(row[None], 50, axis=0))
        assert (EXPLAIN.score(tried) <= repair.alarm).all()
        assert low <= row[j] <= high


def test_a_wrong_category_becomes_a_quiet_one_and_others_are_listed():
    truth = QUIET[QUIET["power"] < 60].iloc[:8]
    wrong = truth.copy()
    wrong[["is red", "is green", "is blue"]] = [0.0, 0.0, 1.0]
    repair = EXPLAIN.repair(wrong)
    colour = DOMAIN.player_names.index("colour")
    hot = repair.rows[:, 3:6]
    assert (hot.sum(axis=1) == 1).all()
    assert repair.silenced.all()
    for i in np.flatnonzero(repair.changed[:, colour]):
        for values in repair.choices[i][colour]:
            tried = repair.rows[i].copy()
            tried[3:6] = values
            assert EXPLAIN.score(tried[None])[0] <= repair.alarm
    assert repair.changed[:, colour].mean() > 0.5
    assert np.isnan(repair.lower[:, 3:6]).all()


def test_a_row_without_an_alarm_stays_as_it_is():
    repair = EXPLAIN.repair(QUIET[:5])
    np.testing.assert_array_equal(repair.rows, QUIET[:5])
    assert not repair.changed.any()
    assert repair.silenced.all()
    assert len(repair.to_frame()) == 0


def blind(threshold=0.7):
    """A forest that hardly flags, and rows of it with and without a gross value."""
    rng = np.random.default_rng(0)
    size = rng.uniform(1, 9, 500).round(2)
    rows = np.column_stack(
        [size, (3 * size + rng.normal(0, 0.2, 500)).round(2), rng.normal(size=500)]
    )
    forest = IsolationForest(n_estimators=50, random_state=0).fit(rows)
    explain = Explainer(forest, rows, threshold=threshold)
    wrong = np.array([[4.0, 120.0, 0.1], [4.0, 12.0, 0.1]])
    return explain, wrong


def test_a_row_that_is_unlike_normal_ones_stays_but_is_told_what_would_be_like_them():
    explain, wrong = blind()
    said = explain(wrong)
    repair = said.repair
    assert not said.flagged.any()
    np.testing.assert_array_equal(repair.rows, wrong)
    assert not repair.changed.any()
    assert repair.silenced.all()
    assert repair.doubts.tolist() == [Doubt.STILL_ODD, Doubt.NONE]
    (other,), nothing = repair.usual
    assert nothing == ()
    assert other.feature == 1
    assert other.values[0] == pytest.approx(12, abs=0.5)
    assert repair.lower[0, 1] < 12 < repair.upper[0, 1]
    told, changed = repair.told
    assert changed.tolist() == [[False, True, False], [False] * 3]
    assert other.score == explain.score(told[:1])[0] <= repair.alarm
    assert said.top(1)["normal"].iloc[0] == other.values[0]
    alone = explain.repair(wrong[:1])
    assert alone.usual[0] == repair.usual[0]


def test_a_row_with_a_foreign_cell_that_is_unlike_normal_ones_besides_is_said_to_be():
    explain, wrong = blind()
    said = explain(wrong)
    added = np.array([[0.0, 0.0, 9.0]] * 2)  # a cell that no normal row has
    repair = said.repairer(
        said.data, said.scores + 9, said.values + added, range(2), added, added > 0
    )
    assert repair.changed.tolist() == [[False, False, True]] * 2
    assert repair.doubts.tolist() == [Doubt.STILL_ODD, Doubt.NONE]
    assert repair.usual == ((), ())


def test_what_is_fixed_is_not_told_either():
    explain, wrong = blind()
    rows = explain.domain.typical
    domain = Domain.infer(rows, bounded=True).having(fixed=[1])
    held = Explainer(explain.score, blind()[0](wrong).repairer.rows, domain=domain)
    assert all(other.feature != 1 for each in held.repair(wrong).usual for other in each)


def test_a_value_that_many_have_is_not_at_the_edge():
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.7, size=(500, 2)).astype(float)
    score = as_score(lambda X: np.abs(X).max(axis=1), n_features=2, threshold=20.0)
    domain = Domain.infer(counts, bounded=True)
    common = Explainer(score, counts, domain=domain).repair(np.array([[-50.0, 1.0]]))
    assert common.rows[0, 0] in (0, 1)
    assert not common.doubts[0] & Doubt.AT_THE_EDGE
    most = counts[:, 0].max()
    far = as_score(lambda X: np.abs(X[:, 0] - most), n_features=2, threshold=0.5)
    rare = Explainer(far, counts, domain=domain).repair(np.array([[-50.0, 1.0]]))
    assert rare.rows[0, 0] == most
    assert rare.doubts[0] & Doubt.AT_THE_EDGE


def test_two_wrong_values_are_both_repaired_and_nothing_else():
    wrong = QUIET.iloc[:10].copy()
    wrong["power"] *= 1000
    wrong["doors"] = 40.0
    repair = EXPLAIN.repair(wrong)
    names = np.array(DOMAIN.player_names)
    for changed in repair.changed:
        assert set(names[changed]) == {"power", "doors"}
    assert repair.silenced.all()


def test_what_is_fixed_is_never_touched():
    wrong, _ = spoilt("power", lambda value: 1000 * value)
    fixed = DOMAIN.having(fixed=["power"])
    repair = Explainer(DETECTOR, NORMAL, domain=fixed).repair(wrong)
    np.testing.assert_array_equal(repair.rows[:, [1, 6]], wrong.to_numpy()[:, [1, 6]])
    assert not repair.silenced.any()
    assert (repair.doubts & Doubt.STILL_ALARMING).all()
    assert (repair.scores <= repair.before).all()
    assert np.isnan(repair.lower).all()


def test_what_may_only_rise_rises():
    wrong, _truth = spoilt("power", lambda value: value + 60)
    other = Explainer(DETECTOR, NORMAL, domain=DOMAIN.having(rising=["power"])).repair(wrong)
    assert (other.rows[:, 1] >= wrong["power"]).all()


def test_a_user_can_widen_the_range():
    wrong, _ = spoilt("power", lambda value: 1000 * value)
    wide = Explainer(DETECTOR, NORMAL, domain=DOMAIN.having(upper={"power": 1e4}))
    narrow = EXPLAIN.repair(wrong).upper[:, 1]
    assert (wide.repair(wrong).upper[:, 1] >= narrow).all()
    assert (narrow <= NORMAL["power"].max()).all()


def pipe(detector):
    return make_pipeline(StandardScaler(), detector).fit(NORMAL.to_numpy())


@pytest.mark.parametrize(
    "detector",
    [
        IsolationForest(n_estimators=50, random_state=0, contamination=0.02).fit(NORMAL.to_numpy()),
        pipe(LocalOutlierFactor(novelty=True, contamination=0.01)),
        pipe(OneClassSVM(nu=0.02)),
    ],
    ids=["forest", "LOF", "OneClassSVM"],
)
def test_other_detectors_are_silenced_wherever_one_value_can(detector):
    score = as_score(detector)
    wrong, _ = spoilt("power", lambda value: 10 * value, n=25)
    wrong = wrong.to_numpy()[score(wrong.to_numpy()) > score.threshold]
    least = np.full(len(wrong), np.inf)
    for value in np.quantile(NORMAL["power"], np.linspace(0, 1, 101)):
        tried = wrong.copy()
        tried[:, 1] = value
        least = np.minimum(least, score(tried))
    assert len(wrong) >= 5
    repair = Explainer(detector, NORMAL.to_numpy()).repair(wrong)
    assert repair.silenced[least <= score.threshold].all()
    np.testing.assert_array_equal(repair.silenced, score(repair.rows) <= score.threshold)


def test_without_a_threshold_normal_is_what_normal_rows_score():
    rows = NORMAL[["year", "power"]].to_numpy()
    detector = make_pipeline(StandardScaler(), KernelDensity(bandwidth=0.3)).fit(rows)
    wrong = np.array([[2000.0, 7000.0], [2000.0, 70.0]])
    explain = Explainer(detector, rows)
    repair = explain.repair(wrong)
    assert repair.alarm == pytest.approx(np.quantile(explain.score(rows), 0.95), rel=0.05)
    assert repair.changed[0].tolist() == [False, True]
    assert (repair.doubts & Doubt.NO_THRESHOLD).all()


def test_without_normal_rows_the_typical_ones_of_the_domain_do():
    wrong, _ = spoilt("power", lambda value: 1000 * value)
    repair = Explainer(DETECTOR, method="ASH", domain=DOMAIN).repair(wrong)
    assert repair.silenced.mean() > 0.5
    np.testing.assert_allclose(repair.scores, EXPLAIN.score(repair.rows))


@pytest.mark.parametrize("n", [0, 1, 49])
def test_few_normal_rows_do_not_tell_which_rows_are_unlike_them(n):
    rows = np.random.default_rng(0).normal(size=(max(n, 1), 2))
    score = as_score(lambda X: np.abs(X).max(axis=1), n_features=2, threshold=1e9)
    domain = Domain.infer(rows) if n > 1 else Domain(2)
    method = "near" if n > 1 else "ASH"
    repair = Explainer(score, rows if n else None, method=method, domain=domain).repair([[0, 1e4]])
    assert repair.doubts.tolist() == [Doubt.NONE]
    assert repair.usual == ((),)


def test_a_bare_domain_does_no_harm():
    repair = Explainer(DETECTOR, method="ASH", domain=Domain(7)).repair(QUIET[:2] * 100)
    np.testing.assert_allclose(repair.scores, EXPLAIN.score(repair.rows))


def test_rows_are_repaired_alone_as_in_any_company():
    wrong = pd.concat([spoilt(*error, n=4)[0] for error in ERRORS.values()])
    together = EXPLAIN.repair(wrong)
    for i in (0, 7, 15):
        alone = EXPLAIN.repair(wrong.iloc[[i]])
        np.testing.assert_array_equal(alone.rows[0], together.rows[i])
        np.testing.assert_array_equal(alone.upper[0], together.upper[i])
        assert alone.contexts[0] == together.contexts[i]


def test_rounding_of_the_rows_decides_nothing():
    wrong, _ = spoilt("power", lambda value: 1000 * value)
    rng = np.random.default_rng(0)
    shaken = wrong + 1e-11 * rng.normal(size=wrong.shape) * (np.arange(7) == 1)
    np.testing.assert_allclose(EXPLAIN.repair(shaken).rows, EXPLAIN.repair(wrong).rows, rtol=1e-9)


def test_an_attribution_knows_its_repair_also_in_part_and_pickled():
    wrong, _ = spoilt("power", lambda value: 1000 * value, n=4)
    whole = EXPLAIN(wrong)
    np.testing.assert_array_equal(whole.repair[1:3].rows, whole.repair.rows[1:3])
    assert whole.repair[-1].row_names == whole.repair.row_names[-1:]
    part = pickle.loads(pickle.dumps(whole[[2, 0]]))  # noqa: S301
    np.testing.assert_array_equal(part.repair.rows, whole.repair.rows[[2, 0]])
    assert part.repair.row_names == part.row_names
    with pytest.raises(ValueError, match="ask an Explainer"):
        _ = replace(whole, repairer=None).repair


def test_an_ensemble_of_detectors_ends_their_common_alarm():
    rows = NORMAL.to_numpy()
    forest = IsolationForest(n_estimators=50, random_state=0, contamination=0.02).fit(rows)
    explain = Ensemble([EXPLAIN, Explainer(forest, rows, domain=DOMAIN)])
    wrong, _ = spoilt("power", lambda value: 1000 * value, n=4)
    said = explain(wrong)
    assert said.flagged.all()
    assert said.repair.silenced.all()
    assert explain(said.repair.rows).scores == pytest.approx(said.repair.scores)
    assert not explain(said.repair.rows).flagged.any()


def test_the_frame_has_a_line_for_each_repaired_value():
    wrong, _ = spoilt("power", lambda value: 1000 * value, n=3)
    frame = EXPLAIN.repair(wrong).to_frame()
    assert frame["feature"].tolist() == ["power"] * 3
    assert frame["row"].tolist() == list(wrong.index)
    assert (frame["lower"] <= frame["normal"]).all()
    assert (frame["after"] < frame["score"]).all()
    assert COLOURS[0] not in frame.columns


def test_a_wide_row_is_searched_where_the_shares_are():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 5)) @ rng.normal(size=(5, 60)) + rng.normal(size=(300, 60))
    wrong = rows[:3].copy()
    wrong[:, 41] += 60
    repair = Explainer(GMM(1, random_state=0).fit(rows), rows).repair(wrong)
    assert repair.silenced.all()
    assert [np.flatnonzero(changed).tolist() for changed in repair.changed] == [[41]] * 3
    assert repair.evaluations.max() < 1700


@pytest.mark.parametrize("d", [5, 10])
def test_a_row_that_is_wrong_throughout_becomes_a_normal_one(d):
    rows = np.random.default_rng(0).normal(size=(500, d)).cumsum(axis=1)
    detector = LocalOutlierFactor(novelty=True, contamination=0.05).fit(rows)
    repair = Explainer(detector, rows).repair(rows[:3] + 100)
    assert repair.silenced.all()
    np.testing.assert_array_equal(repair.scores, as_score(detector)(repair.rows))


def test_what_is_not_repaired_is_untouched_also_where_it_is_not_normal():
    rows = np.random.default_rng(0).integers(0, 100, size=(500, 3)).astype(float)
    wrong = np.array([[3000.0, 200.5, 4000.0]])
    score = as_score(
        lambda X: np.abs(X[:, 0] - 50) + np.abs(X[:, 2] - 50), n_features=3, threshold=99.0
    )
    repair = Explainer(score, rows).repair(wrong)
    assert repair.silenced.all()
    assert repair.rows[0, 1] == 200.5


def test_what_foreign_cells_add_to_one_row_is_nothing_to_the_others():
    wrong, _ = spoilt("power", lambda value: 1000 * value, n=3)
    said = EXPLAIN(wrong)
    repairer, shares = said.repairer, said.values
    added = np.zeros(shares.shape)
    added[1, 2] = 1000.0  # a cell of the second row that no normal row has
    rows = wrong.to_numpy()
    scores = said.scores + added.sum(axis=1)
    repair = repairer(rows, scores, shares, range(3), added)
    for i in (0, 2):
        assert repair.alternatives[i] == said.repair.alternatives[i]
        assert repair.contexts[i] == said.repair.contexts[i]
        np.testing.assert_array_equal(repair.changed[i], said.repair.changed[i])
    assert repair.contexts[1] is None
    assert repair.changed[1].sum() == 2
    assert repair.changed[1, 2]
    np.testing.assert_array_equal(repair.before, scores)
    # What is replaced adds nothing any more.
    np.testing.assert_allclose(repair.scores, EXPLAIN.score(repair.rows))
    np.testing.assert_allclose(repair.scores[[0, 2]], said.repair.scores[[0, 2]])
    assert any(repair.contexts[i] is not None for i in (0, 2))


def test_in_place_of_a_foreign_cell_stands_what_the_rest_leads_one_to_expect():
    rng = np.random.default_rng(0)
    net = rng.uniform(100, 1000, size=500)
    rows = np.column_stack([net, 0.2 * net, rng.normal(size=500)])
    score = as_score(lambda X: np.abs(X - rows.mean(axis=0)).max(axis=1), n_features=3)
    said = Explainer(replace(score, threshold=600.0), rows)(np.array([[900.0, 110.0, 0.0]] * 2))
    added = np.array([[0.0, 5000.0, 0.0]] * 2)  # 110 stands for a gap, and is quiet as well
    unknown = np.array([[False, True, False], [False, False, False]])
    repair = said.repairer(
        said.data, said.scores + 5000, said.values + added, range(2), added, unknown
    )
    assert repair.changed.tolist() == [[False, True, False]] * 2
    assert repair.rows[0, 1] == pytest.approx(180, rel=0.05)
    assert repair.rows[1, 1] == 110  # the number itself is known, but for its sign
    assert (repair.lower[:, 1] < repair.rows[:, 1]).all()
    assert (repair.rows[:, 1] < repair.upper[:, 1]).all()
    np.testing.assert_array_equal(repair.data, said.data)
    np.testing.assert_allclose(repair.scores, score(repair.rows))


def test_a_foreign_cell_that_raises_no_alarm_stays():
    rows = QUIET[:2].to_numpy()
    said = EXPLAIN(QUIET[:2])
    added = np.zeros(said.values.shape)
    added[0, 2] = 0.5
    repair = said.repairer(rows, said.scores + added.sum(axis=1), said.values, range(2), added)
    assert not repair.changed.any()
    np.testing.assert_allclose(repair.scores, said.scores + added[:, 2])


def test_evaluations_are_counted_and_bounded():
    wrong, _ = spoilt("power", lambda value: 1000 * value)
    seen = []

    def counted(X):
        seen.append(len(X))
        return EXPLAIN.score(X)

    explain = Explainer(
        as_score(counted, n_features=7, threshold=EXPLAIN.score.threshold), NORMAL, domain=DOMAIN
    )
    said = explain(wrong)
    before = sum(seen)
    repair = said.repair
    assert sum(seen) - before == repair.evaluations.sum()
    assert repair.evaluations.max() < 600


def test_where_every_column_is_fixed_nothing_can_be_repaired():
    rows = np.random.default_rng(0).normal(size=(50, 2))
    score = as_score(lambda X: (X**2).sum(axis=1), threshold=9.0)
    found = Explainer(score, rows, fixed=[0, 1])([[9.0, 9.0]])
    assert not found.repair.changed.any()
    assert found.sentences()[0].startswith("Nothing that was tried brings the score down")
