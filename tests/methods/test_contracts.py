"""Every method crossed with every contract, on every kind of score."""

import tracemalloc
from functools import cache

import numpy as np
import pandas as pd
import pytest
import torch
from pyod.models.auto_encoder import AutoEncoder
from pyod.models.ecod import ECOD
from pyod.models.knn import KNN
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.svm import OneClassSVM

from benchmarks.worlds import random_mixture
from helpers import assert_same_rows
from whyflag import Domain, Explainer, as_score
from whyflag.attribution import concatenate
from whyflag.detectors import DAGMM, GMM, VAE
from whyflag.games import LocalMinimum, NeighborhoodMinimum, RelaxedMinimum
from whyflag.methods import ACE, ASH, COMP, IG, KSH, MARG, METHODS, NEAR, SFE, WKSH
from whyflag.score import Additive, Score
from whyflag.score.additive import of_parts
from whyflag.score.mixture import MixtureEnergy
from whyflag.shapley import Exact

CONFIGURED = {
    "marg": MARG(),
    "SFE": SFE(),
    "ACE": ACE(),
    "ACE-KL": ACE(kl=50.0),
    "IG": IG(),
    "KSH": KSH(),
    "KSH exact": KSH(n_references=3, solver=Exact()),
    "wKSH": WKSH(),
    "comp": COMP(),
    "near": NEAR(),
    "ASH": ASH(),
    "ASH local": ASH(LocalMinimum()),
    "ASH neighborhood": ASH(NeighborhoodMinimum()),
    "ASH exact": ASH(RelaxedMinimum(gamma=0.1), solver=Exact()),
}
NOT_ADDITIVE = ("marg", "ACE", "comp")  # marg is, if the score is
MINIMISERS = ("comp", "ASH")  # what is normal, they find by minimising

D = 4
ENERGY = random_mixture(D, 3, 10.0, seed=5)
NORMAL = np.random.default_rng(0).normal(size=(100, D)) * [1.0, 2.0, 0.5, 1.5]
X = np.random.default_rng(1).normal(size=(7, D)) * 2


def sum_of(parts):
    """Not a density, and nothing to be differentiated: a sum of parts."""
    return Score(lambda X: parts(X).sum(axis=1), of_parts(parts))


KINDS = {
    "curved": ENERGY,
    "gradient": as_score(lambda X: ENERGY(X), lambda X: ENERGY.value_and_grad(X)[1]),
    "search": as_score(lambda X: ENERGY(X)),
    "additive": sum_of(lambda X: X**2 * [1.0, 0.5, 3.0, 1.0]),
}


FAMILIES = {
    "GMM": lambda: GMM(random_state=0),
    "VAE": lambda: VAE(latent=2, hidden=8, max_updates=200, random_state=0),
    "DAGMM": lambda: DAGMM(max_updates=200, random_state=0),
    "IsolationForest": lambda: IsolationForest(n_estimators=20, random_state=0),
    "LocalOutlierFactor": lambda: LocalOutlierFactor(novelty=True),
    "KernelDensity": lambda: KernelDensity(bandwidth=0.5),
    "OneClassSVM": lambda: OneClassSVM(nu=0.1),
    "PCA": lambda: PCA(2),
    "PyOD KNN": lambda: KNN(),
    "PyOD ECOD": lambda: ECOD(),
    "PyOD AutoEncoder": lambda: AutoEncoder(
        epoch_num=3, hidden_neuron_list=[8, 2], random_state=0, verbose=0
    ),
    "PyTorch, single precision": lambda: Network(),
}
# Values moved by a little, by much, and out of all proportion.
MOVED = NORMAL[:12].copy()
MOVED[np.arange(12), np.arange(12) % D] += (
    np.resize([-2.0, 4.0, 20.0, -1e4], 12) * NORMAL.std(axis=0)[np.arange(12) % D]
)


class Network(torch.nn.Sequential):
    """A module that needs no fit."""

    def __init__(self):
        torch.manual_seed(0)
        super().__init__(torch.nn.Linear(D, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))

    def fit(self, rows):
        return self


@cache
def score_of_family(family):
    detector = FAMILIES[family]()
    detector.fit(NORMAL)  # networks return nothing before PyOD 3.6.6
    return as_score(detector, n_features=D)


def pytest_generate_tests(metafunc):
    """Every method with every kind of score that it takes."""
    if {"method", "score"} <= set(metafunc.fixturenames):
        cases = {
            f"{name}, {kind}": (method, score)
            for name, method in CONFIGURED.items()
            for kind, score in KINDS.items()
            if method.applies_to(score)
        }
        metafunc.parametrize(("method", "score"), list(cases.values()), ids=list(cases))
    elif "method" in metafunc.fixturenames:
        metafunc.parametrize("method", list(CONFIGURED.values()), ids=list(CONFIGURED))


