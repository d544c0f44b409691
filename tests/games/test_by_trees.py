import numpy as np
import pytest
import shap
from sklearn.ensemble import IsolationForest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from whyflag import Domain, as_score
from whyflag.games import Background, by_trees
from whyflag.score import Trees
from whyflag.shapley import Exact, Kernel, divide

D = 7
rng = np.random.default_rng(0)
NORMAL = rng.normal(size=(300, D)) @ (np.eye(D) + 0.3 * rng.normal(size=(D, D)))
NORMAL[:, 5:] = np.eye(2)[(NORMAL[:, 0] > 0).astype(int)]  # a category
X = NORMAL[:6] + np.array([0, 3, 0, -4, 0, 0, 0])
ROWS = NORMAL[100:104]
WEIGHTS = [1.0, 4.0, 0.0, 2.5]

FORESTS = {
    "default": {},
    "some columns": {"max_features": 0.5},
    "some rows": {"max_samples": 50, "bootstrap": True},
    "two rows": {"max_samples": 2},
}
DOMAINS = {
    "columns": Domain(D),
    "groups": Domain(D, players={"pair": [1, 3], "category": [5, 6]}),
    "fixed": Domain(D, players={"some": [2, 4, 0]}, fixed=[4, 6]),
}


def forest(**settings):
    return IsolationForest(n_estimators=30, random_state=0, **settings).fit(NORMAL)


def game(score, domain=DOMAINS["columns"], rows=ROWS, weights=WEIGHTS):
    return Background(rows, weights).bind(score, domain, X)


@pytest.fixture(params=["compiled", "plain"])
def by_both(request, monkeypatch):
    """With the loops that numba compiles, and without them."""
    if request.param == "plain":
        monkeypatch.setattr(by_trees, "compiled", lambda loops: None)


@pytest.mark.usefixtures("by_both")
@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
@pytest.mark.parametrize("settings", FORESTS.values(), ids=FORESTS)
def test_values_on_the_depth_are_those_of_enumeration(settings, domain):
    score = as_score(forest(**settings), scale="depth")
    expected = Exact().solve(game(score.without(Trees), domain))
    found = divide(game(score, domain), Kernel())
    np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.full - found.empty, found.values.sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(found.empty, expected.empty, rtol=1e-12)
    assert (found.standard_errors == 0).all()
    assert found.converged.all()


@pytest.mark.usefixtures("by_both")
@pytest.mark.parametrize("step", [StandardScaler(), QuantileTransformer(n_quantiles=50)])
def test_values_behind_a_step_are_those_of_enumeration(step):
    pipeline = make_pipeline(step, IsolationForest(n_estimators=30, random_state=0)).fit(NORMAL)
    score = as_score(pipeline, scale="depth")
    expected = Exact().solve(game(score.without(Trees), DOMAINS["groups"]))
    found = divide(game(score, DOMAINS["groups"]), Kernel())
    np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=1e-12)


def test_compiled_loops_say_what_plain_ones_say():
    trees = as_score(forest()).need(Trees)
    many = np.repeat(trees(ROWS)[None], len(X), axis=0)
    weights = np.random.default_rng(0).random((len(X), len(ROWS)))
    player = DOMAINS["groups"].membership.argmax(axis=0)
    asked = trees.nodes, trees(X), many, weights, player, DOMAINS["groups"].n_players
    fast = by_trees.shapley_by_trees(*asked)
    gain = by_trees._gains(len(trees.nodes.levels))
    np.testing.assert_allclose(by_trees._walks(*asked, gain), fast, rtol=0, atol=1e-13)
    nodes = trees.nodes
    at = np.where(nodes.column < 0, -1, player[nodes.column])
    tables = nodes.left, nodes.right, nodes.column, nodes.threshold, nodes.value, at
    loops = by_trees._loops(asked[1], many, weights, nodes.roots, *tables, asked[5], gain)
    np.testing.assert_allclose(loops, fast, rtol=0, atol=1e-13)


def test_values_on_the_depth_are_shaps_with_any_number_of_columns():
    d = 60
    rows = np.random.default_rng(1).normal(size=(400, d))
    wide = IsolationForest(random_state=0).fit(rows)
    others = rows[:5] + np.eye(d)[:5] * 6
    explain = shap.TreeExplainer(wide, rows[10:18], feature_perturbation="interventional")
    theirs = explain.shap_values(others, check_additivity=False)  # of the depth: low = anomalous
    score = as_score(wide, scale="depth")
    found = divide(Background(rows[10:18]).bind(score, Domain(d), others), Kernel())
    # shap computes in single precision.
    np.testing.assert_allclose(found.values, -theirs, rtol=0, atol=1e-6)


@pytest.mark.usefixtures("by_both")
@pytest.mark.parametrize("solver", [Exact(), Kernel()])
def test_values_of_the_score_itself_are_those_of_enumeration(solver):
    score = as_score(forest())
    expected = Exact().solve(game(score.without(Trees)))
    found = divide(game(score), solver)
    for name in ("values", "empty", "full"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=0, atol=1e-12
        )


def test_of_a_row_that_is_its_reference_nothing_is_left_to_explain():
    score = as_score(forest())
    found = divide(Background(X[0]).bind(score, DOMAINS["columns"], X[:1]), Kernel())
    np.testing.assert_allclose(found.values, 0, atol=1e-15)


def test_with_trees_as_control_errors_are_a_quarter_and_standard_errors_are_right():
    d, n = 30, 8
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(500, d)) @ (np.eye(d) + 0.5 * rng.normal(size=(d, d)) / np.sqrt(d))
    score = as_score(IsolationForest(random_state=0).fit(rows))
    others = rows[:n] + 5 * np.eye(d)[:n]

    def solve(score, **settings):
        bound = Background(rows[100:104]).bind(score, Domain(d), others)
        found = divide(bound, Kernel(**settings))
        return found, bound.n_evaluations

    truth, _ = solve(score, budget=2**14, seed=99)
    plain, n_plain = solve(score.without(Trees), budget=600)
    found, n_found = solve(score, budget=600)
    assert (n_found - n_plain).tolist() == [5] * n  # the ends, once more
    off = np.abs(found.values - truth.values)
    assert off.mean() <= np.abs(plain.values - truth.values).mean() / 4
    errors = np.hypot(found.standard_errors, truth.standard_errors)
    assert 0.9 <= (off <= 1.96 * errors).mean() <= 0.99
