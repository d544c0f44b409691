"""Every adapter behind every step of a pipeline: what a score can do changes no answer."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from pyod.models.auto_encoder import AutoEncoder
from pyod.models.base import BaseDetector
from pyod.models.copod import COPOD
from pyod.models.ecod import ECOD
from pyod.models.gmm import GMM as PyodGMM  # noqa: N811
from pyod.models.hbos import HBOS
from pyod.models.iforest import IForest
from pyod.models.kde import KDE
from pyod.models.knn import KNN
from pyod.models.loda import LODA
from pyod.models.mcd import MCD
from pyod.models.ocsvm import OCSVM
from pyod.models.pca import PCA as PyodPCA  # noqa: N811
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.covariance import EllipticEnvelope
from sklearn.decomposition import PCA, FastICA, IncrementalPCA, TruncatedSVD
from sklearn.ensemble import IsolationForest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import SGDOneClassSVM
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import OneClassSVM

from whyflag import Explainer, as_score
from whyflag.detectors import GMM, VAE
from whyflag.games import LocalMinimum
from whyflag.methods import ASH
from whyflag.score import (
    Ability,
    Additive,
    Curvature,
    Distances,
    Gradient,
    Marginals,
    Products,
    Trees,
)

D = 4


def rows(n, d=D, seed=0):
    """Two causes behind d columns, each in a unit of its own."""
    rng = np.random.default_rng(seed)
    loadings = np.random.default_rng(7).normal(size=(2, d))
    values = rng.normal(size=(n, 2)) @ loadings + 0.5 * rng.normal(size=(n, d))
    return values * np.resize([1.0, 2.0, 0.5, 3.0], d) + np.resize([0.0, 5.0, 1.0, -3.0], d)


NORMAL = rows(200)
HELD_OUT = rows(6, seed=1)
MOVED = HELD_OUT.copy()
MOVED[range(3), [0, 1, 2]] += 4 * NORMAL.std(axis=0)[:3]

# A detector, what is known of its slope, and of parts of its columns.
DETECTORS = {
    "GaussianMixture": (GaussianMixture(2, random_state=0), Curvature, Marginals),
    "BayesianGaussianMixture": (
        BayesianGaussianMixture(n_components=2, max_iter=500, random_state=0),
        Curvature,
        Marginals,
    ),
    "EllipticEnvelope": (EllipticEnvelope(random_state=0), Curvature, Marginals),
    "PCA": (PCA(2), Curvature, Additive),
    "IncrementalPCA": (IncrementalPCA(2), Curvature, Additive),
    "FastICA": (
        FastICA(2, random_state=0, tol=0.01, max_iter=1000),
        Curvature,
        Additive,
    ),
    "TruncatedSVD": (TruncatedSVD(2, random_state=0), Curvature, Additive),
    "OneClassSVM rbf": (OneClassSVM(nu=0.05), Gradient, Products),
    "OneClassSVM linear": (OneClassSVM(kernel="linear", nu=0.05), Gradient, None),
    "SGDOneClassSVM": (SGDOneClassSVM(nu=0.05, random_state=0), Gradient, None),
    "KernelDensity": (
        KernelDensity(bandwidth=0.5, leaf_size=200),
        Gradient,
        (Marginals, Products),
    ),
    "KernelDensity exponential": (
        KernelDensity(bandwidth=0.5, kernel="exponential", leaf_size=200),
        None,
        None,
    ),
    "IsolationForest": (IsolationForest(n_estimators=20, random_state=0), None, Trees),
    "LocalOutlierFactor": (LocalOutlierFactor(novelty=True), None, Distances),
    "PyOD IForest": (IForest(n_estimators=20, random_state=0), None, Trees),
    "PyOD ECOD": (ECOD(), None, Additive),
    "PyOD COPOD": (COPOD(), None, Additive),
    "PyOD HBOS": (HBOS(), None, None),
    "PyOD PCA": (PyodPCA(random_state=0), Gradient, None),
    "PyOD OCSVM": (OCSVM(nu=0.05), Gradient, Products),
    "PyOD KDE": (KDE(bandwidth=0.5, leaf_size=200), Gradient, (Marginals, Products)),
    "PyOD GMM": (PyodGMM(n_components=2, random_state=0), Curvature, Marginals),
    "PyOD MCD": (MCD(random_state=0), Curvature, Marginals),
    "PyOD KNN": (KNN(), None, Distances),
    "PyOD LODA": (LODA(n_random_cuts=20), None, None),
    "PyOD AutoEncoder": (
        AutoEncoder(epoch_num=1, hidden_neuron_list=[4, 2], random_state=0, verbose=0),
        Gradient,
        None,
    ),
    "GMM": (GMM(2, random_state=0), Curvature, Marginals),
    "VAE": (
        VAE(0.5, 1.0, max_updates=50, n_draws=2, random_state=0),
        Gradient,
        Additive,
    ),
}


def quantiles(distribution):
    return QuantileTransformer(n_quantiles=50, output_distribution=distribution, random_state=0)


def columns(*transformers, remainder="passthrough"):
    return ColumnTransformer(
        [(str(i), *part) for i, part in enumerate(transformers)], remainder=remainder
    )


SAME = np.arange(D)
# scikit-learn 1.7 and later want to be told how quantiles are computed.
QUANTILES = {"quantile_method": "averaged_inverted_cdf"}
if not QUANTILES.keys() <= KBinsDiscretizer().get_params().keys():
    QUANTILES = {}
# The steps, what slope goes through them, and the column that each column behind is made of.
WRAPPERS = {
    "none": ([], Curvature, SAME),
    "StandardScaler": ([StandardScaler()], Curvature, SAME),
    "MinMaxScaler": ([MinMaxScaler()], Curvature, SAME),
    "MinMaxScaler clip": ([MinMaxScaler(clip=True)], None, SAME),
    "RobustScaler": ([RobustScaler()], Curvature, SAME),
    "PowerTransformer": ([PowerTransformer()], Gradient, SAME),
    "QuantileTransformer uniform": ([quantiles("uniform")], Gradient, SAME),
    "QuantileTransformer normal": ([quantiles("normal")], Gradient, SAME),
    "PolynomialFeatures": ([StandardScaler(), PolynomialFeatures(include_bias=False)], None, None),
    "PCA": ([PCA(3)], Curvature, None),
    "PCA whiten": ([PCA(whiten=True)], Curvature, None),
    "FunctionTransformer": ([FunctionTransformer()], Curvature, SAME),
    "FunctionTransformer arcsinh": ([FunctionTransformer(np.arcsinh)], None, SAME),
    "FunctionTransformer own": ([FunctionTransformer(lambda X: X / 2)], None, None),
    "KBinsDiscretizer": (
        [KBinsDiscretizer(20, encode="ordinal", **QUANTILES)],
        None,
        SAME,
    ),
    "SimpleImputer": ([SimpleImputer()], Curvature, SAME),
    "passthrough only": (["passthrough"], Curvature, SAME),
    "None only": ([None], Curvature, SAME),
    "passthrough first": (["passthrough", StandardScaler()], Curvature, SAME),
    "passthrough between": ([StandardScaler(), "passthrough", PCA(3)], Curvature, None),
    "passthrough last": ([MinMaxScaler(), "passthrough"], Curvature, SAME),
    "Pipeline": (
        [make_pipeline("passthrough", make_pipeline(RobustScaler())), StandardScaler()],
        Curvature,
        SAME,
    ),
    "FeatureUnion": (
        [
            FeatureUnion(
                [("1", columns((StandardScaler(), [1, 2]), remainder="drop")), ("2", PCA(2))],
                transformer_weights={"2": 2.0},
            )
        ],
        Curvature,
        None,
    ),
    "FeatureUnion of columns": (
        [FeatureUnion([("1", "passthrough"), ("2", quantiles("uniform")), ("3", "drop")])],
        Gradient,
        np.tile(SAME, 2),
    ),
    "ColumnTransformer": (
        [columns((StandardScaler(), [2, 0]), (make_pipeline(PowerTransformer()), [3]))],
        Gradient,
        np.array([2, 0, 3, 1]),
    ),
    "ColumnTransformer drop": (
        [columns((RobustScaler(), [3, 1]), ("passthrough", [0]), remainder="drop")],
        Curvature,
        np.array([3, 1, 0]),
    ),
}


@cache
def fitted(detector, wrapper):
    """Detectors are fitted once, when first asked for, by the global generator some of them use."""
    np.random.seed(0)  # noqa: NPY002
    steps = [
        step if isinstance(step, str) or step is None else clone(step)
        for step in WRAPPERS[wrapper][0]
    ]
    return make_pipeline(*steps, clone(DETECTORS[detector][0])).fit(NORMAL)


@cache
def score_of(detector, wrapper):
    return as_score(fitted(detector, wrapper))


@cache
def score_behind(detector, wrapper):
    """The score of the last step by itself."""
    return as_score(fitted(detector, wrapper)[-1])


def behind(detector, wrapper, X):
    """What comes to the last step."""
    return X if wrapper == "none" else np.asarray(fitted(detector, wrapper)[:-1].transform(X))


def theirs(detector, X):
    """What the library itself says of rows, high = anomalous."""
    if isinstance(detector, (ECOD, COPOD)):  # it counts a row among the rows it comes with
        return np.concatenate([detector.decision_function(X[i : i + 1]) for i in range(len(X))])
    if isinstance(detector, BaseDetector):
        return detector.decision_function(X)
    if hasattr(detector, "inverse_transform"):
        return ((X - detector.inverse_transform(detector.transform(X))) ** 2).sum(axis=1)
    return -detector.score_samples(X)


# Which abilities bring another with them.
BRINGS = {Curvature: Gradient, Additive: Marginals}


def abilities(detector, wrapper):
    """What the score behind the steps should be able to do."""
    _, slope, parts = DETECTORS[detector]
    _, through, sources = WRAPPERS[wrapper]
    parts = parts if isinstance(parts, tuple) else (parts,)
    survive = set() if sources is None else {kind for kind in parts if kind is not None}
    if slope is not None and through is not None:
        survive.add(Gradient if Gradient in (slope, through) else Curvature)
    return survive | {brought for one, brought in BRINGS.items() if one in survive}


def able(*kinds):
    """Detectors behind steps whose score should be able to do this."""
    return [
        (detector, wrapper)
        for detector in DETECTORS
        for wrapper in WRAPPERS
        if any(issubclass(ability, kinds) for ability in abilities(detector, wrapper))
    ]


everything = pytest.mark.parametrize("wrapper", WRAPPERS)
every_detector = pytest.mark.parametrize("detector", DETECTORS)


@every_detector
@everything
def test_the_score_is_the_librarys_own_through_the_pipeline(detector, wrapper):
    expected = theirs(fitted(detector, wrapper)[-1], behind(detector, wrapper, MOVED))
    # PyOD's networks compute in single precision.
    tolerance = 1e-5 if detector == "PyOD AutoEncoder" else 1e-10
    np.testing.assert_allclose(
        score_of(detector, wrapper)(MOVED),
        expected,
        rtol=0,
        atol=tolerance * max(1.0, np.abs(expected).max()),
    )


@every_detector
@everything
def test_what_is_known_of_a_score_survives_the_steps(detector, wrapper):
    score, last = score_of(detector, wrapper), score_behind(detector, wrapper)
    kinds = (Curvature, Distances, Gradient, Additive, Marginals, Products, Trees)
    expected = abilities(detector, wrapper)
    for kind in kinds:
        assert (score.find(kind) is not None) == (kind in expected), kind
    assert (score.threshold, score.unit) == (last.threshold, last.unit)
    # Some of PyOD's detectors know no number of columns, and what does nothing knows none.
    nothing = all(step in ("passthrough", None) for step in WRAPPERS[wrapper][0])
    known = getattr(fitted(detector, wrapper)[-1], "n_features_in_", last.n_features)
    assert score.n_features == (known if nothing else D)


@pytest.mark.parametrize(("detector", "wrapper"), able(Gradient))
def test_the_gradient_equals_differences(detector, wrapper):
    score, scale = score_of(detector, wrapper), NORMAL.std(axis=0)
    value, gradient = score.value_and_grad(MOVED)
    np.testing.assert_allclose(value, score(MOVED), rtol=1e-10)
    differences = np.column_stack(
        [(score(MOVED + move) - score(MOVED - move)) / 2e-4 for move in np.diag(1e-4 * scale)]
    )
    # Differences lose digits where a score is large against its slope.
    rounding = 1e-5 * np.abs(differences).max() + 1e-10 * np.abs(value).max()
    np.testing.assert_allclose(gradient * scale, differences, rtol=0, atol=rounding)


@pytest.mark.parametrize(("detector", "wrapper"), able(Curvature))
def test_a_curved_score_has_the_same_gradient_and_a_curvature_of_every_column(detector, wrapper):
    score = score_of(detector, wrapper)
    _, gradient, regime = score.need(Curvature)(MOVED)
    np.testing.assert_allclose(gradient, score.value_and_grad(MOVED)[1], rtol=1e-12)
    np.testing.assert_array_less(regime, len(score.need(Curvature).matrices))
    np.testing.assert_allclose(
        score.need(Curvature).matrices, np.swapaxes(score.need(Curvature).matrices, 1, 2)
    )
    assert (
        np.linalg.eigvalsh(score.need(Curvature).matrices).min()
        >= -1e-12 * np.abs(score.need(Curvature).matrices).max()
    )


@pytest.mark.parametrize(("detector", "wrapper"), able(Marginals))
def test_marginals_are_those_of_what_the_columns_become(detector, wrapper):
    score, last = score_of(detector, wrapper), score_behind(detector, wrapper)
    sources = WRAPPERS[wrapper][2]
    Z = behind(detector, wrapper, MOVED)
    keep = np.vstack([np.eye(D), np.zeros(D), np.ones(D), [1, 0, 1, 0]]).astype(bool)
    expected = last.need(Marginals).marginal(Z, keep[:, sources])
    np.testing.assert_allclose(
        score.need(Marginals).marginal(MOVED, keep), expected, rtol=1e-9, atol=1e-9
    )
    scale = np.arange(1.0, D + 1)
    if all(name in ("passthrough", None) for name in WRAPPERS[wrapper][0]):
        units = last.need(Marginals).log_units(scale)
        np.testing.assert_array_equal(score.need(Marginals).log_units(scale), units)
    grown = score.need(Marginals).growing(MOVED, keep[-1])
    after = score.need(Marginals).marginal(MOVED, keep[-1] | np.eye(D, dtype=bool)[[1, 3]])
    added = grown.added(np.eye(D, dtype=bool)[[1, 3]])
    np.testing.assert_allclose(added, after, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(("detector", "wrapper"), able(Additive))
def test_the_parts_of_a_sum_are_those_of_what_the_columns_become(detector, wrapper):
    score, last = score_of(detector, wrapper), score_behind(detector, wrapper)
    parts = last.need(Additive).parts(behind(detector, wrapper, MOVED))
    sources = WRAPPERS[wrapper][2]
    for i in range(D):
        np.testing.assert_allclose(
            score.need(Additive).parts(MOVED)[:, i],
            parts[:, sources == i].sum(axis=1),
            rtol=1e-9,
            atol=1e-9,
        )


# What a method needs; all else is taken away. Then how near the answer must be, in parts of the
# row's largest value: rounding only.
METHODS = {
    "KSH": (Ability, 1e-9),
    "wKSH": (Ability, 1e-9),
    "ACE": (Ability, 1e-9),
    "IG": (Gradient, 1e-9),
    "marg": (Marginals, 1e-9),
    "SFE": (Marginals, 1e-7),  # sets that grow step by step round otherwise
}
REST = {
    Ability: (Ability,),
    Gradient: (Curvature, Marginals),
    Marginals: (Gradient, Additive),
}


def less(score, *gone):
    """The score without these abilities, and with marginals that are asked for anew."""
    left = score.without(*gone)
    marginals = left.find(Marginals)
    return left if marginals is None else left.having(replace(marginals, grow=None))


def change(method, detector, wrapper, *gone):
    """Largest change of an attribution without these abilities, in parts of its row's largest."""
    score = score_of(detector, wrapper)
    kept, lost = (
        Explainer(e, NORMAL, method)(MOVED[:2]).values for e in (score, less(score, *gone))
    )
    return float((np.abs(lost - kept).max(axis=1) / np.abs(kept).max(axis=1)).max())