def tolerance(score):
    return 1e-6 if score in (KINDS["curved"], KINDS["gradient"]) else 1e-4


def explain(score, method, domain=None, background=NORMAL):
    return Explainer(score, background, method, domain=domain)


def assert_adds_up(attribution):
    """To rounding; integrals to the tolerance that they were asked for."""
    tolerance = attribution.settings["tolerance"] if attribution.method == "IG" else 1e-12
    atol = tolerance * np.abs(attribution.values).sum(axis=1) + 1e-10
    assert (np.abs(attribution.unexplained) <= atol).all()


def test_every_method_is_in_the_table():
    assert {method.name for method in CONFIGURED.values()} == set(METHODS)


def test_same_seed_same_bits(method, score):
    one, other = explain(score, method)(X), explain(score, method)(X)
    np.testing.assert_array_equal(one.values, other.values)


def test_input_is_unchanged(method, score):
    rows, background = X.copy(), NORMAL.copy()
    attribution = Explainer(score, background, method)(rows)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(background, NORMAL)
    rows[:] = 0
    np.testing.assert_array_equal(attribution.data, X)


def test_a_row_alone_is_the_row_in_a_batch(method, score):
    explainer = explain(score, method)
    alone = concatenate([explainer(X[[i]]) for i in range(len(X))])
    assert_same_rows(alone, explainer(X))
    assert_same_rows(explainer(np.vstack([NORMAL[:20], X]))[20:], alone)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", METHODS)
def test_a_row_alone_is_the_row_in_a_batch_of_every_family(name, family):
    score = score_of_family(family)
    if not METHODS[name]().applies_to(score):
        pytest.skip(f"{name} does not take it")
    explainer = explain(score, name)
    rows = np.vstack([X[:3], MOVED])
    alone = concatenate([explainer(rows[[i]]) for i in range(len(rows))])
    assert_same_rows(explainer(np.vstack([NORMAL[:8], rows]))[8:], alone)
    few = concatenate([explainer(rows[i : i + 6]) for i in range(0, len(rows), 6)])
    assert_same_rows(few, alone)


def test_normal_rows_may_stand_in_any_order(method, score):
    other = np.random.default_rng(3).permutation(len(NORMAL))
    assert_same_rows(explain(score, method, background=NORMAL[other])(X), explain(score, method)(X))


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if not method.needs])
def test_rows_that_are_as_far_out_may_stand_in_any_order_too(name):
    rng = np.random.default_rng(4)
    kinds = np.eye(3)[rng.integers(3, size=400)]
    rows = np.hstack([kinds, rng.integers(4, size=(400, 2)).astype(float)])
    odd, other = rows[:5] + np.array([0, 0, 0, 0, 5.0]), rng.permutation(400)
    forest = IsolationForest(n_estimators=20, random_state=0).fit(rows)
    one, two = (Explainer(forest, some, name)(odd) for some in (rows, rows[other]))
    assert_same_rows(two, one)
    np.testing.assert_allclose(two.repair.rows, one.repair.rows, atol=1e-9)


@pytest.mark.parametrize("chunk_size", [1, 2, 5])
def test_chunks_do_not_change_the_result(method, score, chunk_size):
    whole = Explainer(score, NORMAL, method)(X)
    chunked = Explainer(score, NORMAL, method, chunk_size=chunk_size)(X)
    assert_same_rows(chunked, whole)
    np.testing.assert_allclose(chunked.base_values, whole.base_values, atol=tolerance(score))
    if whole.reference is not None:
        np.testing.assert_allclose(chunked.reference, whole.reference, atol=tolerance(score))


def test_values_of_additive_methods_sum_to_the_gap(method, score):
    attribution = explain(score, method)(X)
    np.testing.assert_allclose(attribution.scores, score(X))
    if attribution.additive:
        assert_adds_up(attribution)
    else:
        assert method.name in NOT_ADDITIVE
        assert method.name != "marg" or score.find(Additive) is None


def test_the_base_value_is_the_score_of_the_reference(method, score):
    attribution = explain(score, method)(X)
    if attribution.reference is not None:
        at_reference = score(attribution.reference)
        np.testing.assert_allclose(attribution.base_values, at_reference, atol=1e-9)
    assert attribution.converged is None or attribution.converged.all()
    if method.name in MINIMISERS:
        assert (attribution.base_values <= attribution.scores).all()


