"""Every method crossed with every contract, on every kind of score."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.worlds import random_mixture
from whyflag import Domain, Explainer, as_score
from whyflag.methods import ASH, COMP, METHODS
from whyflag.shapley import Exact

CONFIGURED = {
    "ASH": ASH(),
    "ASH local": ASH(game="local"),
    "ASH neighborhood": ASH(game="neighborhood"),
    "ASH exact": ASH(gamma=0.1, solver=Exact()),
    "comp": COMP(),
}

D = 4
ENERGY = random_mixture(D, 3, 10.0, seed=5)
NORMAL = np.random.default_rng(0).normal(size=(100, D)) * [1.0, 2.0, 0.5, 1.5]
X = np.random.default_rng(1).normal(size=(7, D)) * 2
SCORES = {
    "curved": lambda: ENERGY,
    "gradient": lambda: as_score(lambda X: ENERGY(X), lambda X: ENERGY.value_and_grad(X)[1]),
    "search": lambda: as_score(lambda X: ENERGY(X)),
}


def tolerance(kind):
    return 1e-4 if kind == "search" else 1e-6


def test_every_method_is_in_the_table():
    assert {method.name for method in CONFIGURED.values()} == set(METHODS)


@pytest.fixture(params=CONFIGURED)
def method(request):
    return CONFIGURED[request.param]


@pytest.fixture(params=SCORES)
def kind(request):
    return request.param


def test_same_seed_same_bits(method, kind):
    one = Explainer(SCORES[kind](), NORMAL, method)(X)
    other = Explainer(SCORES[kind](), NORMAL, method)(X)
    np.testing.assert_array_equal(one.values, other.values)


def test_input_is_unchanged(method, kind):
    rows, background = X.copy(), NORMAL.copy()
    attribution = Explainer(SCORES[kind](), background, method)(rows)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(background, NORMAL)
    rows[:] = 0
    np.testing.assert_array_equal(attribution.data, X)


def test_a_row_alone_equals_the_row_in_a_batch(method, kind):
    explain = Explainer(SCORES[kind](), NORMAL, method)
    together = explain(X)
    alone = np.vstack([explain(X[i : i + 1]).values for i in range(len(X))])
    np.testing.assert_allclose(alone, together.values, atol=tolerance(kind))


@pytest.mark.parametrize("chunk_size", [1, 2, 5])
def test_chunks_do_not_change_the_result(method, kind, chunk_size):
    whole = Explainer(SCORES[kind](), NORMAL, method)(X)
    chunked = Explainer(SCORES[kind](), NORMAL, method, chunk_size=chunk_size)(X)
    np.testing.assert_allclose(chunked.values, whole.values, atol=tolerance(kind))
    np.testing.assert_allclose(chunked.base_values, whole.base_values, atol=tolerance(kind))
    np.testing.assert_allclose(chunked.reference, whole.reference, atol=tolerance(kind))


def test_values_of_additive_methods_sum_to_the_gap(method, kind):
    attribution = Explainer(SCORES[kind](), NORMAL, method)(X)
    np.testing.assert_allclose(attribution.scores, ENERGY(X))
    if attribution.additive:
        gap = attribution.scores - attribution.base_values
        np.testing.assert_allclose(attribution.values.sum(axis=1), gap, rtol=0, atol=1e-10)
    else:
        assert method.name == "comp"


def test_base_value_is_the_score_of_the_reference_and_not_above_the_rows(method, kind):
    attribution = Explainer(SCORES[kind](), NORMAL, method)(X)
    np.testing.assert_allclose(attribution.base_values, ENERGY(attribution.reference), atol=1e-9)
    assert (attribution.base_values <= attribution.scores).all()
    assert attribution.converged.all()


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
GRADIENTS = {"search": None, "gradient": symmetric_gradient}


@pytest.mark.parametrize("gradient", GRADIENTS)
def test_symmetric_features_get_equal_shares(method, gradient):
    score = as_score(symmetric, GRADIENTS[gradient])
    values = Explainer(score, domain=Domain(D), method=method)(SYMMETRIC_ROWS).values
    np.testing.assert_allclose(values[:, 0], values[:, 1], atol=tolerance(gradient))
    assert (np.abs(values[:, :2]) > 1e-3).all()


@pytest.mark.parametrize("gradient", GRADIENTS)
@pytest.mark.parametrize(
    "method",
    [ASH(game="neighborhood"), ASH(game="local", gamma=0.0), COMP(), COMP(gamma=0.0)],
    ids=["ASH neighborhood", "ASH local", "comp", "comp, γ = 0"],
)
def test_an_ignored_feature_gets_zero(method, gradient):
    score = as_score(symmetric, GRADIENTS[gradient])
    values = Explainer(score, domain=Domain(D), method=method)(SYMMETRIC_ROWS).values
    np.testing.assert_allclose(values[:, 3], 0.0, atol=1e-9)


def test_the_penalty_hardly_moves_an_ignored_feature_from_zero():
    """γ/|Sᶜ| counts every absent feature, an ignored one too, so the paper's v̂ has a trace of γ."""
    score = as_score(symmetric, symmetric_gradient)
    traces = []
    for gamma in (0.01, 0.001):
        method = ASH(game="local", gamma=gamma)
        values = Explainer(score, domain=Domain(D), method=method)(SYMMETRIC_ROWS).values
        traces.append(values[:, 3])
    assert (np.abs(traces[0]) < 1e-5 * symmetric(SYMMETRIC_ROWS)).all()
    np.testing.assert_allclose(traces[1], 0.01 * traces[0], rtol=0.05)  # of second order in γ


