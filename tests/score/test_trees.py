import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor, IsolationForest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PowerTransformer, StandardScaler

from planted import NORMAL, PLANTED
from whyflag import Explainer, as_score
from whyflag.adapters.maps import LinearMap
from whyflag.score import Score, Trees, trees
from whyflag.score.trees import Nodes, rounded_down

FOREST = IsolationForest(n_estimators=20, random_state=0).fit(NORMAL)


def added_up(nodes, rows):
    """The sum over the trees, one row and one node after another."""
    sums = np.zeros(len(rows))
    for i, row in enumerate(rows):
        for node in nodes.roots:
            while nodes.column[node] >= 0:
                left = row[nodes.column[node]] <= nodes.threshold[node]
                node = (nodes.left if left else nodes.right)[node]
            sums[i] += nodes.value[node]
    return sums


@pytest.mark.parametrize("steps", [[], [StandardScaler()], [PowerTransformer(), StandardScaler()]])
def test_a_forests_score_is_a_function_of_a_sum_over_its_trees(steps):
    score = as_score(
        make_pipeline(*steps, IsolationForest(n_estimators=20, random_state=0)).fit(NORMAL)
    )
    trees = score.need(Trees)
    sums = added_up(trees.nodes, trees(PLANTED))
    np.testing.assert_allclose(trees.link(sums), score(PLANTED), rtol=1e-12)
    np.testing.assert_allclose(trees.link.back(score(PLANTED)), sums, rtol=1e-12)


def test_behind_two_scalers_slopes_are_those_of_both():
    forest = IsolationForest(n_estimators=5, random_state=0)
    pipe = make_pipeline(MinMaxScaler((0, 50)), StandardScaler(), forest).fit(100 * NORMAL)
    trees = as_score(pipe).need(Trees)
    np.testing.assert_allclose(trees.slopes, (pipe[0].scale_ / pipe[1].scale_)[trees.sources])
    assert trees.by_column


def test_slopes_of_maps_that_are_applied_one_after_another_multiply():
    first, second = np.array([2.0, 5.0, 0.5]), np.array([-3.0, 0.25, 8.0])
    score = as_score(IsolationForest(n_estimators=5, random_state=0).fit(NORMAL[:, :3]))
    for slopes in (second, first):
        score = score.after(LinearMap(lambda X, slopes=slopes: X * slopes, slopes))
    trees = score.need(Trees)
    np.testing.assert_allclose(trees.slopes, (first * second)[trees.sources])


def test_a_forest_of_scikit_learn_can_be_written_as_trees():
    forest = ExtraTreesRegressor(10, random_state=0).fit(NORMAL, NORMAL[:, 0] ** 2)
    trees = [each.tree_ for each in forest.estimators_]
    every = np.arange(NORMAL.shape[1])
    nodes = Nodes.of(trees, [every] * 10, [tree.value[:, 0, 0] / 10 for tree in trees])
    sums = added_up(nodes, PLANTED.astype(np.float32))
    np.testing.assert_allclose(sums, forest.predict(PLANTED), rtol=1e-12)
    score = Score(forest.predict, (Trees(nodes, None, every, np.ones(len(every))),))
    shares = Explainer(score, NORMAL, "wKSH")(PLANTED)
    plain = Explainer(score.without(Trees), NORMAL, "wKSH")(PLANTED)
    np.testing.assert_allclose(shares.values, plain.values, rtol=0, atol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 300])
def test_sums_by_loops_are_those_node_by_node(n, monkeypatch):
    monkeypatch.setattr(trees, "compiled", lambda loops: loops)
    nodes = as_score(FOREST).need(Trees).nodes
    rows = np.vstack([PLANTED, NORMAL])[:n].astype(np.float32)
    np.testing.assert_array_equal(nodes.sums(rows), added_up(nodes, rows))
    assert nodes.sums(rows[:0]) is None


def test_thresholds_are_rounded_down_to_single_precision():
    exact = np.array([0.1, -0.1, 1 + 1e-9, 1 - 1e-9, 2.0])
    single = rounded_down(exact)
    assert (single <= exact).all()
    assert (np.nextafter(single, np.float32(np.inf)) > exact).all()


def test_the_depth_is_a_score_with_the_same_order_and_the_same_alarms():
    score, depth = as_score(FOREST), as_score(FOREST, scale="depth")
    rows = np.vstack([NORMAL, PLANTED])
    values = depth(rows)
    by_hand = np.mean(
        [tree.decision_path(rows).sum(axis=1) - 1 for tree in FOREST.estimators_], axis=0
    )
    assert (np.argsort(score(rows), kind="stable") == np.argsort(values, kind="stable")).all()
    # Leaves with several rows count as deeper than they are.
    assert (-values >= np.ravel(by_hand) - 1e-9).all()
    assert ((values > depth.threshold) == (score(rows) > score.threshold)).all()
    assert as_score(depth, scale="depth") is depth


def test_only_forests_have_a_depth():
    with pytest.raises(TypeError, match="What is needed is a score that is a sum over trees"):
        as_score(lambda X: X.sum(axis=1), scale="depth")
    with pytest.raises(ValueError, match='`scale` must be "score" or "depth", got \'splits'):
        as_score(FOREST, scale="splits")
