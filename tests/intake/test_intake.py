"""Rows as they come: texts, times and gaps, in whatever holds them."""

import pickle
from datetime import date, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from pyod.models.iforest import IForest as ForestOfPyOD
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import IsolationForest
from sklearn.impute import SimpleImputer
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
    TargetEncoder,
)

from whyflag import Attribution, Ensemble, Explainer, as_score
from whyflag.attribution import concatenate
from whyflag.detectors import GMM
from whyflag.held_out import calibrate

METHODS = ("near", "ASH", "KSH", "wKSH", "comp")


def machines(n=300, seed=0):
    """Rows of machines: the kind rules the load, gaps in one number, and one text in no use."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["lathe", "mill", "saw"], n, p=[0.5, 0.3, 0.2])
    load = np.select([kind == "lathe", kind == "mill"], [10.0, 20.0], 30.0) + rng.normal(0, 1, n)
    heat = 40 + 2 * load + rng.normal(0, 1, n)
    return pd.DataFrame(
        {
            "name": [f"m{i}" for i in range(n)],
            "kind": kind,
            "load": load.round(2),
            "heat": np.where(rng.random(n) < 0.1, np.nan, heat.round(1)),
            "gears": rng.choice([4, 6, 8], n),
            "guarded": rng.random(n) < 0.7,
        }
    )


NORMAL = machines()


def mixture_of(encoder, columns=("kind", "gears", "guarded")):
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    steps = make_column_transformer((numbers, ["load", "heat"]), (encoder, list(columns)))
    return make_pipeline(steps, GaussianMixture(2, reg_covar=1e-2, random_state=0))


@pytest.fixture(scope="module")
def pipeline():
    return mixture_of(OneHotEncoder(handle_unknown="ignore")).fit(NORMAL)


@pytest.fixture(scope="module")
def threshold(pipeline):
    return float(np.quantile(-pipeline.score_samples(NORMAL), 0.99))


@pytest.fixture(scope="module")
def of_three():
    """Normal rows in which c is 3 b, and rows with a gap, a wrong c, or both."""
    rng = np.random.default_rng(3)
    b = rng.normal(100, 10, 300)
    normal = pd.DataFrame({"a": rng.normal(size=300), "b": b, "c": 3 * b + rng.normal(0, 3, 300)})
    rows = normal.iloc[:5].copy()
    rows.loc[[0, 1], "b"] = np.nan
    rows.loc[[1, 2, 4], "c"] = 900.0
    rows.loc[3, "c"] = np.nan
    rows.loc[4, ["a", "b"]] = np.nan
    return normal, rows


def flat_for_gaps(X):
    """A score that says the same of every row with a gap."""
    a, b, c = np.asarray(X, dtype=float).T
    return np.nan_to_num(a**2 + ((b - 100) / 10) ** 2 + ((c - 3 * b) / 3) ** 2, nan=99.0)


def flat_for_gaps_in_frames(X):
    """The same of DataFrames with a text, which must be known."""
    return flat_for_gaps(X[["a", "b", "c"]]) + 30.0 * ~X["kind"].isin(["u", "v"]).to_numpy()


def as_repaired(rows, repair):
    """The rows as they would stand: original cells but where the repair has others."""
    told = rows.copy()
    for line in repair.to_frame().itertuples():
        told.loc[line.row, line.feature] = line.normal
    return told


def odd_rows():
    """A load × 1000, a kind that is none, a gap where there are none, a kind of another load."""
    rows = NORMAL.iloc[[0, 1, 2, 3]].copy()
    rows.iloc[0, 2] *= 1000
    rows.iloc[1, 1] = "drill"
    rows.iloc[2, 2] = np.nan
    rows.iloc[3, 1] = {"lathe": "saw", "mill": "saw", "saw": "lathe"}[rows.iloc[3, 1]]
    return rows


CULPRITS = ["load", "kind", "load", "kind"]


@pytest.mark.parametrize("method", METHODS)
def test_a_pipeline_is_explained_in_the_columns_that_it_takes(pipeline, threshold, method):
    rows = odd_rows()
    explain = Explainer(pipeline, NORMAL, method, threshold=threshold)
    found = explain(rows)
    assert found.feature_names == ("kind", "load", "heat", "gears", "guarded")
    assert found.scores == pytest.approx(-pipeline.score_samples(rows), rel=1e-9)
    if found.additive:
        gap = found.scores - found.base_values
        assert found.values.sum(axis=1) == pytest.approx(gap, rel=1e-6)
    if method in ("near", "wKSH"):
        assert [found.feature_names[j] for j in found.order[:, 0]] == CULPRITS


def test_what_is_shown_are_values_of_the_columns(pipeline, threshold):
    rows = odd_rows()
    found = Explainer(pipeline, NORMAL, threshold=threshold)(rows)
    top = found.top(1)
    assert top["observed"].tolist()[1] == "drill (not seen before)"
    assert np.isnan(top["observed"].tolist()[2])
    assert top["normal"].iloc[[1, 3]].isin(["lathe", "mill", "saw"]).all()
    assert all(5 < value < 35 for value in top["normal"].iloc[[0, 2]])
    said = found.sentences()
    assert said[1].startswith("kind is drill (not seen before); with the rest as it is,")
    assert said[2].startswith("load has no value; with the rest as it is, about")
    assert found.row_names == tuple(rows.index)


def test_repaired_rows_silence_the_pipeline_itself(pipeline, threshold):
    explain = Explainer(pipeline, NORMAL, threshold=threshold)
    repair = explain.repair(odd_rows())
    assert repair.silenced.all()
    rows = explain.prepared.intake.frames.frame(repair.rows)
    assert (rows.dtypes == NORMAL.dtypes).all()
    assert set(rows["kind"]) <= {"lathe", "mill", "saw"}
    assert set(rows["gears"]) <= {4, 6, 8}
    assert -pipeline.score_samples(rows) == pytest.approx(repair.scores)
    frame = repair.to_frame()
    assert frame.set_index("row").loc[1, "normal"] in ("lathe", "mill", "saw")
    lower, normal, upper = frame.loc[0, ["lower", "normal", "upper"]]
    assert lower < normal < upper


def test_only_values_that_there_are_are_tried(threshold):
    strict = mixture_of(OneHotEncoder(handle_unknown="error"), ["kind"]).fit(NORMAL)
    seen = []

    def scored(frame):
        seen.append(frame)
        return -strict.score_samples(frame)

    # ASH moves values as it likes; an encoder that knows three kinds refuses a fourth.
    Explainer(scored, NORMAL, "ASH")(odd_rows().iloc[[0, 3]])
    assert all(isinstance(frame, pd.DataFrame) for frame in seen)
    tried = pd.concat(seen)
    assert set(tried["kind"]) == {"lathe", "mill", "saw"}
    assert tried["gears"].dtype == NORMAL["gears"].dtype
    assert len(set(tried["load"]) - set(NORMAL["load"])) > 100


def test_a_fraction_in_a_column_of_whole_numbers_keeps_its_score():
    def score(rows):
        return (rows["gears"].to_numpy() % 2) * 5.0 + rows["load"].to_numpy() / 100

    rows = NORMAL.iloc[:2].astype({"gears": float})
    rows.iloc[0, 4] = 6.5
    found = Explainer(score, NORMAL)(rows)
    assert found.scores == pytest.approx(score(rows))
    assert found.top(1)["observed"].iloc[0] == "6.5 (not whole)"


def test_numbers_that_are_codes_stay_codes():
    only = NORMAL[["gears", "load"]]
    steps = make_column_transformer((OneHotEncoder(), ["gears"]), (StandardScaler(), ["load"]))
    pipe = make_pipeline(steps, GaussianMixture(1, reg_covar=0.1, random_state=0)).fit(only)
    found = Explainer(pipe, only, "ASH")(only.iloc[:2])
    assert found.top(2)["observed"].isin([4, 6, 8]).sum() == 2


def test_a_value_that_the_pipeline_refuses_is_named(threshold):
    strict = mixture_of(OneHotEncoder(handle_unknown="error")).fit(NORMAL)
    rows = NORMAL.iloc[:3].assign(kind=["lathe", "drill", "mill"])
    with pytest.raises(ValueError, match="refuses row 1, where column 'kind' has 'drill', which"):
        Explainer(strict, NORMAL)(rows)


def test_a_cell_that_is_not_to_blame_is_not_named():
    def score(rows):
        with np.errstate(over="ignore"):
            return (rows["load"].to_numpy() - 20.0) ** 2 + (rows["kind"] == "drill") * 1.0

    rows = NORMAL.iloc[:4].copy()
    rows.iloc[2:, 1] = "drill"
    rows.iloc[3, 2] = 1e200  # whose square is no number
    with pytest.raises(ValueError, match="got inf at row 3, even with typical values"):
        Explainer(score, NORMAL)(rows)


def test_lists_of_rows_keep_the_types_of_their_cells(pipeline):
    explain = Explainer(pipeline, NORMAL)
    rows = odd_rows()
    found = explain([list(row) for row in rows.itertuples(index=False)])
    np.testing.assert_array_equal(found.values, explain(rows).values)


def test_a_row_that_is_no_table_is_refused_with_how_to_take_one(pipeline):
    row = NORMAL.iloc[0]
    with pytest.raises(ValueError, match=r"`X` must have .* got a Series .*iloc\[\[i\]\]"):
        Explainer(pipeline, NORMAL)(row)
    with pytest.raises(ValueError, match=r"`background` must have .* got a Series"):
        Explainer(pipeline, row)


def test_a_text_in_a_number_is_named(pipeline):
    rows = NORMAL.iloc[:2].astype({"load": object})
    rows.iloc[1, 2] = "broken"
    with pytest.raises(ValueError, match="refuses row 1, where column 'load' has 'broken', which"):
        Explainer(pipeline, NORMAL)(rows)


@pytest.mark.parametrize("column", ["load", "gears"])
def test_a_text_in_a_number_that_the_detector_takes_shares_with_other_odd_cells(column):
    def score(rows):
        number = pd.to_numeric(rows[column].astype(object), errors="coerce").astype(float)
        return 30.0 * number.isna().to_numpy() + 10.0 * (rows["kind"] == "drill").to_numpy()

    rows = NORMAL.iloc[:2].astype({column: object})
    rows.loc[1, [column, "kind"]] = ["broken", "drill"]
    found = Explainer(score, NORMAL)(rows)
    by_name = dict(zip(found.feature_names, found.values[1], strict=True))
    assert found.scores.tolist() == [0.0, 40.0]
    assert (by_name[column], by_name["kind"]) == (30.0, 10.0)


@pytest.mark.parametrize(
    "encoder",
    [
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        TargetEncoder(target_type="continuous", cv=2),
        make_pipeline(OneHotEncoder(sparse_output=False), StandardScaler()),
        make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(drop="first")),
    ],
    ids=lambda encoder: type(encoder).__name__,
)
def test_any_encoder(encoder):
    pipe = mixture_of(encoder, ["kind"]).fit(NORMAL, NORMAL["load"])
    rows = NORMAL.iloc[:2].assign(load=[900.0, 10.0])
    found = Explainer(pipe, NORMAL)(rows)
    assert found.top(1)["feature"].iloc[0] == "load"
    assert found.scores == pytest.approx(-pipe.score_samples(rows))


@pytest.mark.parametrize("gap", [np.nan, None])
def test_gaps_of_texts_are_written_as_they_came(gap):
    kind = NORMAL["kind"].astype(object)
    kind[NORMAL["load"] < 10] = gap
    frame = NORMAL.assign(kind=kind)
    encoder = OneHotEncoder(handle_unknown="error")  # which knows this gap, and not the other one
    pipe = mixture_of(encoder, ["kind"]).fit(frame)
    explain = Explainer(pipe, frame)
    found = explain(frame.iloc[:20])
    assert found.scores == pytest.approx(-pipe.score_samples(frame.iloc[:20]))
    decoded = explain.prepared.intake.frames.frame(found.data)
    assert -pipe.score_samples(decoded) == pytest.approx(found.scores)


@pytest.mark.parametrize("name", ["pipeline", "function", "frames", "ensemble"])
def test_the_detector_is_asked_of_repaired_rows_with_gaps(name, of_three):
    normal, rows = of_three
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), GaussianMixture(random_state=0))
    pipeline.fit(normal)
    if name == "pipeline":
        explain = Explainer(pipeline, normal, threshold=10.0)
    elif name == "function":
        explain = Explainer(flat_for_gaps, normal, threshold=20.0)
    elif name == "frames":
        normal = normal.assign(kind=np.resize(["u", "v"], 300))
        rows = rows.assign(kind=["u", "new", "new", "v", "v"])
        explain = Explainer(flat_for_gaps_in_frames, normal, threshold=20.0)
    else:
        of_pipeline = Explainer(pipeline, normal, threshold=10.0)
        of_function = Explainer(flat_for_gaps, normal, threshold=20.0)
        explain = Ensemble([of_pipeline, of_function])
        units = of_pipeline.score.unit, of_function.score.unit

    def ask(X):
        said = {
            "pipeline": lambda: -pipeline.score_samples(X),
            "function": lambda: flat_for_gaps(X),
            "frames": lambda: flat_for_gaps_in_frames(X),
        }
        if name in said:
            return said[name]()
        return (said["pipeline"]() / units[0] + said["function"]() / units[1]) / 2

    repair = explain(rows).repair
    np.testing.assert_allclose(repair.before, ask(rows), rtol=1e-5)
    np.testing.assert_allclose(repair.scores, ask(as_repaired(rows, repair)), rtol=1e-5)
    assert (repair.scores <= repair.alarm).all()
    assert repair.silenced.all()
    # The gap beside a wrong c stays where the pipeline fills it, and is an alarm to the function.
    assert repair.changed[1, 1:3].tolist() == [name != "pipeline", True]


def test_ranges_of_values_beside_a_gap_are_what_the_detector_allows(of_three):
    normal, rows = of_three
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), GaussianMixture(random_state=0))
    repair = Explainer(pipeline.fit(normal), normal, threshold=10.0).repair(rows)
    for end in (repair.lower, repair.upper):
        assert np.isfinite(end[1]).tolist() == [False, False, True]
        row = rows.iloc[[1]].assign(c=end[1, 2])
        assert -pipeline.score_samples(row)[0] <= 10.0


def test_a_gap_among_times_of_polars_is_asked_as_it_came(of_three):
    normal, rows = of_three
    days = pd.to_timedelta(np.arange(300) % 30, unit="D")
    frames = normal.assign(since=days), rows.assign(since=pd.to_timedelta([3, None, 4, 5, 6], "D"))

    def score(X):
        return (
            flat_for_gaps(X[["a", "b", "c"]].to_pandas()) + 50.0 * X["since"].is_null().to_numpy()
        )

    normal, rows = map(pl.from_pandas, frames)
    repair = Explainer(score, normal, threshold=20.0).repair(rows)
    np.testing.assert_allclose(repair.before, score(rows))
    assert repair.silenced.all()
    assert repair.changed[:, 3].tolist() == [False, True, False, False, False]


def test_repairs_beside_gaps_come_back(tmp_path, of_three):
    normal, rows = of_three
    attribution = Explainer(flat_for_gaps, normal, threshold=20.0)(rows)
    again = pickle.loads(pickle.dumps(attribution))  # noqa: S301
    attribution.save(tmp_path / "rows.npz")
    for other in (again, Attribution.load(tmp_path / "rows.npz"), concatenate(list(attribution))):
        assert other.sentences() == attribution.sentences()
        np.testing.assert_array_equal(other.repair.scores, attribution.repair.scores)
    whole = concatenate([attribution, Explainer(flat_for_gaps, normal, threshold=20.0)(normal[:2])])
    np.testing.assert_array_equal(whole.repair.scores[:5], attribution.repair.scores)


def test_many_texts_share_a_column_and_keep_their_scores():
    frame = pd.DataFrame({"code": [f"c{i:03d}" for i in range(300)], "x": np.arange(300.0) % 7})

    def score(rows):
        return rows["code"].str[1:].astype(float).to_numpy() / 100 + rows["x"].to_numpy()

    explain = Explainer(score, frame)
    found = explain(frame.iloc[[5, 295]])
    assert explain.domain.n_columns == 202
    assert found.scores == pytest.approx(score(frame.iloc[[5, 295]]))
    assert found.top(2).loc[lambda top: top["feature"] == "code", "observed"].tolist() == [
        "c005",
        "c295",
    ]


def test_times_are_values():
    days = pd.date_range("2024-01-01", periods=100, freq="D")
    frame = pd.DataFrame({"day": days, "x": np.random.default_rng(0).normal(size=100)})

    def score(rows):
        return (rows["day"] - pd.Timestamp("2024-02-20")).dt.days.abs().to_numpy() / 10

    late = frame.iloc[:2].assign(day=pd.to_datetime(["1924-02-20", "2024-02-20"]))
    explain = Explainer(score, frame, threshold=6.0)
    found = explain(late)
    assert found.scores == pytest.approx(score(late))
    assert found.sentences()[0].startswith("day is 1924-02-20; with the rest as it is, about 2024")
    assert isinstance(found.top(1)["normal"].iloc[0], pd.Timestamp)


def test_moments_with_a_zone_come_back_as_they_were():
    times = pd.date_range("2024-03-30 22:15", periods=50, freq="h", tz="Europe/Berlin")
    frame = pd.DataFrame({"time": times, "x": np.arange(50.0)})
    explain = Explainer(lambda rows: rows["time"].dt.hour.to_numpy() + 0.0, frame)
    again = explain.prepared.intake.frames.frame(explain.prepared.rows)
    again = again.sort_values("x", ignore_index=True)
    pd.testing.assert_frame_equal(again, frame)


FRAMES = {
    "pandas": lambda frame: frame,
    "its own types": lambda frame: frame.convert_dtypes(),
    "categories": lambda frame: frame.astype({"kind": "category"}),
    "polars": pl.from_pandas,
    "lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "Arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.mark.parametrize("convert", FRAMES.values(), ids=FRAMES)
def test_a_function_gets_rows_in_what_they_came_in(convert):
    came = convert(NORMAL.drop(columns="name"))
    came = came.collect() if isinstance(came, pl.LazyFrame) else came
    seen = []

    def score(rows):
        seen.append(rows)
        assert type(rows) is type(came)
        frame = rows if isinstance(rows, pd.DataFrame) else rows.to_pandas()
        mean = frame["kind"].astype(str).map({"lathe": 10.0, "mill": 20.0, "saw": 30.0})
        load = frame["load"].astype(float)
        return ((load - mean) ** 2 + 5 * frame["heat"].isna()).to_numpy(float)

    explain = Explainer(score, convert(NORMAL.drop(columns="name")), threshold=20.0)
    rows = NORMAL.iloc[:2].drop(columns="name").assign(load=[60.0, 10.0])
    found = explain(convert(rows))
    assert found.top(1)["feature"].iloc[0] == "load"
    first = seen[0]
    if isinstance(first, pd.DataFrame):
        assert (first.dtypes == came.dtypes).all()
    else:
        assert first.schema == came.schema


def test_an_array_of_objects():
    steps = make_column_transformer((OneHotEncoder(), [0]), (StandardScaler(), [1]))
    rows = NORMAL[["kind", "load"]].to_numpy(dtype=object)
    pipe = make_pipeline(steps, GaussianMixture(1, reg_covar=0.1, random_state=0)).fit(rows)
    found = Explainer(pipe, rows)(np.array([["saw", 10.0]], dtype=object))
    assert found.feature_names == ("x0", "x1")
    assert found.scores == pytest.approx(-pipe.score_samples(np.array([["saw", 10.0]], object)))


def test_players_and_fixed_columns_are_told_by_their_names(pipeline):
    explain = Explainer(
        pipeline, NORMAL, players={"drive": ["load", "gears"]}, fixed=["guarded"], threshold=0.0
    )
    found = explain(odd_rows().iloc[:1])
    assert found.feature_names == ("kind", "drive", "heat", "guarded")
    assert found.top(1)["feature"].item() == "drive"
    assert found.values[0, 3] == 0


def test_a_domain_says_more_of_the_columns(pipeline, threshold):
    domain = Explainer(pipeline, NORMAL).domain.having(falling=["load"])
    explain = Explainer(pipeline, NORMAL, domain=domain, threshold=threshold)
    assert explain(odd_rows().iloc[:1]).top(1)["feature"].item() == "load"
    with pytest.raises(ValueError, match="it should have the columns"):
        Explainer(pipeline, NORMAL, domain=type(domain)(3))


def test_a_row_does_not_depend_on_the_others(pipeline, threshold):
    explain = Explainer(pipeline, NORMAL, threshold=threshold)
    rows = odd_rows()
    whole = explain(rows)
    for i in range(len(rows)):
        assert explain(rows.iloc[[i]]).values[0] == pytest.approx(whole.values[i], rel=1e-9)


def test_several_processes_and_refits(pipeline, threshold):
    explain = Explainer(pipeline, NORMAL, threshold=threshold, refits=3, n_jobs=2)
    found = explain(odd_rows().iloc[[0]])
    assert found.refit_first[0, 1] == 1


def test_an_ensemble(pipeline, threshold):
    found = Ensemble.of(pipeline, NORMAL, threshold=threshold)(odd_rows())
    assert [found.feature_names[j] for j in found.order[:, 0]] == CULPRITS
    assert found.top(1)["observed"].iloc[1] == "drill (not seen before)"


def test_what_is_saved_shows_the_same(pipeline, threshold, tmp_path):
    found = Explainer(pipeline, NORMAL, threshold=threshold)(odd_rows())
    found.save(tmp_path / "found")
    again = Attribution.load(tmp_path / "found")
    pd.testing.assert_frame_equal(again.top(2), found.top(2))
    assert again.sentences() == found.sentences()
    pd.testing.assert_frame_equal(again.repair.to_frame(), found.repair.to_frame())


# Gaps


def numbers(n=300, gaps=0.0, seed=1):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 3)) @ np.array([[1, 0.9, 0], [0, 0.4, 0], [0, 0, 1]])
    rows[rng.random(n) < gaps, 1] = np.nan
    return rows


def test_a_gap_is_a_value_where_the_detector_takes_it():
    normal = numbers(gaps=0.2)
    forest = IsolationForest(random_state=0).fit(normal)
    rows = np.array([[0.0, np.nan, 0.0], [np.nan, 0.0, 0.0], [6.0, np.nan, 0.0]])
    found = Explainer(forest, normal)(rows)
    assert found.scores == pytest.approx(-forest.score_samples(rows))
    assert found.top(1)["feature"].tolist()[2] == "x0"
    assert np.isnan(found.top(3).query("row == 0 and feature == 'x1'")["observed"].item())


def test_a_gap_can_be_the_culprit():
    normal = numbers()

    def score(X):  # one gap costs 7, the other nothing
        known = np.nan_to_num(X)
        return (known**2).sum(axis=1) + 7.0 * np.isnan(X[:, 1])

    rows = np.array([[0.1, np.nan, 0.1], [np.nan, 0.1, 0.1], [np.nan, np.nan, 0.1]])
    found = Explainer(score, normal, threshold=6.0)(rows)
    assert found.scores == pytest.approx(score(rows))
    assert found.values[[0, 2], 1] == pytest.approx(7.0, abs=0.5)
    assert abs(found.values[1]).max() < 0.5
    assert found.sentences()[0].startswith("x1 has no value; with the rest as it is, ")
    assert found.flagged.tolist() == [True, False, True]
    assert found.repair.changed.tolist()[2] == [False, True, False]


def test_where_the_detector_takes_no_gaps_one_is_imputed_and_shown_as_a_gap():
    mixture = GaussianMixture(1, random_state=0).fit(numbers())
    frame = pd.DataFrame(numbers(), columns=["a", "b", "c"])
    row = frame.iloc[[0]].assign(b=np.nan)
    found = Explainer(mixture, frame.to_numpy(), threshold=9.0)(row.to_numpy())
    assert found.flagged.item()
    assert found.top(1)["feature"].item() == "x1"
    assert found.sentences()[0].startswith("x1 has no value; with the rest as it is, ")
    assert found.repair.silenced.item()


def test_where_normal_rows_have_gaps_one_more_is_no_alarm():
    normal = numbers(gaps=0.2)
    mixture = GaussianMixture(1, random_state=0).fit(normal[~np.isnan(normal).any(axis=1)])
    found = Explainer(mixture, normal, threshold=9.0)(np.array([[0.0, np.nan, 0.0]]))
    assert not found.flagged.item()
    assert "x1" in found.feature_names


def test_a_domain_alone_knows_no_typical_value():
    domain = Explainer(lambda X: X[:, 0], numbers()).domain
    with pytest.raises(ValueError, match="must be finite, got nan at row 0, column 1"):
        Explainer(lambda X: X[:, 0], domain=domain, method="ASH")([[0.0, np.nan, 0.0]])


def test_a_selector_of_columns_by_type():
    by_type = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
        (SimpleImputer(), make_column_selector(dtype_include="number")),
    )
    frame = NORMAL.drop(columns="name")
    pipe = make_pipeline(by_type, IsolationForest(random_state=0)).fit(frame)
    found = Explainer(pipe, frame)(frame.iloc[:3])
    assert found.scores == pytest.approx(-pipe.score_samples(frame.iloc[:3]))


def test_a_step_that_takes_the_frame():
    def parts(frame):
        return np.column_stack([frame["load"], frame["kind"].str.len()])

    frame = NORMAL.drop(columns="name")
    pipe = make_pipeline(FunctionTransformer(parts), IsolationForest(random_state=0)).fit(frame)
    rows = frame.iloc[:2].assign(kind=["a very long name", "saw"])
    found = Explainer(pipe, frame)(rows)
    assert found.scores == pytest.approx(-pipe.score_samples(rows))
    assert found.top(1)["feature"].iloc[0] == "kind"


def test_numbers_alone_keep_what_is_known_of_the_score():
    frame = NORMAL[["load", "gears"]]
    pipe = make_pipeline(StandardScaler(), GaussianMixture(1, random_state=0)).fit(frame)
    assert len(Explainer(pipe, frame).score.abilities) > 2
    some = make_column_transformer((StandardScaler(), ["load"]), remainder="drop")
    pipe = make_pipeline(some, GaussianMixture(1, random_state=0)).fit(frame)
    assert len(Explainer(pipe, frame).score.abilities) > 2
    score = as_score(lambda X: (X**2).sum(axis=1), lambda X: 2 * X)
    assert Explainer(score, frame).score.abilities == score.abilities


def test_parts_with_and_without_gaps_go_under_one_another():
    explain = Explainer(lambda X: (np.nan_to_num(X) ** 2).sum(axis=1), numbers())
    parts = [explain([[0.0, 1.0, 0.0]]), explain([[0.0, np.nan, 3.0]])]
    whole = concatenate(parts)
    assert whole.sentences() == (*parts[0].sentences(), *parts[1].sentences())


@pytest.mark.parametrize(
    "convert",
    [
        pytest.param(lambda frame: frame, id="pandas"),
        pytest.param(
            pl.from_pandas,
            id="polars",
            marks=pytest.mark.skipif(
                sklearn.__version__.startswith("1.6."),
                reason="scikit-learn 1.6 does not find columns of polars 2 by name",
            ),
        ),
    ],
)
def test_the_alarm_of_a_pipeline_is_calibrated(pipeline, convert):
    frame = convert(NORMAL)
    known = calibrate(pipeline, frame, 0.05)
    assert known.n == len(NORMAL)
    found = Explainer(pipeline, frame, threshold=known)(convert(machines(500, seed=5)))
    assert 0.01 < found.flagged.mean() < 0.1
    assert calibrate(pipeline, NORMAL, 0.05, held_out=machines(200, seed=7)).n == 200


SENSORS = np.random.default_rng(4).normal([10.0, 200.0, 3000.0], [1.0, 20.0, 300.0], (120, 3))


def with_gaps():
    rows = pd.DataFrame(SENSORS, columns=["a", "b", "c"])
    rows.iloc[::20, 1] = np.nan
    return rows


@pytest.mark.parametrize("convert", [pd.DataFrame, pl.from_pandas], ids=["pandas", "polars"])
@pytest.mark.parametrize("named", [False, True], ids=["by position", "by name"])
@pytest.mark.parametrize("make", [GMM, ForestOfPyOD, IsolationForest])
def test_normal_rows_with_gaps_reach_a_detector_as_it_was_fitted(make, named, convert):
    """The formula of a detector takes numbers only, and some detectors know no names."""
    fitted = pd.DataFrame(SENSORS, columns=["a", "b", "c"])
    detector = make(random_state=0).fit(fitted if named else SENSORS)
    found = Explainer(detector, convert(with_gaps()))(convert(fitted.assign(b=900.0)[:2]))
    expected = Explainer(detector, SENSORS)(fitted.assign(b=900.0).to_numpy()[:2])
    np.testing.assert_allclose(found.scores, expected.scores)
    assert found.feature_names == ("a", "b", "c")
    assert (found.order[:, 0] == 1).all()


@pytest.mark.parametrize("make", [GMM, IsolationForest])
def test_columns_with_gaps_are_matched_by_their_names(make):
    fitted = pd.DataFrame(SENSORS, columns=["a", "b", "c"])
    detector = make(random_state=0).fit(fitted)
    rows = with_gaps()[["c", "a", "b"]].assign(note="left alone")
    found = Explainer(detector, rows)(fitted[:3].assign(note=""))
    np.testing.assert_allclose(found.scores, Explainer(detector, fitted)(fitted[:3]).scores)


def test_numbers_in_columns_of_objects_reach_a_formula():
    detector = GMM(random_state=0).fit(SENSORS)
    rows = pd.DataFrame(SENSORS, dtype=object)
    found = Explainer(detector, rows)(rows[:3])
    np.testing.assert_allclose(found.scores, Explainer(detector, SENSORS)(SENSORS[:3]).scores)


def test_other_columns_than_the_detector_was_fitted_with_are_refused():
    detector = GMM(random_state=0).fit(SENSORS)
    with pytest.raises(ValueError, match=r"must have 3 columns, .*got 2: \['a', 'b'\]"):
        Explainer(detector, with_gaps()[["a", "b"]])


def test_a_number_in_a_column_with_gaps_is_told_with_its_decimals():
    detector = IsolationForest(random_state=0).fit(SENSORS)
    row = np.array([[14.5678, 200.0, 3000.0]])
    rows = SENSORS.copy()
    rows[0, 0] = np.nan
    told = Explainer(detector, rows, threshold=0.4)(row).sentences()[0]
    assert told.startswith("x0 is 14.5678;")


def test_a_repaired_gap_was_observed_as_a_gap(tmp_path):
    rows = SENSORS[:2].copy()
    rows[0, 1] = np.nan
    found = Explainer(GMM(random_state=0).fit(SENSORS), SENSORS)(rows)
    found.save(tmp_path / "found")
    for one in (found, Attribution.load(tmp_path / "found")):
        told = one.repair.to_frame()
        assert told["feature"].tolist() == ["x1"]
        assert told["observed"].isna().all()


def test_a_value_that_counts_where_no_normal_row_has_one_is_refused():
    detector = IsolationForest(random_state=0).fit(pd.DataFrame(SENSORS, columns=["a", "b", "c"]))
    explain = Explainer(detector, with_gaps().assign(a=np.nan))
    rows = with_gaps()[1:3]
    with pytest.raises(ValueError, match=r"a value in column 'a' at row 0, .*`background`"):
        explain(rows.assign(a=[99.0, np.nan]))
    assert len(explain(rows.assign(a=np.nan))) == 2


@pytest.fixture
def sensors():
    return pd.DataFrame(SENSORS, columns=["a", "b", "c"])


def holders():
    return pytest.mark.parametrize(
        "hold",
        [
            lambda frame: frame.astype(str),
            lambda frame: frame.astype(object).map(lambda each: str(each) if each > 50 else each),
            lambda frame: pl.from_pandas(frame.astype(str)),
            lambda frame: pa.Table.from_pandas(frame.astype(str), preserve_index=False),
            lambda frame: frame.to_numpy().astype(str),
        ],
        ids=["texts", "texts and numbers", "polars", "pyarrow", "array"],
    )


@holders()
@pytest.mark.parametrize("make", [GMM, GaussianMixture, ForestOfPyOD])
def test_texts_that_say_numbers_are_numbers_to_a_detector_of_numbers(sensors, make, hold):
    detector = make(random_state=0).fit(SENSORS)
    odd = sensors[:3].assign(b=900.0)
    expected = Explainer(detector, sensors)(odd)
    found = Explainer(detector, hold(sensors))(hold(odd))
    np.testing.assert_allclose(found.values, expected.values)
    assert (found.order[:, 0] == 1).all()


def test_texts_that_say_numbers_are_numbers_to_functions_that_say_the_same_of_both(sensors):
    detector = GaussianMixture(random_state=0).fit(SENSORS)
    score = as_score(detector.score_samples, higher_is_anomalous=False)
    expected = Explainer(score, sensors)(sensors[:3])
    found = Explainer(score, sensors.astype(str))(sensors[:3].astype(str))
    np.testing.assert_allclose(found.values, expected.values)


def test_texts_that_say_numbers_stay_texts_where_the_detector_tells_them_apart():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"code": rng.choice(["1", "2"], 200), "x": rng.normal(size=200)})
    rows["x"] = rows["x"].astype(str)
    encode = make_column_transformer((OneHotEncoder(), ["code"]), (StandardScaler(), ["x"]))
    detector = make_pipeline(encode, IsolationForest(random_state=0)).fit(rows)
    explain = Explainer(detector, rows)
    assert set(explain.domain.categories) == {"code"}
    found = explain(rows[:2].assign(x=["9.5", "0.1"]))
    assert found.top(1)["observed"].iloc[0] == 9.5


def test_texts_among_numbers_are_refused_with_what_to_do(sensors):
    detector = GaussianMixture(random_state=0).fit(SENSORS)
    rows = sensors.astype(str)
    rows.loc[3, "b"] = "n/a"
    with pytest.raises(TypeError, match=r"column 'b'.*'n/a'.*pd\.to_numeric"):
        Explainer(detector, rows)


def test_nan_as_a_text_is_a_gap(sensors):
    detector = GMM(random_state=0).fit(SENSORS)
    sensors.loc[::30, "a"] = np.nan
    expected = Explainer(detector, sensors)(sensors[1:3])
    found = Explainer(detector, sensors.astype(str))(sensors[1:3].astype(str))
    np.testing.assert_allclose(found.values, expected.values)


@pytest.mark.parametrize("kind", [object, str, "Float64"])
def test_rows_may_hold_numbers_in_other_types_than_normal_rows(sensors, kind):
    detector = GMM(random_state=0).fit(SENSORS)
    explain = Explainer(detector, sensors)
    odd = sensors[:2].assign(b=900.0)
    np.testing.assert_allclose(explain(odd.astype(kind)).values, explain(odd).values)


def test_an_object_that_is_no_number_is_refused_in_rows_of_numbers(sensors):
    explain = Explainer(GMM(random_state=0).fit(SENSORS), sensors)
    with pytest.raises(TypeError, match=r"must hold numbers, .*column 'b'"):
        explain(sensors[:2].astype(object).assign(b=["1", "one"]))


def test_masked_values_are_gaps():
    rows = np.random.default_rng(0).normal(5, 1, size=(300, 3))
    given = np.ma.masked_equal(np.array([[-9999, 5, 9.5], [5, 5, 5.0]]), -9999)
    whole = np.where(given.mask, np.nan, given.data)
    explain = Explainer(lambda X: ((X - 5) ** 2).sum(axis=1), rows, threshold=15.0)
    assert explain(given).top().equals(explain(whole).top())
    counts = np.ma.masked_equal(np.array([[-9999, 5, 9], [5, 5, 5]]), -9999)
    assert "x0 has no value" in explain(counts).sentences()[0]
    background = np.ma.masked_array(rows, rows > 7)
    normal = Explainer(lambda X: np.nansum(X**2, axis=1), background, threshold=150.0)
    assert normal.domain.upper[:3].max() <= 7


def test_decimals_are_numbers():
    rng = np.random.default_rng(0)
    prices = [Decimal(f"{value:.2f}") for value in rng.normal(10, 1, 300)]
    rows = pd.DataFrame({"x": rng.normal(size=300), "price": prices})
    odd = rows.head(1).assign(price=Decimal("99.5"))

    def score(frame):
        return frame["x"].abs() + (frame["price"].astype(float) - 10).abs()

    found = Explainer(score, rows, threshold=5.0)(odd)
    assert found.top(1)[["feature", "observed"]].to_numpy().tolist() == [["price", 99.5]]


MADE_FOR_FRAMES = {
    "pandas": (
        lambda rows: pd.DataFrame(rows, columns=list("abc")),
        lambda frame: frame.std(axis=1),
    ),
    "integers": (
        lambda rows: pd.DataFrame(np.round(9 * rows).astype(int), columns=list("abc")),
        lambda frame: frame["a"] ** 2 + frame["c"].abs(),
    ),
    "polars": (
        lambda rows: pl.DataFrame(rows, schema=list("abc")),
        lambda frame: (frame["a"] ** 2 + frame["c"].abs()).to_numpy(),
    ),
}


@pytest.mark.parametrize(("make", "score"), MADE_FOR_FRAMES.values(), ids=MADE_FOR_FRAMES)
def test_a_function_that_is_made_for_frames_gets_frames(make, score):
    rows = np.random.default_rng(0).normal(size=(300, 3))
    odd = make(np.array([[0.0, 0.0, 20.0], [0.0, 0.0, 0.0]]))
    found = Explainer(score, make(rows), threshold=5.0)(odd)
    assert found.scores.tolist() == pytest.approx(np.asarray(score(odd)).tolist())
    assert found.order[0, 0] == 2
    assert found.repair.silenced.all()


def test_a_function_of_arrays_gets_arrays_of_frames_too():
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 3)))
    seen = []

    def score(X):
        seen.append(type(X))
        return np.asarray(X)[:, 0] ** 2

    Explainer(score, rows)(rows[:2])
    assert seen[-1] is np.ndarray


@pytest.mark.parametrize("method", ["near", "ASH", "KSH"])
@pytest.mark.parametrize("encoder", [OneHotEncoder, OrdinalEncoder])
def test_a_choice_that_the_detector_knows_and_normal_rows_lack(encoder, method):
    rng = np.random.default_rng(0)
    kinds = rng.choice(list("abc"), 600)
    kinds[:6] = "d"
    rows = pd.DataFrame({"kind": kinds, "x": rng.normal(size=600)})
    encode = make_column_transformer(
        (encoder(), ["kind"]), (StandardScaler(), ["x"]), sparse_threshold=0
    )
    detector = make_pipeline(encode, GaussianMixture(2, reg_covar=0.01, random_state=0)).fit(rows)
    explain = Explainer(detector, rows[6:300], method, threshold=3.0)
    found = explain(rows.iloc[[0, 100]])
    asked = -detector.score_samples(rows.iloc[[0, 100]])
    assert found.scores == pytest.approx(asked)
    assert found.values.sum(axis=1) + found.base_values == pytest.approx(asked)
    assert found.top(1)["observed"].iloc[0] == "d (not seen before)"
    repaired = found.repair.rows[:1]
    assert explain.score(repaired)[0] == pytest.approx(found.repair.scores[0])


def test_a_date_that_no_normal_row_has_stays_a_date():
    rng = np.random.default_rng(0)
    days = [date(2024, 1, 1) + timedelta(days=int(i)) for i in rng.integers(0, 90, 300)]
    rows = pd.DataFrame({"x": rng.normal(size=300), "day": days})

    def score(frame):
        return frame["x"].abs() + [10.0 * (each.year > 2025) for each in frame["day"]]

    found = Explainer(score, rows, threshold=5.0)(rows[:1].assign(day=date(2035, 1, 1)))
    assert found.top(1)[["feature", "observed"]].to_numpy().tolist() == [
        ["day", "2035-01-01 (not seen before)"]
    ]


def test_an_alarm_is_calibrated_by_what_a_function_says_of_frames():
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 3)), columns=list("abc"))

    def score(frame):
        return frame.std(axis=1)  # of an array it is another number

    held = calibrate(score, rows, held_out=rows, rate=0.1)
    assert held.threshold in score(rows).to_numpy()