def symmetric(X):
    """Features 0 and 1 count alike; feature 3 not at all."""
    total = X[:, 0] + X[:, 1]
    return total**2 + (X[:, 0] - X[:, 1]) ** 2 / 2 + total * X[:, 2] / 2 + X[:, 2] ** 2


def symmetric_gradient(X):
    total, difference = X[:, 0] + X[:, 1], X[:, 0] - X[:, 1]
    common = 2 * total + X[:, 2] / 2
    return np.column_stack(
        [
            common + difference,
            common - difference,
            total / 2 + 2 * X[:, 2],
            np.zeros(len(X)),
        ]
    )


SYMMETRIC_ROWS = np.array([[3.0, 3.0, 1.0, 8.0], [-2.0, -2.0, 4.0, 0.1]])
SYMMETRIC_NORMAL = NORMAL[:, [0, 0, 2, 3]]
GRADIENTS = {"search": None, "gradient": symmetric_gradient}


SYMMETRIC_SCORES = {
    "search": as_score(symmetric),
    "gradient": as_score(symmetric, symmetric_gradient),
    "density": MixtureEnergy(
        np.zeros(1), np.zeros((1, D)), np.full((1, D, D), 0.3) + np.eye(D)
    ).to_score(),
}
# SFE has to put one of the two first.
FAIR = [
    (method, score)
    for method in CONFIGURED.values()
    for score in SYMMETRIC_SCORES
    if method.applies_to(SYMMETRIC_SCORES[score]) and method.name != "SFE"
]


@pytest.mark.parametrize(("fair", "kind"), FAIR)
def test_symmetric_features_get_equal_shares(fair, kind):
    score = SYMMETRIC_SCORES[kind]
    values = explain(score, fair, Domain(D), SYMMETRIC_NORMAL)(SYMMETRIC_ROWS).values
    # ACE draws its neighbours, a search goes one column at a time.
    atol = 0.05 if fair.name == "ACE" else 1e-4 if kind == "search" else 1e-6
    np.testing.assert_allclose(values[:, 0], values[:, 1], atol=atol)
    assert (np.abs(values[:, :2]) > 1e-3).all()


@pytest.mark.parametrize("gradient", GRADIENTS)
@pytest.mark.parametrize(
    "configured",
    [
        ASH(NeighborhoodMinimum()),
        ASH(LocalMinimum(gamma=0.0)),
        COMP(),
        COMP(gamma=0.0),
        KSH(),
        WKSH(),
        NEAR(),
    ],
    ids=["ASH neighborhood", "ASH local", "comp", "comp, γ = 0", "KSH", "wKSH", "near"],
)
def test_an_ignored_feature_gets_zero(configured, gradient):
    score = as_score(symmetric, GRADIENTS[gradient])
    values = explain(score, configured, Domain(D))(SYMMETRIC_ROWS).values
    np.testing.assert_allclose(values[:, 3], 0.0, atol=1e-9)


def test_integrated_gradients_give_an_ignored_feature_zero():
    values = explain(as_score(symmetric, symmetric_gradient), IG())(SYMMETRIC_ROWS).values
    np.testing.assert_array_equal(values[:, 3], 0.0)


def test_the_penalty_hardly_moves_an_ignored_feature_from_zero():
    """γ/|Sᶜ| counts every absent feature, an ignored one too, so the paper's v̂ has a trace of γ."""
    score = as_score(symmetric, symmetric_gradient)
    traces = []
    for gamma in (0.01, 0.001):
        method = ASH(LocalMinimum(gamma=gamma))
        values = Explainer(score, domain=Domain(D), method=method)(SYMMETRIC_ROWS).values
        traces.append(values[:, 3])
    assert (np.abs(traces[0]) < 1e-5 * symmetric(SYMMETRIC_ROWS)).all()
    np.testing.assert_allclose(traces[1], 0.01 * traces[0], rtol=0.05)  # of second order in γ


def test_the_relaxation_gives_an_ignored_feature_zero_where_features_do_not_interact():
    weights = np.array([1.0, 2.0, 0.5, 0.0])
    score = as_score(lambda X: X**2 @ weights, lambda X: 2 * X * weights)
    method = ASH(RelaxedMinimum(gamma=0.0))
    values = Explainer(score, domain=Domain(D), method=method)(SYMMETRIC_ROWS).values
    np.testing.assert_allclose(values[:, 3], 0.0, atol=1e-9)


