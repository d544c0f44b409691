"""Every scikit-learn detector that users have, crossed with what must hold of its score."""

import warnings

import numpy as np
import pandas as pd
import pytest
from pyod.models.knn import KNN
from pyod.models.mcd import MCD
from scipy.spatial.distance import mahalanobis
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.compose import ColumnTransformer
from sklearn.covariance import EllipticEnvelope
from sklearn.decomposition import (
    NMF,
    PCA,
    FastICA,
    IncrementalPCA,
    SparsePCA,
    TruncatedSVD,
)
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression, SGDOneClassSVM
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import OneClassSVM

from planted import (
    HELD_OUT,
    NORMAL,
    PLANTED,
    assert_gradient_equals_differences,
    assert_unchanged_by_explaining,
    found,
)
from whyflag import Explainer, as_score
from whyflag.detectors import GMM
from whyflag.score import Curvature, Gradient, Marginals


def scaled(*steps):
    return make_pipeline(StandardScaler(), *steps)


def svm(**settings):
    return scaled(OneClassSVM(nu=0.05, **settings))


# Detectors that see a sensor which leaves its correlations, with a gradient …
SMOOTH = {
    **{
        f"GaussianMixture {kind}": scaled(GaussianMixture(2, covariance_type=kind, random_state=0))
        for kind in ("full", "tied", "diag", "spherical")
    },
    **{
        f"BayesianGaussianMixture {kind} {prior}": BayesianGaussianMixture(
            n_components=2,
            covariance_type=kind,
            weight_concentration_prior_type=prior,
            max_iter=1000,
            random_state=0,
        )
        for kind, prior in [
            ("full", "dirichlet_process"),
            ("tied", "dirichlet_distribution"),
            ("diag", "dirichlet_process"),
        ]
    },
    "EllipticEnvelope": EllipticEnvelope(random_state=0),
    "GaussianMixture, no pipeline": GaussianMixture(2, random_state=0),
    "KernelDensity": scaled(KernelDensity(bandwidth=0.5, leaf_size=1000)),
    "PCA": scaled(PCA(3)),
    "PCA whitened": scaled(PCA(3, whiten=True)),
    "IncrementalPCA": scaled(IncrementalPCA(3)),
    "TruncatedSVD": scaled(TruncatedSVD(3, random_state=0)),
    "FastICA": scaled(FastICA(3, random_state=0, tol=0.01, max_iter=1000)),
    "OneClassSVM rbf": svm(),
    "SGDOneClassSVM Nystroem": scaled(
        Nystroem(n_components=200, random_state=0), SGDOneClassSVM(nu=0.05, random_state=0)
    ),
    "SGDOneClassSVM RBFSampler": scaled(
        RBFSampler(gamma=0.05, n_components=300, random_state=0),
        SGDOneClassSVM(nu=0.05, random_state=0),
    ),
    "Pipeline power": make_pipeline(PowerTransformer(), GaussianMixture(2, random_state=0)),
    "Pipeline robust, PCA": make_pipeline(RobustScaler(), PCA(6), EllipticEnvelope(random_state=0)),
    "Pipeline whitened": make_pipeline(PCA(whiten=True), GaussianMixture(2, random_state=0)),
    "Pipeline columns": make_pipeline(
        ColumnTransformer(
            [("s", StandardScaler(), [5, 1]), ("p", PowerTransformer(), slice(2, 4))],
            remainder=RobustScaler(),
        ),
        GaussianMixture(2, random_state=0),
    ),
}
# … and without.
STEPS = {
    "IsolationForest": IsolationForest(random_state=0),
    "LocalOutlierFactor": scaled(LocalOutlierFactor(novelty=True)),
}
# What such a detector does not see, no attribution can tell. Their scores and gradients count.
BLIND = {
    "OneClassSVM linear": svm(kernel="linear"),
    "OneClassSVM poly": svm(kernel="poly", degree=2, coef0=0.5),
    "OneClassSVM sigmoid": svm(kernel="sigmoid", gamma=0.01),
    "SGDOneClassSVM": scaled(SGDOneClassSVM(nu=0.05, random_state=0)),
    "Nystroem poly": scaled(
        Nystroem(kernel="poly", degree=2, n_components=10, random_state=0),
        SGDOneClassSVM(random_state=0),
    ),
    "many steps": make_pipeline(
        SimpleImputer(),
        FunctionTransformer(),
        "passthrough",
        VarianceThreshold(),
        MaxAbsScaler(),
        MinMaxScaler(),
        StandardScaler(with_std=False),
        FastICA(random_state=0, tol=0.01, max_iter=1000),
        TruncatedSVD(5, random_state=0),
        GaussianMixture(random_state=0),
    ),
    "Pipeline quantile": make_pipeline(
        QuantileTransformer(n_quantiles=100, output_distribution="normal", random_state=0),
        GaussianMixture(2, random_state=0),
    ),
}


