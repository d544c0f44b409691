import numpy as np
import pytest
from sklearn.covariance import LedoitWolf
from sklearn.ensemble import IsolationForest

from benchmarks.worlds import correlated_rows, plant
from whyflag import Domain, Explainer, as_score
from whyflag.detectors import GMM
from whyflag.games import Nearest
from whyflag.methods import NEAR

NORMAL = correlated_rows(300, 6, seed=1)
DETECTOR = GMM(random_state=0).fit(NORMAL)
PLANTED, CULPRITS = plant(correlated_rows(40, 6, seed=2), 6.0, seed=3)


def precision(scale, k):
    """That of the differences between normal rows and their k neighbours, each row among them."""
    near = Nearest(NORMAL, Domain.infer(NORMAL), k + 1)(NORMAL)
    differences = (NORMAL - near.mean(axis=1)) / scale
    return np.linalg.inv(LedoitWolf(assume_centered=True).fit(differences).covariance_)


def by_hand(score, x, references, scale):
    """The shares of a row, feature by feature, as the docstring says."""
    d = len(x)
    P = precision(scale, len(references))
    away = (x - references.mean(axis=0)) / scale
    first, last, apart = np.zeros(d), np.zeros(d), np.zeros(d)
    for i in range(d):
        with_it, without_it = references.copy(), np.tile(x, (len(references), 1))
        with_it[:, i], without_it[:, i] = x[i], references[:, i]
        first[i] = np.mean(score(with_it) - score(references))
        last[i] = np.mean(score(x[None]) - score(without_it))
        apart[i] = np.abs(away[i] * (P[i] @ away) / np.sqrt(P[i, i]))
    seen = np.abs(first) + np.abs(last)
    seen = np.minimum(1, seen / (0.05 * seen.max()))
    apart *= seen
    shares = [np.maximum(each, 0) / np.maximum(each, 0).sum() for each in (first, last, apart)]
    evidence = shares[0] + shares[1] + 2 * seen * shares[2]
    return evidence / evidence.sum()


def test_values_are_the_gap_times_the_shares():
    explain = Explainer(DETECTOR, NORMAL, NEAR(n_references=5))
    said = explain(PLANTED[:5])
    references = Nearest(NORMAL, explain.domain, 5)(PLANTED[:5])
    for i, x in enumerate(PLANTED[:5]):
        shares = by_hand(explain.score, x, references[i], explain.domain.scale)
        gap = said.scores[i] - said.base_values[i]
        np.testing.assert_allclose(said.values[i], gap * shares, rtol=1e-9)


def test_the_culprit_is_found_and_its_normal_value_follows_from_the_others():
    said = Explainer(DETECTOR, NORMAL)(PLANTED)
    first = said.values.argmax(axis=1) == CULPRITS
    assert first.mean() >= 0.95
    rows = np.arange(len(PLANTED))
    true = correlated_rows(40, 6, seed=2)[rows, CULPRITS]
    off = np.abs(said.reference[rows, CULPRITS] - true)
    assert np.median(off) < 0.6 * np.median(np.abs(np.median(NORMAL, axis=0)[CULPRITS] - true))


@pytest.mark.parametrize("distance", [10.0, 1e4, 1e9, 1e12])
def test_a_column_that_the_detector_does_not_see_is_no_culprit(distance):
    forest = IsolationForest(random_state=0).fit(NORMAL[:, :5])
    rows = PLANTED[CULPRITS < 5][:5].copy()
    rows[:, 5] += distance
    said = Explainer(lambda X: -forest.score_samples(X[:, :5]), NORMAL)(rows)
    np.testing.assert_array_equal(said.values[:, 5], 0.0)
    assert (said.values.argmax(axis=1) == CULPRITS[CULPRITS < 5][:5]).mean() >= 0.8


ONE_SIDED = {
    "a sum": lambda X: X.sum(axis=1),
    "rectified": lambda X: np.maximum(X, 0).sum(axis=1),
    "exponential": lambda X: np.exp(0.7 * X).sum(axis=1),
    "steps": lambda X: (X[:, :, None] > np.arange(4)).sum(axis=(1, 2)).astype(float),
}


@pytest.mark.parametrize("low", [-8.0, -300.0])
@pytest.mark.parametrize("name", ONE_SIDED)
def test_a_value_far_on_the_side_that_lowers_the_score_is_no_culprit(name, low):
    normal = np.random.default_rng(0).normal(size=(300, 5))
    row = [[0.2, 5.0, low, -0.4, 0.1]]
    said = Explainer(ONE_SIDED[name], normal)(row)
    assert said.order[0, 0] == 1
    assert said.shares[0, 2] == 0


def test_the_distance_of_a_usual_value_counts_whatever_it_does_to_the_score():
    normal = np.random.default_rng(0).normal(size=(300, 5))
    said = Explainer(ONE_SIDED["a sum"], normal)([[0.2, 5.0, -1.5, -0.4, 0.1]])
    assert said.shares[0, 2] > 0


def test_a_value_far_out_that_raises_any_reference_counts():
    """The detector takes no side: what the column does depends on the other one."""
    normal = np.random.default_rng(0).normal(size=(300, 3))
    said = Explainer(lambda X: 3 * X[:, 0] ** 2 + X[:, 1] * np.sign(X[:, 2]), normal)([[4, 6, 0.0]])
    assert said.shares[0, 1] > 0.1


def test_rounding_puts_no_usual_value_outside():
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(300, 4))
    normal[:, 3] = rng.random(300) < 0.05
    explain = Explainer(lambda X: X @ [1, 1, 1, -2], normal)
    said = explain([[0.2, 5.0, 0.0, 1.0], [0.2, 5.0, 0.0, 1.0 + 1e-13]])
    assert said.shares[0, 3] > 0.01
    np.testing.assert_allclose(said.shares[1], said.shares[0], rtol=1e-6)


