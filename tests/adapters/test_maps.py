"""What stands between rows and a score: maps, what passes through them, and what they cost."""

import pickle
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from pyod.models.ecod import ECOD
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import VarianceThreshold
from sklearn.kernel_approximation import Nystroem
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

from benchmarks.worlds import correlated_rows
from whyflag import Explainer, as_score
from whyflag.adapters.kernels import KernelDensityEnergy
from whyflag.adapters.reconstruction import LinearReconstruction
from whyflag.adapters.tails import TailProbability
from whyflag.adapters.transformers import as_map
from whyflag.score import Additive, Curvature, Gradient, Marginals
from whyflag.score.mixture import MixtureEnergy

NORMAL = correlated_rows(200, 4, seed=0)
X = correlated_rows(5, 4, seed=1) * 1.5


class Doubled(StandardScaler):
    def transform(self, X):
        return 2 * super().transform(X)


SCALERS = {
    "standard": StandardScaler(),
    "standard, no mean": StandardScaler(with_mean=False),
    "standard, no deviation": StandardScaler(with_std=False),
    "robust": RobustScaler(),
    "robust, no center": RobustScaler(with_centering=False, unit_variance=True),
    "robust, no scale": RobustScaler(with_scaling=False),
    "largest": MaxAbsScaler(),
    "range": MinMaxScaler((-2, 5)),
}


@pytest.mark.parametrize("name", SCALERS)
def test_a_scaler_has_its_own_numbers_to_the_bit(name):
    scaler = SCALERS[name].fit(NORMAL)
    np.testing.assert_array_equal(as_map(scaler)(X), scaler.transform(X))


def test_of_a_subclass_nothing_is_known_but_what_it_makes():
    pipeline = make_pipeline(Doubled(), GaussianMixture()).fit(NORMAL)
    score = as_score(pipeline)
    np.testing.assert_allclose(score(X), -pipeline.score_samples(X))
    assert not score.abilities
    assert score.unit == 1.0


# Detectors, and the formula of each: it answers in some of these ways.
ASKED = ("__call__", "marginal", "growing", "parts")
COSTS = {
    "GMM": (GaussianMixture(2, random_state=0), MixtureEnergy),
    "KDE": (KernelDensity(bandwidth=0.5), KernelDensityEnergy),
    "PCA": (PCA(3), LinearReconstruction),
    "ECOD": (ECOD(), TailProbability),
}


@pytest.mark.parametrize("method", ["marg", "SFE"])
@pytest.mark.parametrize("d", [10, 30])
@pytest.mark.parametrize("name", COSTS)
def test_a_scaler_adds_no_questions_to_the_detector(name, d, method, monkeypatch):
    """Nor does it ask scikit-learn, whose checks take longer than a small score."""
    detector, formula = COSTS[name]
    normal = correlated_rows(100, d, seed=0)
    flagged = correlated_rows(6, d, seed=1) * 2
    counts = Counter()

    def counted(name):
        answer = getattr(formula, name)

        def count(self, X, *more):
            counts[name] += len(X)
            return answer(self, X, *more)

        return count

    for asked in ASKED:
        if hasattr(formula, asked):
            monkeypatch.setattr(formula, asked, counted(asked))
    pipeline = make_pipeline(StandardScaler(), clone(detector)).fit(normal)
    bare, behind = (
        Explainer(model, normal, method) for model in (clone(detector).fit(normal), pipeline)
    )
    monkeypatch.setattr(StandardScaler, "transform", None)
    counts.clear()
    bare(flagged)
    expected = dict(counts)
    counts.clear()
    behind(flagged)
    assert expected
    assert dict(counts) == expected


@pytest.mark.parametrize("method", ["marg", "SFE"])
@pytest.mark.parametrize("name", SCALERS)
def test_a_density_says_the_same_of_columns_in_whatever_units(name, method):
    mixture = GaussianMixture(reg_covar=0.0)
    bare = Explainer(mixture.fit(NORMAL), NORMAL, method)(X)
    scaled = Explainer(make_pipeline(SCALERS[name], mixture).fit(NORMAL), NORMAL, method)(X)
    np.testing.assert_allclose(scaled.values, bare.values, rtol=1e-8, atol=1e-8)


def test_units_go_through_weights_and_copies_of_columns():
    union = FeatureUnion(
        [("one", StandardScaler()), ("two", PowerTransformer(standardize=False))],
        transformer_weights={"one": 10.0},
    )
    score = as_score(make_pipeline(union, GaussianMixture()).fit(NORMAL))
    deviations = union.transformer_list[0][1].scale_
    scale = np.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(
        score.need(Marginals).log_units(scale), np.log(10 * scale / deviations)
    )


def test_a_column_that_is_left_out_has_no_marginal():
    chosen = ColumnTransformer([("two", StandardScaler(), [3, 1])])
    score = as_score(make_pipeline(chosen, GaussianMixture()).fit(NORMAL))
    marginal = score.need(Marginals).marginal(X, np.eye(4, dtype=bool))
    np.testing.assert_array_equal(marginal[:, [0, 2]], 0.0)
    assert (marginal[:, [1, 3]] != 0).all()
    sfe = Explainer(score, NORMAL, "SFE")(X)
    np.testing.assert_allclose(sfe.values[:, [0, 2]], 0.0, atol=1e-6)


