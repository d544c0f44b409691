import numpy as np
import pytest
import torch
from scipy.stats import norm

from whyflag import Domain, as_score
from whyflag.detectors.latent_mixture import LatentMixture
from whyflag.games import Background
from whyflag.minimise import minimise
from whyflag.score.mixture import MixtureEnergy
from whyflag.shapley import Exact
from whyflag_paper import as_published


def gaussian(covariance):
    covariance = np.asarray(covariance, dtype=float)
    return MixtureEnergy(np.zeros(1), np.zeros((1, len(covariance))), covariance[None])


def test_blocks_of_the_precision_are_marginals_only_without_correlation():
    X = np.array([[1.0, -2.0]])
    alone = as_published.marginal_energies(gaussian(np.diag([4.0, 9.0])), X)
    assert alone == pytest.approx(-norm.logpdf(X, scale=[2, 3]))
    together = as_published.marginal_energies(gaussian([[1, 0.8], [0.8, 1]]), X)
    assert together == pytest.approx(-norm.logpdf(X, scale=np.sqrt(1 - 0.8**2)))


def test_equation_4_as_printed_counts_the_empty_set_once_for_each_member():
    x, minima = np.full(3, 9.0), np.array([[3.0] * 3, [6.0] * 3, [12.0] * 3, [0.0] * 3])
    pair = np.array([[True, True, False]])
    printed = ((6 + 3) + (12 + 3)) / 3
    assert as_published.relaxed_points(x, minima, pair).tolist() == [[9, 9, printed]]
    as_text = (6 + 12 + 3) / 3
    assert as_published.relaxed_points(x, minima, pair, once=True).tolist() == [[9, 9, as_text]]


@pytest.mark.parametrize(("d", "share"), [(59, 0.01), (274, 1e-4)])
def test_what_is_drawn_by_the_weight_of_one_coalition_hardly_counts(d, share):
    drawn = 2048 * as_published.sampled_weight(d)
    whole = 2 * d * as_published.kernel_weight(d, 1)
    assert drawn / (drawn + whole) == pytest.approx(share, rel=0.2)
    chances = as_published.sampled_sizes(d)
    assert chances.sum() == pytest.approx(1)
    assert chances[0] + chances[-1] > 0.9  # nearly all are pairs, or all but a pair


def test_regression_with_the_kernel_is_the_shapley_value():
    score = as_score(lambda X: X[:, 0] * X[:, 1] + X[:, 2] ** 2 - X[:, 3], n_features=4)
    game = Background(np.zeros(4)).bind(score, Domain(4), np.array([[1.0, 2.0, 3.0, 4.0]]))
    exact = Exact().solve(game)
    inner = as_published.inner_coalitions(4)
    weights = as_published.weights(inner)
    values = as_published.regression(inner, game(inner)[0], weights, exact.empty[0], exact.full[0])
    assert values == pytest.approx(exact.values[0])


def test_a_size_can_be_left_out():
    inner = as_published.inner_coalitions(4, leave_out=2)
    assert sorted(inner.sum(axis=1)) == [1] * 4 + [3] * 4


def test_flips_as_indices_change_two_neighbours_wholly():
    x = np.array([1.0, 0, 0, 1])
    flips = np.random.default_rng(0).random((32, 4)) < 0.3
    near = as_published.flipped_rows(x, flips)
    assert (near != x).any(axis=1).sum() == 2
    assert near[:2].tolist() == [[0, 1, 1, 0]] * 2


def test_a_model_through_zero_has_one_share_for_all_ones_and_one_for_all_zeros():
    """Of copies of the row and its inverse, which hardly count."""
    x = np.repeat([1.0, 0.0], [18, 41])
    near = as_published.flipped_rows(x, np.eye(32, 59, dtype=bool))
    shares = as_published.contributions(x, near, 40.0 + near[:, 3])
    np.testing.assert_allclose(shares[:18], shares[0], rtol=1e-9)
    np.testing.assert_allclose(shares[18:], shares[-1], rtol=1e-9)
    assert shares[0] > shares[-1]
    assert shares.sum() == pytest.approx(1.0)


def test_a_model_through_zero_has_the_slope_of_a_score_that_is_zero_there():
    """With the weights of equally far neighbours and little ridge, it is plain least squares."""
    x, slope = np.array([2.0, 1.0]), np.array([3.0, -1.0])
    near = x + 0.1 * np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]] * 1000)
    shares = as_published.contributions(x, near, near @ slope)
    expected = np.logaddexp(0, x * slope)
    np.testing.assert_allclose(shares, expected / expected.sum(), rtol=1e-3)


def test_scores_outside_0_and_1_have_no_logit():
    assert np.isnan(as_published.logit(np.array([-3.0, 7.0]))).all()
    assert as_published.logit(np.array([0.5]))[0] == 0


def test_adam_ends_above_the_minimum_and_below_its_start():
    score = gaussian([[1, 0.9], [0.9, 1]]).to_score()
    X = np.array([[6.0, -4.0], [1.0, 2.0]])
    free = np.array([[True, True], [False, True]])
    start = score(X) / 2
    adam = score(as_published.adam_minimum(score, X, free, gamma=0.0, max_steps=100)) / 2
    ours = minimise(score, X, ~free, Domain(2)).loss / 2
    assert (adam < start).all()
    assert (adam > ours).all()
    far = as_published.adam_minimum(score, X, free, gamma=0.0, max_steps=20_000)
    assert far[1, 0] == 1.0
    assert score(far) / 2 == pytest.approx(ours, abs=1e-2)


def test_single_precision_is_close_where_nothing_is_singular():
    score = gaussian([[1, 0.5], [0.5, 2]])
    X = np.random.default_rng(0).normal(size=(20, 2))
    assert as_published.in_single_precision(score, X) == pytest.approx(score(X), abs=1e-4)


def test_subtracted_weights_turn_their_logarithm():
    one = torch.ones((1, 1, 2, 2), dtype=torch.float64) * torch.eye(2)
    weights = torch.tensor([[0.25]], dtype=torch.float64)
    mixture = LatentMixture(
        weights, torch.zeros((1, 1, 2)).double(), one, torch.ones((1, 1, 2)), torch.ones((1, 1, 2))
    )
    rows = torch.zeros((1, 3, 2))
    differ = mixture.energy(rows) - as_published.subtracted_weights(mixture, rows)
    assert differ.numpy() == pytest.approx(2 * np.log(4))


@pytest.mark.parametrize("how", [{}, {"variance_as_deviation": True}, {"turned": True}])
def test_vaes_of_either_kind_train(how):
    rows = np.random.default_rng(0).normal(size=(200, 4))
    short = {"latent": 2, "hidden": 4}
    trained, defined = as_published.trained_vae(rows, rows[:50], **short, max_updates=400, **how)
    untrained, _ = as_published.trained_vae(rows, rows[:50], **short, max_updates=1, **how)
    assert trained < untrained
    if "variance_as_deviation" not in how:
        assert defined == pytest.approx(trained, rel=1e-4)