def test_a_row_like_its_neighbours_has_values_that_add_up_in_the_order_of_the_shares():
    score = as_score(lambda X: (X**2).sum(axis=1))
    normal = np.array([[1.0, 1.0], [1.1, 0.9], [0.9, 1.2]])
    said = Explainer(score, normal)([[0.1, 0.2]])  # lower than all
    assert said.scores[0] < said.base_values[0]
    np.testing.assert_allclose(said.values.sum(), said.scores[0] - said.base_values[0])
    assert (said.values < 0).all()


def test_evaluations_are_those_of_the_mixtures_and_the_candidates():
    said = Explainer(DETECTOR, NORMAL, NEAR(n_references=5))(PLANTED[:2])
    assert said.evaluations.tolist() == [5 * (2 * 6 + 3) + 2] * 2  # two to see that it is the same


def test_errors_say_how_far_values_depend_on_the_references():
    said = Explainer(DETECTOR, NORMAL)(PLANTED)
    other = Explainer(DETECTOR, NORMAL[::2])(PLANTED)
    shares, others = said.shares, other.shares
    gap = (said.scores - said.base_values)[:, None]
    errors = said.standard_errors / gap
    assert 0.3 < np.median(np.abs(shares - others)[errors > 0] / errors[errors > 0]) < 3
    alone = Explainer(DETECTOR, NORMAL, NEAR(n_references=1))(PLANTED[:1])
    assert np.isinf(alone.standard_errors).all()


def test_a_column_that_hardly_counts_takes_no_share_from_one_that_never_changed():
    """A constant column's scale is its size, so that a small move of it is no distance."""
    rows = np.random.default_rng(0).normal(size=(300, 2))
    rows[:, 1] = 2020
    said = Explainer(GMM(1, reg_covar=1e-6, random_state=0).fit(rows), rows)([[8.0, 2021.0]])
    assert said.shares[0, 1] > 0.9


@pytest.mark.parametrize("gross", [1e3, 1e100, 1e160, 1e300])
def test_a_value_without_measure_counts_as_far_away(gross):
    normal = np.random.default_rng(0).normal(size=(300, 4))
    said = Explainer(lambda X: np.abs(X[:, 1]) + np.minimum(np.abs(X[:, 2]), 3), normal)(
        [[0.0, 6.0, gross, 0.0]]
    )
    assert said.order[0, 0] == 2
    assert said.values[0, 3] == 0


def test_a_row_like_many_normal_ones_has_one_of_them_as_reference():
    rows = (np.random.default_rng(0).random((200, 4)) < 0.3).astype(float)
    said = Explainer(lambda X: 3 * X[:, 0] + X[:, 1] + 2 * X[:, 2], rows)([[1.0, 0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(said.reference, [[1.0, 0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(said.values, 0.0)


def test_the_reference_of_a_single_column_is_the_nearest_whatever_the_order():
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(0, 0.3, 100), rng.normal(20, 0.3, 100)])[:, None]
    for background in (rows, rows[::-1]):
        said = Explainer(lambda X: np.abs(X[:, 0] - 10), background)([[25.0]])
        assert 19 < said.reference[0, 0] < 22


def test_rounding_is_no_bond_between_columns_where_rows_are_repeated():
    """Each row's neighbours are its copies: only rounding sets them apart."""
    rng = np.random.default_rng(0)
    normal = np.repeat(correlated_rows(40, 6, seed=1), 10, axis=0)
    rows, _ = plant(correlated_rows(20, 6, seed=2), 3.0, seed=3)
    values = Explainer(DETECTOR, normal, NEAR())(rows).values
    shaken = normal * (1 + 1e-13 * rng.normal(size=normal.shape))
    changed = Explainer(DETECTOR, shaken, NEAR())(rows).values
    np.testing.assert_allclose(changed, values, rtol=0, atol=1e-6 * np.abs(values).max())


def test_fixed_columns_and_groups_keep_together():
    domain = Domain(6, players={"pair": [0, 1]}, fixed=[2])
    said = Explainer(DETECTOR, NORMAL, domain=domain)(PLANTED)
    np.testing.assert_array_equal(said.reference[:, 2], PLANTED[:, 2])
    np.testing.assert_array_equal(said.values[:, said.feature_names.index("x2")], 0.0)
    np.testing.assert_allclose(said.unexplained, 0.0, atol=1e-9 * said.scores.max())


def test_without_normal_rows_the_default_is_another():
    assert Explainer(DETECTOR, NORMAL).method.name == "near"
    without = Explainer(DETECTOR, domain=Domain.infer(NORMAL, bounded=True))
    assert without(PLANTED[:1]).method == "ASH"
    with pytest.raises(ValueError, match="near needs normal rows"):
        Explainer(DETECTOR, method="near", domain=Domain.infer(NORMAL))


def test_one_normal_row_alone_leaves_all_in_doubt_and_fails_nowhere():
    rows = np.array([[0.5, -0.25, 0.0]])
    found = Explainer(lambda X: np.floor(np.abs(X).max(axis=1)), rows, threshold=-1)(rows)
    assert np.isinf(found.standard_errors).all()
    assert found.in_doubt.tolist() == [False]  # what is called normal raises the alarm: said first
    assert "still raises the alarm" in found.remarks[0]
    found = Explainer(lambda X: np.zeros(len(X)), rows)(rows)
    assert found.in_doubt.tolist() == [True]
