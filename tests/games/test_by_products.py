import numpy as np
import pytest
import shap
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler
from sklearn.svm import OneClassSVM

from whyflag import Domain, as_score
from whyflag.games import Background, by_products
from whyflag.score import Products
from whyflag.shapley import Exact, Kernel, divide
from whyflag.shapley.coalitions import numbered

D = 7
rng = np.random.default_rng(0)
NORMAL = rng.normal(size=(300, D)) @ (np.eye(D) + 0.3 * rng.normal(size=(D, D)))
X = NORMAL[:6] + np.array([0, 3, 0, -4, 0, 0, 0])
ROWS = NORMAL[100:104]
WEIGHTS = [1.0, 4.0, 0.0, 2.5]

DETECTORS = {
    "density": KernelDensity(bandwidth=0.5),
    "narrow density": KernelDensity(bandwidth=0.05),
    "machine": OneClassSVM(nu=0.1),
    "narrow machine": OneClassSVM(nu=0.1, gamma=30.0),
}
DOMAINS = {
    "columns": Domain(D),
    "groups": Domain(D, players={"pair": [1, 3], "three": [0, 5, 6]}),
    "fixed": Domain(D, players={"some": [2, 4, 0]}, fixed=[4, 6]),
    "one player": Domain(D, players={"all": range(D)}),
}
every_detector = pytest.mark.parametrize("detector", DETECTORS.values(), ids=DETECTORS)


def game(score, domain=DOMAINS["columns"], x=X, rows=ROWS):
    return Background(rows, WEIGHTS).bind(score, domain, x)


def alike(one, other, parts=1e-12):
    """Equal but for rounding, in parts of the largest value of each row."""
    largest = np.abs(other).max(axis=1, keepdims=True)
    assert (np.abs(one - other) <= parts * largest).all()


@pytest.fixture(params=["compiled", "plain"])
def by_both(request, monkeypatch):
    """With the loops that numba compiles, and without them."""
    if request.param == "plain":
        monkeypatch.setattr(by_products, "compiled", lambda loops, **_: None)


@every_detector
@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
def test_values_are_those_of_enumeration(detector, domain):
    score = as_score(detector.fit(NORMAL))
    expected = Exact().solve(game(score.without(Products), domain))
    found = divide(game(score, domain), Kernel())
    alike(found.values, expected.values)
    np.testing.assert_allclose(found.full - found.empty, found.values.sum(axis=1), 1e-9, 1e-15)
    np.testing.assert_allclose(found.empty, expected.empty, rtol=1e-12)
    assert (found.standard_errors == 0).all()


@every_detector
@pytest.mark.parametrize("step", [StandardScaler(), QuantileTransformer(n_quantiles=50)])
def test_values_behind_a_step_are_those_of_enumeration(detector, step):
    score = as_score(make_pipeline(step, detector).fit(NORMAL))
    assert score.find(Products) is not None
    expected = Exact().solve(game(score.without(Products), DOMAINS["groups"]))
    alike(divide(game(score, DOMAINS["groups"]), Kernel()).values, expected.values)


@every_detector
def test_values_are_shaps(detector):
    score = as_score(detector.fit(NORMAL))
    found = divide(Background(ROWS).bind(score, DOMAINS["columns"], X), Kernel())
    alike(found.values, shap.explainers.Exact(score, ROWS)(X).values, 1e-9)


@pytest.mark.usefixtures("by_both")
@pytest.mark.parametrize("d", [1, 2, 8, 13, 20, 40])
def test_sampled_coalitions_have_the_scores_of_their_points(d):
    rng = np.random.default_rng(d)
    normal = rng.normal(size=(700, d))
    score = as_score(KernelDensity(bandwidth=0.7).fit(normal))
    coalitions = rng.random((60, d)) < 0.5 if d > 8 else numbered(0, 2**d, d)
    domain, rows, x = Domain(d), normal[:4], normal[10:13] + 2
    slow, fast = (game(e, domain, x, rows) for e in (score.without(Products), score))
    np.testing.assert_allclose(fast(coalitions), slow(coalitions), rtol=1e-12)
    some = np.array([2, 0])
    np.testing.assert_allclose(fast(coalitions, some), slow(coalitions, some), rtol=1e-12)
    np.testing.assert_array_equal(fast.n_evaluations, slow.n_evaluations)


@pytest.mark.parametrize("d", [12, 30])
def test_a_regression_on_sampled_coalitions_is_the_same(d):
    rng = np.random.default_rng(1)
    normal = rng.normal(size=(300, d))
    score = as_score(KernelDensity(bandwidth=0.7).fit(normal))
    found, expected = (
        divide(game(e, Domain(d), normal[:2] + 1, normal[5:9]), Kernel(budget=300))
        for e in (score, score.without(Products))
    )
    alike(found.values, expected.values, 1e-10)
    np.testing.assert_allclose(found.standard_errors, expected.standard_errors, rtol=1e-7)