@pytest.mark.parametrize(
    ("method", "detector", "wrapper"),
    [(method, *case) for method, (needs, _) in METHODS.items() for case in able(needs)],
)
def test_an_ability_changes_no_answer(method, detector, wrapper):
    needs, tolerance = METHODS[method]
    assert change(method, detector, wrapper, *REST[needs]) <= tolerance


# The minimiser goes other ways with a gradient and without: what a search finds is near, what
# descent finds without the curvature is the same minimum, and it asks for no marginals.
SLOWER = {Curvature: 1e-6, Gradient: 0.01, Marginals: 1e-9}
MINIMISERS = {"ASH": "ASH", "v̂": ASH(LocalMinimum()), "comp": "comp"}
# Detectors with several kinds of ability behind the distinct kinds of steps, and others behind one.
MINIMISING = ("GaussianMixture", "PCA", "PyOD ECOD", "KernelDensity")
MINIMISING_SCALED = (
    "PyOD KDE",
    "BayesianGaussianMixture",
    "EllipticEnvelope",
    "IncrementalPCA",
    "FastICA",
    "TruncatedSVD",
    "OneClassSVM rbf",
    "OneClassSVM linear",
    "SGDOneClassSVM",
    "PyOD COPOD",
    "PyOD PCA",
    "PyOD OCSVM",
    "PyOD GMM",
    "PyOD MCD",
    "GMM",
    "VAE",
)
MINIMISING_BEHIND = (
    "none",
    "StandardScaler",
    "MinMaxScaler",
    "MinMaxScaler clip",
    "RobustScaler",
    "PowerTransformer",
    "QuantileTransformer uniform",
    "QuantileTransformer normal",
    "PolynomialFeatures",
    "PCA",
    "PCA whiten",
    "FunctionTransformer arcsinh",
    "SimpleImputer",
    "passthrough first",
    "FeatureUnion",
    "ColumnTransformer",
)
MINIMISED = [
    (ability, detector, wrapper)
    for ability in SLOWER
    for detector, wrapper in able(ability)
    if (detector in MINIMISING and wrapper in MINIMISING_BEHIND)
    or (detector in MINIMISING_SCALED and wrapper == "StandardScaler")
]