def test_the_relaxation_moves_an_ignored_feature_from_zero_where_features_interact():
    """v̲ averages x*(∅) with x*({i}), i in S: an ignored i adds x*(∅) once more. See the docs."""
    score = as_score(symmetric, symmetric_gradient)
    method = ASH(RelaxedMinimum(gamma=0.0))
    values = Explainer(score, domain=Domain(D), method=method)(SYMMETRIC_ROWS).values
    share = np.abs(values[:, 3]) / np.abs(values).max(axis=1)
    assert (share > 1e-3).all()
    assert (share < 0.2).all()


def test_permuting_and_renaming_columns_only_permutes_the_result(method, score):
    order = np.array([2, 0, 3, 1])
    names = np.array(["a", "b", "c", "d"])
    plain = explain(score, method)(X)
    background = pd.DataFrame(NORMAL[:, order], columns=names[order])
    permuted = explain(permuted_score(score, order), method, background=background)(
        pd.DataFrame(X[:, order], columns=names[order])
    )
    assert permuted.feature_names == tuple(names[order])
    # ACE's neighbours are drawn anew for permuted columns.
    atol = 0.05 if method.name == "ACE" else tolerance(score)
    np.testing.assert_allclose(permuted.values, plain.values[:, order], atol=atol)


def permuted_score(score, order):
    back = np.argsort(order)
    if score is KINDS["curved"]:
        return MixtureEnergy(
            ENERGY.function.log_weights,
            ENERGY.function.means[:, order],
            ENERGY.function.covariances[:, order][:, :, order],
        ).to_score()
    if score is KINDS["additive"]:
        return sum_of(lambda X: score.need(Additive).parts(X[:, back])[:, order])
    gradient = None
    if score is KINDS["gradient"]:

        def gradient(X):
            return score.value_and_grad(X[:, back])[1][:, order]

    return as_score(lambda X: score(X[:, back]), gradient)


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_the_units_of_a_column_do_not_matter(method, score, factor):
    """A column in millimetres contributes as much as the same column in metres."""
    units = np.array([1.0, factor, 1.0, 1.0])
    plain = explain(score, method)(X)
    other = explain(score_in(score, units), method, background=NORMAL * units)(X * units)
    scale = np.abs(plain.values).max()
    # k-means and searches may take another turn when the last digit differs.
    np.testing.assert_allclose(other.values, plain.values, atol=1e-3 * scale)


def score_in(score, units):
    if score is KINDS["curved"]:
        spread = units
        return MixtureEnergy(
            ENERGY.function.log_weights,
            ENERGY.function.means,
            ENERGY.function.covariances,
            np.zeros(D),
            spread,
        ).to_score()
    if score is KINDS["additive"]:
        return sum_of(lambda X: score.need(Additive).parts(X / units))
    gradient = None
    if score is KINDS["gradient"]:

        def gradient(X):
            return score.value_and_grad(X / units)[1] / units

    return as_score(lambda X: score(X / units), gradient)


def test_players_of_one_column_each_equal_no_players(method, score):
    plain = explain(score, method, Domain(D))(X)
    single = Domain(D, players={f"player {i}": [i] for i in range(D)})
    players = explain(score, method, single)(X)
    np.testing.assert_array_equal(players.values, plain.values)
    assert players.feature_names == tuple(f"player {i}" for i in range(D))


def test_a_group_is_one_player(method, score):
    attribution = explain(score, method, Domain(D, players={"pair": [1, 3]}))(X)
    assert attribution.values.shape == (len(X), 3)
    assert attribution.feature_names == ("x0", "pair", "x2")
    if attribution.additive:
        assert_adds_up(attribution)


def test_a_fixed_column_gets_nothing(method, score):
    attribution = explain(score, method, Domain(D, fixed=[1]))(X)
    np.testing.assert_allclose(attribution.values[:, 1], 0.0, atol=1e-9)
    assert (attribution.values[:, [0, 2, 3]] != 0).any()
    if attribution.reference is not None:
        np.testing.assert_array_equal(attribution.reference[:, 1], X[:, 1])


def test_a_normal_that_raises_the_alarm_is_said(method, score):
    """The culprit may not move. marg and SFE call nothing normal, and have nothing to say."""
    rows = X + np.array([0.0, 30.0, 0.0, 0.0])
    alarm = as_score(score, threshold=float(score(NORMAL).max()))
    attribution = explain(alarm, method, Domain(D, fixed=[1]))(rows)
    assert attribution.flagged.all()
    said = not isinstance(method, MARG | SFE)
    assert attribution.still_alarming.tolist() == [said] * len(rows)
    free = explain(alarm, method)(rows)
    assert not free.still_alarming.any() or method == ASH(NeighborhoodMinimum())