GROSS = {
    "one": {1: 1e6},
    "two": {1: 1e6, 4: -1e6},
    "sentinels": {0: -9999.0, 2: -9999.0, 3: -9999.0},
    "enormous": {2: 1e30, 5: 1e100},
}


@every_detector
@pytest.mark.parametrize("gross", GROSS.values(), ids=GROSS)
@pytest.mark.parametrize("wide", [False, True])
def test_rows_far_away_have_the_same_values(detector, gross, wide):
    d = 2 * D if wide else D
    normal = np.tile(NORMAL, 2) if wide else NORMAL
    score = as_score(detector.fit(normal))
    x = normal[:2].copy()
    x[:, list(gross)] = list(gross.values())
    found, expected = (
        divide(game(e, Domain(d), x, normal[5:9]), Exact()).values
        for e in (score, score.without(Products))
    )
    alike(found, expected, 1e-11)


def test_sums_too_small_for_a_number_are_those_of_the_score():
    d = 300
    normal = np.random.default_rng(0).normal(size=(200, d))
    score = as_score(KernelDensity(bandwidth=0.3).fit(normal))
    coalitions = np.random.default_rng(1).random((20, d)) < 0.5
    logs = by_products.CoalitionLogs(score.need(Products).weights, coalitions)
    player = np.arange(d)
    ends = (score.need(Products).exponents(x[None], player, d)[0] for x in normal[:2] + 3)
    assert np.isnan(logs(*ends)).all()
    slow, fast = (
        game(e, Domain(d), normal[:1] + 3, normal[5:9]) for e in (score.without(Products), score)
    )
    np.testing.assert_allclose(fast(coalitions), slow(coalitions), rtol=1e-12)


@every_detector
def test_values_beyond_the_scores_range_are_refused_as_without(detector):
    score = as_score(detector.fit(NORMAL))
    x = X[:1].copy()
    x[0, 0] = 1e170
    said = []
    for each in (score, score.without(Products)):
        try:
            with np.errstate(all="ignore"):
                said.append(divide(game(each, x=x), Exact()).values.round(9).tolist())
        except ValueError as error:
            said.append(str(error).split("at row")[0])
    assert said[0] == said[1]


def enumerated(a, b, worth):
    """Σ_j w_j φ of Π_{i∈S} a_ij Π_{i∉S} b_ij, by all coalitions."""
    p, _ = a.shape

    class ProductGame:
        n_rows, n_players = 1, p

        def __call__(self, coalitions, rows=None):
            mixed = np.where(coalitions[:, :, None], a, b).prod(axis=1)
            return (mixed @ worth)[None]

    return Exact().solve(ProductGame()).values[0]


FACTORS = st.sampled_from([0.0, 1.0, 1e-300, 1e-12]) | st.floats(0.0, 1.0)


@given(st.integers(1, 7).flatmap(lambda p: arrays(float, (2, p, 3), elements=FACTORS)))
def test_the_integral_is_the_shapley_value_of_a_product_game(factors):
    a, b = factors
    worth = np.array([1.0, 0.5, -2.0])
    found = by_products.integral(a, b, worth)
    np.testing.assert_allclose(found, enumerated(a, b, worth), rtol=0, atol=1e-14)


@given(
    st.integers(2, 120),
    st.floats(1e-6, 40.0),
    st.integers(0, 2**32 - 1),
)
def test_wide_products_add_up_and_equal_players_get_equal_shares(p, spread, seed):
    rng = np.random.default_rng(seed)
    a, b = np.exp(-spread / p * rng.random((2, p, 4)))
    a[1], b[1] = a[0], b[0]
    worth = rng.random(4)
    found = by_products.integral(a, b, worth)
    scale = np.abs(found).max()
    gain = (a.prod(axis=0) - b.prod(axis=0)) @ worth
    assert found.sum() == pytest.approx(gain, rel=1e-11, abs=1e-12 * scale + 1e-14)
    assert found[0] == pytest.approx(found[1], rel=1e-11, abs=1e-13 * scale)


@pytest.mark.parametrize("spread", [0.1, 3.0, 30.0, 300.0])
def test_fewer_points_leave_nothing_out(spread, monkeypatch):
    p = 100
    a, b = np.exp(-spread / p * np.random.default_rng(0).random((2, p, 20)))
    found = by_products.integral(a, b, np.ones(20))
    n_points = by_products._n_points(a, b)
    assert n_points < p // 2 if spread < 30 else n_points <= p // 2
    monkeypatch.setattr(by_products, "_n_points", lambda a, b: p // 2)
    alike(found[None], by_products.integral(a, b, np.ones(20))[None])


def test_loops_say_the_same_when_they_are_not_compiled():
    rng = np.random.default_rng(0)
    tables, row = rng.random((5, 8, 30)), rng.integers(0, 8, (50, 5))
    slow, fast = np.zeros((2, 50))
    by_products._loops(tables, row, slow)
    by_products._add(tables, row, fast)
    np.testing.assert_allclose(slow, fast, rtol=1e-13)
