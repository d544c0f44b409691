"""PyOD's detectors, crossed with what must hold of their scores."""

import random

import numpy as np
import pytest
import torch
from pyod.models.ae1svm import AE1SVM
from pyod.models.alad import ALAD
from pyod.models.anogan import AnoGAN
from pyod.models.auto_encoder import AutoEncoder
from pyod.models.base import BaseDetector
from pyod.models.cblof import CBLOF
from pyod.models.cof import COF
from pyod.models.copod import COPOD
from pyod.models.deep_svdd import DeepSVDD
from pyod.models.devnet import DevNet
from pyod.models.ecod import ECOD
from pyod.models.gmm import GMM
from pyod.models.hbos import HBOS
from pyod.models.iforest import IForest
from pyod.models.kde import KDE
from pyod.models.knn import KNN
from pyod.models.lof import LOF
from pyod.models.mcd import MCD
from pyod.models.mo_gaal import MO_GAAL
from pyod.models.ocsvm import OCSVM
from pyod.models.pca import PCA
from pyod.models.rod import ROD
from pyod.models.so_gaal import SO_GAAL
from pyod.models.vae import VAE
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

from planted import (
    CULPRITS,
    HELD_OUT,
    NORMAL,
    PLANTED,
    assert_gradient_equals_differences,
    assert_unchanged_by_explaining,
    found,
)
from whyflag import Explainer, as_score
from whyflag.score import Gradient, Marginals

SCALER = StandardScaler().fit(NORMAL)

ANALYTIC = {
    "GMM": GMM(n_components=2, random_state=0),
    "KDE": KDE(bandwidth=2.0, leaf_size=1000),
    "MCD": MCD(random_state=0),
    "OCSVM": OCSVM(nu=0.05),
    "PCA": PCA(random_state=0),
    "PCA, its own units": PCA(standardization=False, random_state=0),
}
EXACT = {"COPOD": COPOD(), "ECOD": ECOD()}
SEARCHED = {
    "CBLOF": CBLOF(random_state=0),
    "HBOS": HBOS(),
    "IForest": IForest(random_state=0),
    "KNN": KNN(),
    "LOF": LOF(),
}
QUIET = {"verbose": 0}
NETWORKS = {
    "AutoEncoder": AutoEncoder(epoch_num=15, random_state=0, **QUIET),
    "AutoEncoder, its own units": AutoEncoder(preprocessing=False, random_state=0, **QUIET),
    "DeepSVDD": DeepSVDD(8, random_state=0, **QUIET),
    "DeepSVDD with decoder": DeepSVDD(
        8, use_ae=True, hidden_neurons=[6, 4], epochs=10, random_state=0, **QUIET
    ),
    "AE1SVM": AE1SVM(epochs=20),
    "ALAD": ALAD(epochs=3, **QUIET),
    "SO_GAAL": SO_GAAL(stop_epochs=2),
    "MO_GAAL": MO_GAAL(stop_epochs=2),
}

# Detectors of standardised rows: these do not standardise by themselves.
BARE = {
    "GMM",
    "KDE",
    "OCSVM",
    "PCA, its own units",
    *EXACT,
    *SEARCHED,
    "AutoEncoder, its own units",
    "ALAD",
    "SO_GAAL",
    "MO_GAAL",
}
# Too few rounds of training for these to tell a planted row from a normal one.
UNTRAINED = {"ALAD", "SO_GAAL", "MO_GAAL", "DeepSVDD with decoder"}


@pytest.fixture(scope="module")
def fitted():
    """Detectors are fitted once, when first asked for, by the global generators they use."""
    cache = {}

    def get(name):
        if name not in cache:
            random.seed(0)
            np.random.seed(0)  # noqa: NPY002
            torch.manual_seed(0)
            detector = {**ANALYTIC, **EXACT, **SEARCHED, **NETWORKS}[name]
            detector.fit(rows_for(name, NORMAL))  # networks return nothing before PyOD 3.6.6
            cache[name] = detector
        return cache[name]

    return get