@pytest.fixture(scope="module")
def fitted():
    """Detectors are fitted once, when first asked for."""
    cache = {}

    def get(name):
        if name not in cache:
            cache[name] = {**SMOOTH, **STEPS, **BLIND}[name].fit(NORMAL)
        return cache[name]

    return get


def theirs(detector, X):
    last = detector[-1] if isinstance(detector, Pipeline) else detector
    if not hasattr(last, "inverse_transform"):
        return -detector.score_samples(X)
    before = detector[:-1].transform(X) if isinstance(detector, Pipeline) else X
    return ((before - last.inverse_transform(last.transform(before))) ** 2).sum(axis=1)


@pytest.mark.parametrize("name", [*SMOOTH, *STEPS, *BLIND])
def test_the_score_is_the_detectors_own(fitted, name):
    detector = fitted(name)
    for rows in (HELD_OUT, PLANTED):
        expected = theirs(detector, rows)
        tolerance = 1e-10 * max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(as_score(detector)(rows), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("name", [*SMOOTH, *BLIND])
def test_the_gradient_equals_finite_differences(fitted, name):
    score = as_score(fitted(name))
    assert score.find(Gradient) is not None
    assert_gradient_equals_differences(score, PLANTED[:10])


@pytest.mark.parametrize("name", [*SMOOTH, *STEPS])
def test_explaining_does_not_change_the_detector(fitted, name):
    assert_unchanged_by_explaining(fitted(name))


@pytest.mark.parametrize("name", SMOOTH)
def test_a_smooth_detectors_culprit_comes_first(fitted, name):
    assert found(fitted(name)) >= 0.9


@pytest.mark.parametrize("name", STEPS)
def test_the_culprit_comes_first_without_a_gradient(fitted, name):
    score = as_score(fitted(name))
    assert score.find(Gradient) is None
    assert found(fitted(name), n=20) >= 0.8


@pytest.mark.parametrize(
    "name",
    ["EllipticEnvelope", "OneClassSVM rbf", "SGDOneClassSVM", *STEPS],
)
def test_the_threshold_is_the_detectors_own(fitted, name):
    detector = fitted(name)
    score = as_score(detector)
    rows = np.vstack([NORMAL, PLANTED])
    sure = np.abs(score(rows) - score.threshold) > 1e-9  # support vectors lie on the boundary
    flagged = score(rows) > score.threshold
    np.testing.assert_array_equal(flagged[sure], (detector.predict(rows) == -1)[sure])


def test_a_density_has_no_threshold(fitted):
    assert as_score(fitted("KernelDensity")).threshold is None


def test_affine_steps_keep_curvature_and_columnwise_ones_keep_marginals(fitted):
    keep = np.eye(8, dtype=bool)
    pca = fitted("PCA")
    score = as_score(pca)
    assert score.find(Curvature) is not None
    assert score.find(Marginals) is not None
    Z = pca[:-1].transform(PLANTED)
    residual = Z - pca[-1].inverse_transform(pca[-1].transform(Z))
    np.testing.assert_allclose(
        score.need(Marginals).marginal(PLANTED, keep), residual**2, atol=1e-10
    )
    rotated = as_score(fitted("Pipeline robust, PCA"))
    assert rotated.find(Curvature) is not None
    assert rotated.find(Marginals) is None
    assert as_score(fitted("Pipeline power")).find(Curvature) is None


def test_curvature_through_a_pipeline_is_the_second_derivative(fitted):
    score = as_score(fitted("Pipeline robust, PCA"))
    step = 0.3 * NORMAL.std(axis=0)
    turned = score.value_and_grad(PLANTED[:1] + step)[1] - score.value_and_grad(PLANTED[:1])[1]
    np.testing.assert_allclose(turned[0], score.need(Curvature).matrices[0] @ step, rtol=1e-5)


def test_a_kernel_density_is_exact_where_scikit_learns_is_not():
    """Its trees add up bounds that cancel: 38 nats off at one of these rows. See the docs."""
    detector = KernelDensity(bandwidth=2.0).fit(NORMAL)
    densities = [norm.logpdf(PLANTED[:, None, i], NORMAL[:, i], 2.0) for i in range(8)]
    exact = -logsumexp(np.sum(densities, axis=0), axis=1) + np.log(len(NORMAL))
    np.testing.assert_allclose(as_score(detector)(PLANTED), exact, rtol=1e-12)
    assert np.abs(-detector.score_samples(PLANTED) - exact).max() > 1


def test_marginals_of_a_mahalanobis_distance_are_those_of_its_columns(fitted):
    detector = fitted("EllipticEnvelope")
    keep = np.array([[True] * 3 + [False] * 5, [True] * 8, [False] * 8])
    marginal = as_score(detector).need(Marginals).marginal(PLANTED, keep)
    away = (PLANTED - detector.location_)[:, :3]
    inverse = np.linalg.inv(detector.covariance_[:3, :3])
    expected = [mahalanobis(row, np.zeros(3), inverse) ** 2 for row in away]
    np.testing.assert_allclose(marginal[:, 0], expected, rtol=1e-9)
    np.testing.assert_allclose(marginal[:, 1], -detector.score_samples(PLANTED), rtol=1e-9)
    np.testing.assert_array_equal(marginal[:, 2], 0.0)


def test_marginals_of_a_kernel_density_are_those_of_its_columns():
    detector = KernelDensity(bandwidth=2.0).fit(NORMAL)
    keep = np.array([[True] * 3 + [False] * 5, [False] * 8])
    expected = (
        KernelDensity(bandwidth=2.0, leaf_size=1000)
        .fit(NORMAL[:, :3])
        .score_samples(PLANTED[:, :3])
    )
    marginal = as_score(detector).need(Marginals).marginal(PLANTED, keep)
    np.testing.assert_allclose(marginal[:, 0], -expected, rtol=1e-10)
    np.testing.assert_array_equal(marginal[:, 1], 0.0)


def test_a_weighted_kernel_density():
    weights = np.random.default_rng(0).random(200)
    detector = KernelDensity(bandwidth=3.0, leaf_size=200)
    detector.fit(NORMAL[:200], sample_weight=weights)
    np.testing.assert_allclose(
        as_score(detector)(HELD_OUT), -detector.score_samples(HELD_OUT), rtol=1e-10
    )


@pytest.mark.parametrize(
    "detector",
    [
        KernelDensity(kernel="exponential", bandwidth=3.0),
        KernelDensity(metric="manhattan", bandwidth=3.0),
        KernelDensity(rtol=1e-3, bandwidth=3.0),
        OneClassSVM(kernel=lambda X, Y: X @ Y.T),
        scaled(Nystroem(kernel="laplacian", n_components=9, random_state=0), SGDOneClassSVM()),
        make_pipeline(MinMaxScaler(clip=True), GaussianMixture()),
        make_pipeline(PolynomialFeatures(), GaussianMixture(reg_covar=1.0)),
        make_pipeline(ColumnTransformer([("p", PolynomialFeatures(), [1, 0])]), GaussianMixture()),
        make_pipeline(FunctionTransformer(np.tanh), GaussianMixture()),
    ],
    ids=lambda detector: str(detector)[:30],
)
def test_what_has_no_gradient_here_is_searched(detector):
    score = as_score(detector.fit(NORMAL))
    assert score.find(Gradient) is None
    np.testing.assert_allclose(score(HELD_OUT), theirs(detector, HELD_OUT), rtol=1e-10, atol=1e-10)


def test_a_decomposition_that_is_not_linear_is_scored_by_its_reconstruction():
    rows = np.abs(NORMAL[:100])
    detector = NMF(3, random_state=0, max_iter=2000).fit(rows)
    score = as_score(detector)
    np.testing.assert_allclose(score(rows[:5]), theirs(detector, rows[:5]))
    parts = score.need(Marginals).marginal(rows[:5], np.eye(8, dtype=bool))
    np.testing.assert_allclose(parts.sum(axis=1), score(rows[:5]))


def test_a_search_over_settings_is_its_best_estimator():
    search = GridSearchCV(KernelDensity(), {"bandwidth": [0.5, 3.0]}, cv=3).fit(NORMAL)
    np.testing.assert_allclose(
        as_score(search)(HELD_OUT), -search.best_estimator_.score_samples(HELD_OUT)
    )


def test_another_librarys_detector_with_scikit_learns_conventions():
    class Distance(OutlierMixin, BaseEstimator):
        def fit(self, X, y=None):
            self.n_features_in_ = X.shape[1]
            return self

        def decision_function(self, X):
            return 100 - (X**2).sum(axis=1)

    score = as_score(Distance().fit(NORMAL))
    np.testing.assert_allclose(score(HELD_OUT), (HELD_OUT**2).sum(axis=1) - 100)
    assert score.threshold == 0.0


def test_a_subclass_is_asked_itself():
    class Doubled(GaussianMixture):
        def score_samples(self, X):
            return 2 * super().score_samples(X)

    detector = Doubled(random_state=0).fit(NORMAL)
    score = as_score(detector)
    assert score.find(Gradient) is None
    np.testing.assert_allclose(score(HELD_OUT), -detector.score_samples(HELD_OUT))


@pytest.mark.parametrize(
    "last", [GMM(2), KNN(), MCD(random_state=0)], ids=["whyflag", "PyOD", "PyOD, smooth"]
)
def test_the_last_step_can_be_another_librarys(last):
    pipeline = scaled(last).fit(NORMAL)
    Z = pipeline[:-1].transform(PLANTED)
    expected = -last.score_samples(Z) if isinstance(last, GMM) else last.decision_function(Z)
    score = as_score(pipeline)
    np.testing.assert_allclose(score(PLANTED), expected, rtol=1e-10)
    assert score.threshold == as_score(last).threshold is not None
    assert found(pipeline, n=10) >= 0.8


@pytest.mark.parametrize(
    "detector",
    [
        IsolationForest(n_estimators=20, random_state=0),
        LocalOutlierFactor(novelty=True),
        scaled(GaussianMixture(random_state=0)),
        GaussianMixture(random_state=0),
        make_pipeline(
            ColumnTransformer([("two", StandardScaler(), ["s6", "s1"])]), EllipticEnvelope()
        ),
    ],
    ids=["forest", "LOF", "pipeline", "mixture", "columns by name"],
)
def test_names_that_a_detector_was_fitted_with_rule(detector):
    names = [f"s{i}" for i in range(8)]
    normal = pd.DataFrame(NORMAL[:300], columns=names)
    flagged = pd.DataFrame(PLANTED[:3], columns=names)
    detector.fit(normal)
    straight = Explainer(detector, normal)(flagged)
    shuffled = Explainer(detector, normal[names[::-1]])(flagged[names[3:] + names[:3]])
    assert straight.feature_names == shuffled.feature_names == tuple(names)
    np.testing.assert_allclose(straight.values, shuffled.values, atol=1e-3)
    by_position = Explainer(detector, NORMAL[:300])(PLANTED[:3])
    assert by_position.feature_names == tuple(names)
    np.testing.assert_allclose(straight.values, by_position.values, atol=1e-3)


def test_a_background_without_the_detectors_columns_is_refused():
    frame = pd.DataFrame(NORMAL[:50, :2], columns=["a", "b"])
    detector = EllipticEnvelope().fit(frame)
    with pytest.raises(ValueError, match=r"missing: \['b'\], unexpected: \['c'\]"):
        Explainer(detector, frame.rename(columns={"b": "c"}))


@pytest.mark.parametrize(
    ("detector", "error", "message"),
    [
        (IsolationForest(), NotFittedError, "not fitted"),
        (scaled(GaussianMixture()), NotFittedError, "not fitted"),
        (LocalOutlierFactor().fit(NORMAL), ValueError, "novelty=True"),
        (LogisticRegression().fit(NORMAL, np.arange(1000) % 2), TypeError, "no anomaly detector"),
        (StandardScaler().fit(NORMAL), TypeError, "no anomaly detector"),
        (make_pipeline(StandardScaler(), "passthrough").fit(NORMAL), TypeError, "last step"),
        (
            OneClassSVM(kernel="precomputed").fit(NORMAL[:9] @ NORMAL[:9].T),
            ValueError,
            "precomputed kernel",
        ),
    ],
    ids=["unfitted", "unfitted pipeline", "LOF", "classifier", "scaler", "passthrough", "kernel"],
)
def test_what_cannot_be_explained_says_why(detector, error, message):
    with pytest.raises(error, match=message):
        as_score(detector)


def test_no_warnings_are_silenced_while_neighbours_are_asked(monkeypatch):
    """Filters of warnings belong to all threads: one would silence, or not, those of another."""
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 2)), columns=["a", "b"])
    detector = LocalOutlierFactor(novelty=True, metric="manhattan").fit(rows)
    nameless = LocalOutlierFactor(novelty=True, metric="manhattan").fit(rows.to_numpy())
    score, filters = as_score(detector), list(warnings.filters)
    seen = []
    own = LocalOutlierFactor.score_samples
    monkeypatch.setattr(
        LocalOutlierFactor,
        "score_samples",
        lambda self, X: seen.append(list(warnings.filters)) or own(self, X),
    )
    np.testing.assert_array_equal(score(rows.to_numpy()), -own(nameless, rows.to_numpy()))
    assert score.feature_names == ("a", "b")
    assert seen
    assert all(each == filters for each in seen)


def test_a_decomposition_that_flattens_a_single_row():
    rows = np.random.default_rng(0).normal(size=(100, 4))
    detector = SparsePCA(2, max_iter=5, random_state=0).fit(rows)
    found = Explainer(detector, rows, threshold=1.0)([[9.0, 0, 0, 0], [0, 0, 0, 0]])
    whole = detector.inverse_transform(detector.transform(found.data))
    assert found.scores == pytest.approx(((found.data - whole) ** 2).sum(axis=1))