def test_the_relaxation_gives_an_ignored_feature_zero_where_features_do_not_interact():
    weights = np.array([1.0, 2.0, 0.5, 0.0])
    score = as_score(lambda X: X**2 @ weights, lambda X: 2 * X * weights)
    values = Explainer(score, domain=Domain(D), method=ASH(gamma=0.0))(SYMMETRIC_ROWS).values
    np.testing.assert_allclose(values[:, 3], 0.0, atol=1e-9)


def test_the_relaxation_moves_an_ignored_feature_from_zero_where_features_interact():
    """v̲ averages x*(∅) with x*({i}), i in S: an ignored i adds x*(∅) once more. See the docs."""
    score = as_score(symmetric, symmetric_gradient)
    values = Explainer(score, domain=Domain(D), method=ASH(gamma=0.0))(SYMMETRIC_ROWS).values
    share = np.abs(values[:, 3]) / np.abs(values).max(axis=1)
    assert (share > 1e-3).all()
    assert (share < 0.2).all()


def test_permuting_and_renaming_columns_only_permutes_the_result(method, kind):
    order = np.array([2, 0, 3, 1])
    names = np.array(["a", "b", "c", "d"])
    back = np.argsort(order)
    score = SCORES[kind]()
    plain = Explainer(score, NORMAL, method)(X)
    permuted_score = {
        "curved": lambda: random_permuted(order),
        "gradient": lambda: as_score(
            lambda X: ENERGY(X[:, back]),
            lambda X: ENERGY.value_and_grad(X[:, back])[1][:, order],
        ),
        "search": lambda: as_score(lambda X: ENERGY(X[:, back])),
    }[kind]()
    background = pd.DataFrame(NORMAL[:, order], columns=names[order])
    permuted = Explainer(permuted_score, background, method)(
        pd.DataFrame(X[:, order], columns=names[order])
    )
    assert permuted.feature_names == tuple(names[order])
    np.testing.assert_allclose(permuted.values, plain.values[:, order], atol=tolerance(kind))


def random_permuted(order):
    from whyflag.score.mixture import MixtureEnergy

    return MixtureEnergy(
        ENERGY.log_weights,
        ENERGY.means[:, order],
        ENERGY.covariances[:, order][:, :, order],
    )


def test_players_of_one_column_each_equal_no_players(method, kind):
    plain = Explainer(SCORES[kind](), domain=Domain(D), method=method)(X)
    single = Domain(D, players={f"player {i}": [i] for i in range(D)})
    players = Explainer(SCORES[kind](), domain=single, method=method)(X)
    np.testing.assert_array_equal(players.values, plain.values)
    assert players.feature_names == tuple(f"player {i}" for i in range(D))


def test_a_group_is_one_player(method, kind):
    domain = Domain(D, players={"pair": [1, 3]})
    attribution = Explainer(SCORES[kind](), domain=domain, method=method)(X)
    assert attribution.values.shape == (len(X), 3)
    assert attribution.feature_names == ("x0", "pair", "x2")


def test_a_fixed_column_gets_nothing(method, kind):
    attribution = Explainer(SCORES[kind](), domain=Domain(D, fixed=[1]), method=method)(X)
    np.testing.assert_allclose(attribution.values[:, 1], 0.0, atol=1e-9)
    np.testing.assert_array_equal(attribution.reference[:, 1], X[:, 1])


def test_one_feature_gets_everything(method):
    score = as_score(lambda X: X[:, 0] ** 2, lambda X: 2 * X)
    attribution = Explainer(score, domain=Domain(1), method=method)([[3.0]])
    if attribution.additive:
        gap = attribution.scores - attribution.base_values
        np.testing.assert_allclose(attribution.values[:, 0], gap)
    assert attribution.values[0, 0] > 0.9


def test_binary_columns_stay_between_0_and_1(method, kind):
    domain = Domain(D, binary=[0, 2])
    rows = X.copy()
    rows[:, [0, 2]] = rows[:, [0, 2]] > 0
    attribution = Explainer(SCORES[kind](), domain=domain, method=method)(rows)
    bits = attribution.reference[:, [0, 2]]
    assert ((bits >= 0) & (bits <= 1)).all()
    if kind == "search":
        assert np.isin(bits, [0, 1]).all()