ONE_FEATURE = {
    "gradient": as_score(lambda X: X[:, 0] ** 2, lambda X: 2 * X),
    "density": MixtureEnergy(np.zeros(1), np.zeros((1, 1)), np.ones((1, 1, 1))).to_score(),
}


@pytest.mark.parametrize("only", ONE_FEATURE)
def test_one_feature_gets_everything(method, only):
    score = ONE_FEATURE[only]
    if not method.applies_to(score):
        score = ONE_FEATURE["density"]
    attribution = explain(score, method, Domain(1), background=NORMAL[:, :1])([[3.0]])
    if attribution.additive:
        assert_adds_up(attribution)
    assert attribution.values[0, 0] > 0.9


def test_binary_columns_stay_between_0_and_1(method, score):
    domain = Domain(D, binary=[0, 2])
    rows, background = X.copy(), NORMAL.copy()
    rows[:, [0, 2]] = rows[:, [0, 2]] > 0
    background[:, [0, 2]] = background[:, [0, 2]] > 0
    attribution = explain(score, method, domain, background)(rows)
    assert np.isfinite(attribution.values).all()
    if attribution.reference is not None:
        bits = attribution.reference[:, [0, 2]]
        assert ((bits >= 0) & (bits <= 1)).all()
        if method.name in MINIMISERS and score is KINDS["search"]:
            assert np.isin(bits, [0, 1]).all()


@pytest.mark.parametrize("chooser", [KSH(), WKSH(), ACE()], ids=["KSH", "wKSH", "ACE"])
def test_only_values_that_binary_columns_have_are_asked_for(chooser):
    """Where references or neighbours are chosen; the origin of ACE is the mean."""
    asked = []

    def score(X):
        asked.append(X[:, 0])
        return ENERGY(X)

    background = NORMAL.copy()
    background[:, 0] = background[:, 0] > 0
    rows = X.copy()
    rows[:, 0] = rows[:, 0] > 0
    explain(as_score(score), chooser, Domain(D, binary=[0]), background)(rows)
    values = np.unique(np.concatenate(asked))
    allowed = {0.0, 1.0} | ({background[:, 0].mean()} if chooser.name == "ACE" else set())
    assert set(values.tolist()) <= allowed


def test_constant_columns_are_no_trouble(method, score):
    background, rows = NORMAL.copy(), X.copy()
    background[:, 2] = 5.0
    rows[:4, 2] = 5.0
    attribution = explain(score, method, background=background)(rows)
    assert np.isfinite(attribution.values).all()


def test_a_row_that_is_the_mean_of_the_background(method, score):
    explainer = explain(score, method)
    attribution = explainer(explainer.prepared.rows.mean(axis=0, keepdims=True))
    assert np.isfinite(attribution.values).all()
    if method.name == "IG":
        np.testing.assert_array_equal(attribution.values, 0.0)
    if attribution.additive:
        assert_adds_up(attribution)


def test_a_background_of_one_row(method, score):
    attribution = explain(score, method, Domain(D), NORMAL[:1])(X)
    assert np.isfinite(attribution.values).all()


@pytest.mark.parametrize("name", METHODS)
def test_ten_thousand_rows_in_bounded_memory(name):
    """Beyond what goes in and comes out, memory does not grow with the number of rows."""
    d = 3
    energy = random_mixture(d, 2, 10.0, seed=1)
    background = np.random.default_rng(0).normal(size=(200, d))
    explainer = explain(energy, name, background=background)
    rows = np.random.default_rng(2).normal(size=(10_000, d)) * 2
    explainer(rows[:10])
    tracemalloc.start()
    attribution = explainer(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    held = sum(array.nbytes for array in vars(attribution).values() if hasattr(array, "nbytes"))
    assert attribution.values.shape == (10_000, d)
    assert peak < 4 * held + 60e6


NEEDY = [method for method in CONFIGURED.values() if method.needs_background]


@pytest.mark.parametrize("needy", NEEDY, ids=[method.name for method in NEEDY])
def test_a_method_that_needs_background_rows_says_so(needy):
    with pytest.raises(ValueError, match=rf"{needy.name} needs normal rows as `background`, got"):
        Explainer(ENERGY, domain=Domain(D), method=needy)


@pytest.mark.parametrize(
    ("needy", "ability"),
    [(MARG(), "of any part"), (SFE(), "of any part"), (IG(), "with a gradient")],
    ids=["marg", "SFE", "IG"],
)
def test_a_score_that_can_not_do_what_a_method_needs_is_refused_naming_both(needy, ability):
    with pytest.raises(TypeError, match=rf"{needy.name} needs a score {ability}.* got <lambda>"):
        explain(KINDS["search"], needy)