@pytest.mark.parametrize(
    ("method", "ability", "detector", "wrapper"),
    [(method, *case) for method in MINIMISERS for case in MINIMISED],
)
def test_an_ability_changes_no_minimum(method, ability, detector, wrapper):
    assert change(MINIMISERS[method], detector, wrapper, ability) <= SLOWER[ability]


# A mixture behind each step, which may hide a part of the rows from it: KSH tells what is left.
CULPRIT_BEHIND = (
    "StandardScaler",
    "MinMaxScaler",
    "MinMaxScaler clip",
    "RobustScaler",
    "PowerTransformer",
    "PolynomialFeatures",
    "PCA whiten",
    "FunctionTransformer arcsinh",
    "SimpleImputer",
    "passthrough first",
    "ColumnTransformer",
)
WIDE = rows(400, d=5)
STRANGE = rows(15, d=5, seed=1)
CULPRITS = np.arange(15) % 5


@cache
def culprit_first(method, wrapper, deviations):
    """Share of rows whose culprit comes first."""
    steps = [
        step if isinstance(step, str) or step is None else clone(step)
        for step in WRAPPERS[wrapper][0]
    ]
    pipeline = make_pipeline(*steps, GaussianMixture(2, random_state=0)).fit(WIDE)
    moved = STRANGE.copy()
    moved[np.arange(15), CULPRITS] += deviations * WIDE.std(axis=0)[CULPRITS]
    values = Explainer(pipeline, WIDE, MINIMISERS.get(method, method))(moved).values
    return (values.argmax(axis=1) == CULPRITS).mean()


@pytest.mark.parametrize("deviations", [4, 6, 10])
@pytest.mark.parametrize("wrapper", CULPRIT_BEHIND)
@pytest.mark.parametrize("method", ["ASH", "comp"])
def test_the_culprit_comes_first_as_without_the_steps(method, wrapper, deviations):
    visible = culprit_first("KSH", wrapper, deviations)
    expected = min(visible, culprit_first(method, "none", deviations))
    assert culprit_first(method, wrapper, deviations) >= expected