def rows_for(name, rows):
    return SCALER.transform(rows) if name in BARE else rows


def alone(detector, rows):
    return np.array([detector.decision_function(rows[i : i + 1])[0] for i in range(len(rows))])


@pytest.mark.parametrize("name", [*ANALYTIC, *EXACT, *SEARCHED])
def test_the_score_is_the_detectors_own_for_each_row_alone(fitted, name):
    detector = fitted(name)
    rows = rows_for(name, np.vstack([HELD_OUT[:20], PLANTED[:20]]))
    expected = alone(detector, rows)
    tolerance = 1e-10 * max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(as_score(detector)(rows), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("name", [name for name in NETWORKS if name != "ALAD"])
def test_a_networks_score_is_its_own_up_to_single_precision(fitted, name):
    detector = fitted(name)
    rows = rows_for(name, np.vstack([HELD_OUT, PLANTED]))
    score = as_score(detector)
    np.testing.assert_allclose(score(rows), detector.decision_function(rows), rtol=1e-4, atol=1e-6)


@pytest.mark.filterwarnings("ignore:To copy construct from a tensor")  # DevNet's own
@pytest.mark.parametrize("name", ["AnoGAN", "DevNet"])
def test_networks_that_are_slow_or_supervised(name):
    torch.manual_seed(0)
    rows = SCALER.transform(NORMAL[:40])
    if name == "AnoGAN":
        detector = AnoGAN(epochs=1, epochs_query=1, **QUIET).fit(rows)
    else:
        detector = DevNet(epochs=1, known_outliers=5).fit(rows, np.arange(40) < 5)
    score = as_score(detector)
    own = detector.decision_function(rows)
    np.testing.assert_allclose(score(rows), own, rtol=1e-4, atol=1e-5)
    # AnoGAN's threshold is of scores of a network that was still being fitted.
    assert (score.threshold is None) == (name == "AnoGAN")
    # With a thousand rectifiers there is a kink within every step of a difference.
    assert_gradient_equals_differences(score, rows[:10], rtol=0.02, mismatches=0.05)


def test_a_network_that_scores_with_dropout_on_is_frozen(fitted):
    """ALAD never leaves training mode, so its own scores are random."""
    detector = fitted("ALAD")
    rows = rows_for("ALAD", PLANTED)
    own = detector.decision_function(rows), detector.decision_function(rows)
    assert not np.allclose(*own, rtol=1e-3)
    np.testing.assert_array_equal(as_score(detector)(rows), as_score(detector)(rows))


def test_a_vae_is_scored_at_the_mean_of_its_latent_draw():
    detector = VAE(epoch_num=10, random_state=0, **QUIET)
    detector.fit(NORMAL)
    score = as_score(detector)(PLANTED)
    draws = np.array([detector.decision_function(PLANTED) for _ in range(100)])
    assert (draws.std(axis=0) > 0).any()
    # The distance from a mean is no more than the mean of distances, and close to it here.
    np.testing.assert_allclose(score, draws.mean(axis=0), rtol=0.05)
    assert found(detector, n=20) >= 0.9


@pytest.mark.parametrize("name", [*ANALYTIC, *NETWORKS])
def test_the_gradient_equals_finite_differences(fitted, name):
    score = as_score(fitted(name))
    assert score.find(Gradient) is not None
    # Rectifiers have kinks, at which a difference and a gradient rightly differ.
    kinks = 0.05 if name in NETWORKS else 0.0
    assert_gradient_equals_differences(score, rows_for(name, PLANTED[:10]), mismatches=kinks)


@pytest.mark.parametrize("name", [*ANALYTIC, *EXACT, *SEARCHED, *NETWORKS])
def test_explaining_does_not_change_the_detector(fitted, name):
    assert_unchanged_by_explaining(fitted(name))


@pytest.mark.parametrize("name", [name for name in (*ANALYTIC, *NETWORKS) if name not in UNTRAINED])
def test_a_smooth_detectors_culprit_comes_first(fitted, name):
    assert found_in(fitted, name, 60 if name in ANALYTIC else 20) >= 0.9


@pytest.mark.parametrize("name", [*EXACT, *SEARCHED])
def test_the_culprit_comes_first_without_a_gradient(fitted, name):
    assert found_in(fitted, name, 20) >= 0.8


def found_in(fitted, name, n):
    explain = Explainer(fitted(name), rows_for(name, NORMAL))
    values = explain(rows_for(name, PLANTED[:n])).values
    return (values.argmax(axis=1) == CULPRITS[:n]).mean()


@pytest.mark.parametrize("name", [*ANALYTIC, *EXACT, "KNN", "AutoEncoder"])
def test_the_threshold_is_the_detectors_own(fitted, name):
    attribution = Explainer(fitted(name), rows_for(name, NORMAL))(rows_for(name, PLANTED[:4]))
    assert attribution.threshold == fitted(name).threshold_
    np.testing.assert_allclose(attribution.excess, attribution.scores - attribution.threshold)


def test_a_threshold_of_other_scores_is_made_anew_of_those_of_normal_rows(fitted):
    """ALAD's own scores are with dropout."""
    detector, rows = fitted("ALAD"), rows_for("ALAD", NORMAL)
    explain = Explainer(detector, rows)
    scores = explain.score(rows)
    assert explain.score.threshold == np.quantile(scores, 1 - detector.contamination)
    assert (scores > explain.score.threshold).mean() == pytest.approx(0.1, abs=0.005)
    assert as_score(detector).threshold is None
    assert Explainer(detector, rows, threshold=3.0).score.threshold == 3.0


@pytest.mark.filterwarnings("ignore:Precision loss")  # SciPy's, in PyOD, for constant columns
@pytest.mark.parametrize("detector", [ECOD, COPOD])
@pytest.mark.parametrize("kind", ["ties", "constant", "skewed", "one column", "two rows"])
def test_tails_are_exact_whatever_the_column(detector, kind):
    rng = np.random.default_rng(0)
    training = {
        "ties": rng.integers(3, size=(50, 4)).astype(float),
        "constant": np.column_stack([np.full(50, 0.1), rng.normal(size=50)]),
        "skewed": rng.exponential(size=(50, 3)) * [1, -1, 1e6] + [0, 0, 1e9],
        "one column": rng.normal(size=(50, 1)),
        "two rows": rng.normal(size=(2, 3)),
    }[kind]
    detector = detector().fit(training)
    beyond = training[:10] + rng.normal(size=training[:10].shape) * 3
    rows = np.vstack([training[:10], beyond])
    score = as_score(detector)
    np.testing.assert_allclose(score(rows), alone(detector, rows), rtol=1e-10)
    assert score.find(Marginals) is not None
    parts = score.need(Marginals).marginal(rows, np.eye(training.shape[1], dtype=bool))
    np.testing.assert_allclose(parts.sum(axis=1), score(rows))


@pytest.mark.parametrize(
    ("detector", "message"),
    [(ROD(), "depends on the other rows"), (COF(), "fails on a row alone: IndexError")],
    ids=["ROD", "COF"],
)
def test_what_has_no_score_for_a_row_by_itself_is_refused(detector, message):
    detector.fit(NORMAL[:200, :3])
    with pytest.raises(ValueError, match=message):
        Explainer(detector, NORMAL[:200, :3])


def test_an_unfitted_detector_is_refused():
    with pytest.raises(NotFittedError, match="KNN must be fitted"):
        as_score(KNN())


def test_a_detector_of_ones_own_with_a_known_name_is_taken_at_its_word():
    class GMM(BaseDetector):  # not PyOD's
        def __init__(self):
            super().__init__()

        def fit(self, X, y=None):
            self.decision_scores_ = self.decision_function(X)
            self._process_decision_scores()
            return self

        def decision_function(self, X):
            return np.abs(X).sum(axis=1)

    score = as_score(GMM().fit(NORMAL))
    assert score.find(Gradient) is None
    np.testing.assert_array_equal(score(PLANTED), np.abs(PLANTED).sum(axis=1))
