import numpy as np
import pytest
import torch
from captum.attr import IntegratedGradients

from benchmarks.worlds import random_mixture
from whyflag import Domain, Explainer, as_score
from whyflag.adapters import torch_score
from whyflag.methods import IG

NORMAL = np.random.default_rng(0).normal(size=(200, 6)) + 1.0
X = np.random.default_rng(1).normal(size=(8, 6)) * 3


def network(seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1), torch.nn.Flatten(0)
    ).double()


@pytest.mark.parametrize("n_steps", [5, 50, 200])
def test_equals_captum_with_the_same_steps(n_steps):
    module = network()
    method = IG(n_steps=n_steps, max_steps=n_steps)
    ours = Explainer(as_score(module, n_features=6), NORMAL, method)(X)
    baseline = torch.as_tensor(NORMAL.mean(axis=0))[None]
    theirs = IntegratedGradients(module).attribute(
        torch.as_tensor(X), baselines=baseline, n_steps=n_steps, method="gausslegendre"
    )
    # captum rounds the weights of the steps to single precision.
    np.testing.assert_allclose(ours.values, theirs.detach().numpy(), rtol=1e-6, atol=1e-8)


def test_a_quadratic_has_its_closed_form():
    A = np.array([[2.0, 1.0], [1.0, 3.0]])
    score = as_score(lambda X: np.einsum("ni,ij,nj->n", X, A, X), lambda X: 2 * X @ A)
    background = np.array([[0.5, -1.0], [1.5, 3.0]])
    attribution = Explainer(score, background, IG())(np.array([[2.0, -1.0], [0.3, 4.0]]))
    r, x = background.mean(axis=0), attribution.data
    np.testing.assert_allclose(attribution.values, (x - r) * ((x + r) @ A), rtol=1e-12)
    np.testing.assert_allclose(attribution.unexplained, 0.0, atol=1e-12)


def kinked(X):
    return np.abs(X - 0.2345) @ np.arange(1.0, 7.0)


def kinked_gradient(X):
    return np.sign(X - 0.2345) * np.arange(1.0, 7.0)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-6])
def test_more_steps_are_taken_until_little_is_missing(tolerance):
    score = as_score(kinked, kinked_gradient)
    few = Explainer(score, NORMAL, IG(n_steps=8, max_steps=8))(X)
    more = Explainer(score, NORMAL, IG(n_steps=8, tolerance=tolerance))(X)
    allowed = tolerance * np.abs(more.values).sum(axis=1)
    assert more.converged.all()
    assert (np.abs(more.unexplained) <= allowed).all()
    assert np.abs(few.unexplained).max() > allowed.max() or tolerance == 1e-2
    assert more.evaluations.max() > few.evaluations.max()
    # Not only their sum: each kinked feature has a closed form of its own.
    r = NORMAL.mean(axis=0)
    exact = (np.abs(X - 0.2345) - np.abs(r - 0.2345)) * np.arange(1.0, 7.0)
    assert np.abs(more.values - exact).max() <= 20 * tolerance * np.abs(exact).max()


def test_only_the_pieces_that_miss_something_are_halved():
    """One kink takes as many points more for each digit, not ten times as many."""
    score = as_score(kinked, kinked_gradient)
    rows = np.array([[5.0, 1.0, 1.0, 1.0, 1.0, 1.0]])  # the others do not cross the kink
    background = np.vstack([np.ones(6), np.ones(6)])
    background[:, 0] = -3.0
    counts = [
        Explainer(score, background, IG(n_steps=4, tolerance=tolerance))(rows).n_evaluations
        for tolerance in (1e-2, 1e-4, 1e-6, 1e-8)
    ]
    assert counts[-1] < 5 * counts[0]
    assert np.diff(counts).max() < 100


def test_a_limit_that_is_hit_is_said():
    score = as_score(kinked, kinked_gradient)
    attribution = Explainer(score, NORMAL, IG(n_steps=8, tolerance=1e-10, max_steps=40))(X)
    assert not attribution.converged.any()
    assert "8 not converged" in repr(attribution)
    assert (attribution.evaluations <= 40 + 6 + 3).all()
    assert (np.abs(attribution.unexplained) > 0).all()


FIRST = np.eye(6)[0]  # the gradient of the first column


def test_a_score_without_an_answer_on_the_way_is_refused():
    """NaN would otherwise be halved until the limit, and come out as an attribution."""
    gap = as_score(
        lambda X: np.where(np.abs(X[:, 0]) < 0.5, np.nan, X[:, 0]), lambda X: FIRST + 0 * X
    )
    with pytest.raises(ValueError, match="The score must be finite, got nan"):
        Explainer(gap, np.full((2, 6), -2.0), "IG", domain=Domain(6))(np.full((1, 6), 2.0))


def test_a_gradient_without_an_answer_on_the_way_is_refused():
    gap = as_score(lambda X: X[:, 0], lambda X: np.where(np.abs(X) < 0.5, np.nan, FIRST))
    with pytest.raises(ValueError, match="IG needs a gradient that is finite"):
        Explainer(gap, np.full((2, 6), -2.0), "IG", domain=Domain(6))(np.full((1, 6), 2.0))


def test_the_mean_of_the_background_is_the_reference():
    energy = random_mixture(6, 2, 10.0, seed=0)
    attribution = Explainer(energy, NORMAL, "IG")(X)
    expected = np.broadcast_to(NORMAL.mean(axis=0), X.shape)
    np.testing.assert_allclose(attribution.reference, expected)


def test_a_player_gets_the_sum_of_its_columns():
    energy = random_mixture(6, 2, 10.0, seed=0)
    single = Explainer(energy, NORMAL, "IG", domain=Domain(6))(X)
    domain = Domain(6, players={"g": [1, 4]})
    group = Explainer(energy, NORMAL, "IG", domain=domain)(X)
    np.testing.assert_allclose(group.values[:, 1], single.values[:, [1, 4]].sum(axis=1))


def test_float32_modules_are_no_trouble():
    score = torch_score(lambda X: (X**2).sum(dim=1), 6, dtype=torch.float32)
    attribution = Explainer(score, NORMAL, "IG")(X)
    assert attribution.converged.all()


@pytest.mark.parametrize(("n_steps", "max_steps"), [(0, 10), (20, 10)])
def test_steps_that_make_no_sense_are_refused(n_steps, max_steps):
    with pytest.raises(ValueError, match=r"`n_steps` must be .*, got"):
        IG(n_steps, max_steps=max_steps)