def test_a_column_that_is_left_out_is_no_culprit():
    chosen = ColumnTransformer([("two", RobustScaler(), [3, 1])])
    pipeline = make_pipeline(chosen, GaussianMixture()).fit(NORMAL)
    assert as_score(pipeline).find(Curvature) is not None
    for method in ("comp", "KSH"):
        values = Explainer(pipeline, NORMAL, method)(X).values
        np.testing.assert_allclose(values[:, [0, 2]], 0.0, atol=1e-9)
    assert set(Explainer(pipeline, NORMAL)(X).values.argmax(axis=1)) <= {1, 3}


def test_columns_are_found_by_name_by_mask_and_by_slice():
    frame = pd.DataFrame(NORMAL, columns=list("abcd"))
    ways = {
        "names": (frame, ["d", "b"]),
        "an index": (frame, pd.Index(["d", "b"])),
        "positions": (NORMAL, [3, 1]),
        "from the end": (NORMAL, [-1, 1]),
        "a slice": (NORMAL, slice(3, 0, -2)),
    }
    for way, (table, columns) in ways.items():
        chosen = ColumnTransformer([("two", StandardScaler(), columns)])
        pipeline = make_pipeline(chosen, GaussianMixture()).fit(table)
        score = as_score(pipeline)
        assert score.find(Curvature) is not None, way
        np.testing.assert_allclose(score(NORMAL), -pipeline.score_samples(table), rtol=1e-10)
    mask = ColumnTransformer([("two", StandardScaler(), np.array([False, True, False, True]))])
    score = as_score(make_pipeline(mask, GaussianMixture()).fit(NORMAL))
    assert score.find(Curvature) is not None


def test_columns_that_are_not_clear_are_left_to_scikit_learn():
    frame = pd.DataFrame(NORMAL, columns=list("abcd"))
    chosen = ColumnTransformer([("two", StandardScaler(), slice("b", "c"))])
    pipeline = make_pipeline(chosen, GaussianMixture()).fit(frame)
    score = as_score(pipeline)
    assert score.find(Gradient) is None
    np.testing.assert_allclose(score(NORMAL), -pipeline.score_samples(frame), rtol=1e-10)


def test_sparse_rows_become_dense_ones():
    encoder = OneHotEncoder(handle_unknown="ignore").fit(np.sign(NORMAL))
    rows = np.sign(X)
    np.testing.assert_array_equal(as_map(encoder)(rows), encoder.transform(rows).toarray())


def test_a_selection_of_columns_keeps_their_marginals():
    pipeline = make_pipeline(VarianceThreshold(), StandardScaler(), PCA(2)).fit(NORMAL)
    parts = as_score(pipeline).need(Additive).parts(X)
    np.testing.assert_allclose(parts, as_score(pipeline[1:]).need(Additive).parts(X), rtol=1e-9)


def test_a_step_that_looks_at_the_other_rows_is_refused():
    centred = FunctionTransformer(lambda X: X - X.mean(axis=0))
    pipeline = make_pipeline(centred, GaussianMixture()).fit(NORMAL)
    with pytest.raises(ValueError, match="depends on the other rows"):
        as_score(pipeline)(X)


@pytest.mark.parametrize("steps", [["passthrough"], [None, "passthrough"], [FunctionTransformer()]])
def test_names_and_numbers_are_those_of_the_first_step_that_knows(steps):
    frame = pd.DataFrame(NORMAL, columns=list("abcd"))
    score = as_score(make_pipeline(*steps, StandardScaler(), PCA(2)).fit(frame))
    assert score.n_features == 4
    assert score.feature_names == tuple("abcd")


def test_what_nobody_knows_is_taken_from_the_background():
    class Anonymous(TransformerMixin, BaseEstimator):
        def fit(self, X, y=None):
            self.fitted_ = True
            return self

        def transform(self, X):
            return np.abs(X)

    pipeline = make_pipeline("passthrough", Anonymous(), PCA(2)).fit(NORMAL)
    assert as_score(pipeline).n_features is None
    assert Explainer(pipeline, NORMAL)(X).values.shape == X.shape


def test_a_detector_may_be_a_pipeline_itself():
    inner = make_pipeline(StandardScaler(), PCA(2))
    pipeline = make_pipeline("passthrough", MinMaxScaler(), inner).fit(NORMAL)
    Z = pipeline[:-1].transform(X)
    np.testing.assert_allclose(as_score(pipeline)(X), as_score(inner)(Z))
    with pytest.raises(TypeError, match="last step"):
        as_score(Pipeline([("a", Pipeline([("b", "passthrough")]))]).fit(NORMAL))


@pytest.mark.parametrize(
    "step", [StandardScaler(), PowerTransformer(), Nystroem(n_components=20, random_state=0)]
)
def test_a_score_behind_steps_can_go_to_another_process(step):
    score = as_score(make_pipeline(step, GaussianMixture(reg_covar=0.1)).fit(NORMAL))
    score = replace(score, threshold=3.0)
    other = pickle.loads(pickle.dumps(score))  # noqa: S301
    assert [type(each) for each in other.abilities] == [type(each) for each in score.abilities]
    assert other.threshold == 3.0
    for one, two in zip(score.value_and_grad(X), other.value_and_grad(X), strict=True):
        np.testing.assert_array_equal(one, two)
