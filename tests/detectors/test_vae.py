import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.utils.estimator_checks import parametrize_with_checks

from planted import NORMAL, PLANTED, assert_gradient_equals_differences, found
from whyflag import as_score
from whyflag.detectors import VAE
from whyflag.detectors.vae import LAYERS, _draws
from whyflag.score import Gradient, Marginals

SMALL = {"latent": 3, "hidden": 8}


@parametrize_with_checks([VAE(**SMALL, max_updates=50), VAE(kind="elbo", max_updates=10)])
def test_it_is_a_scikit_learn_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("n", [2, 6, 32])
def test_draws_have_the_mean_and_the_squares_of_a_normal_variable(n):
    draws = _draws(n, 5, seed=3)
    assert draws.shape == (n, 5)
    assert draws.mean(axis=0) == pytest.approx(0)
    assert (draws**2).mean(axis=0) == pytest.approx(1)
    assert not np.allclose(draws, _draws(n, 5, seed=4))


@pytest.fixture(scope="module")
def fitted():
    return VAE(**SMALL, max_updates=2000).fit(NORMAL)


@pytest.fixture(scope="module")
def bits():
    """Binary rows: two bits that are opposites, two that are equal, one by itself."""
    rng = np.random.default_rng(0)
    a, b, c = rng.integers(2, size=(3, 500))
    return np.column_stack([a, 1 - a, b, b, c]).astype(float)


def test_shapes_and_candidates_are_the_papers():
    detector = VAE(max_updates=5).fit(np.random.default_rng(0).normal(size=(100, 10)))
    candidates = {
        (c.settings["latent"], c.settings["hidden"]) for c in detector.selection_.candidates
    }
    assert candidates == {(z, h) for z in (2, 4, 6, 8) for h in (5, 10, 20)}
    assert [layer.name for layer in LAYERS] == [
        "encoder",
        "mean",
        "log_variance",
        "decoder_1",
        "decoder_2",
        "output",
    ]  # one hidden layer in the encoder, two in the decoder
    assert detector.learning_rate == 1e-3


def test_many_columns_train_in_groups_and_are_chosen_among_all(monkeypatch):
    monkeypatch.setattr("whyflag.detectors.autoencoder.FEW_COLUMNS", 4)
    grouped = VAE((2, 3), (4, 8), max_updates=50).fit(NORMAL)
    monkeypatch.undo()
    together = VAE((2, 3), (4, 8), max_updates=50).fit(NORMAL)
    one, other = grouped.selection_.to_frame(), together.selection_.to_frame()
    assert one[["latent", "hidden"]].equals(other[["latent", "hidden"]])
    # Noise is drawn for the widest of those that train together: alike, but not the same.
    np.testing.assert_allclose(one["held-out loss"], other["held-out loss"], rtol=0.02)


def test_the_lowest_negative_elbo_of_held_out_rows_is_chosen(fitted):
    detector = VAE((1, 3), 8, max_updates=200).fit(NORMAL, X_valid=PLANTED)
    losses = [candidate.held_out_loss for candidate in detector.selection_.candidates]
    best = detector.selection_.candidates[int(np.argmin(losses))]
    assert (detector.latent_, detector.hidden_) == (best.settings["latent"], 8)


def test_the_reconstruction_error_is_what_the_paper_says(fitted):
    """‖x − g(f(x))‖² of standardised rows, by a network that PyTorch itself builds."""
    arrays = {name: torch.tensor(array) for name, array in fitted.weights_.items()}

    def linear(name, x):
        return x @ arrays[f"{name}.weight"] + arrays[f"{name}.bias"]

    softplus = torch.nn.functional.softplus
    Z = torch.tensor((PLANTED - NORMAL.mean(axis=0)) / NORMAL.std(axis=0))
    code = linear("mean", softplus(linear("encoder", Z)))
    hidden = softplus(linear("decoder_2", softplus(linear("decoder_1", code))))
    expected = ((Z - linear("output", hidden)) ** 2).numpy()
    score = as_score(fitted)
    assert score.find(Marginals) is not None
    np.testing.assert_allclose(score(PLANTED), expected.sum(axis=1), rtol=1e-10)
    marginals = score.need(Marginals).marginal(PLANTED, np.eye(8, dtype=bool))
    np.testing.assert_allclose(marginals, expected, rtol=1e-10)


def test_the_negative_elbo_is_what_monte_carlo_says(fitted):
    rows = PLANTED[:5]
    stack_score = fitted.to_score("elbo")
    weights = {name: torch.tensor(array) for name, array in fitted.weights_.items()}
    softplus = torch.nn.functional.softplus

    def linear(name, x):
        return x @ weights[f"{name}.weight"] + weights[f"{name}.bias"]

    Z = torch.tensor((rows - NORMAL.mean(axis=0)) / NORMAL.std(axis=0))
    hidden = softplus(linear("encoder", Z))
    q = torch.distributions.Normal(
        linear("mean", hidden), torch.exp(0.5 * linear("log_variance", hidden))
    )
    torch.manual_seed(0)
    z = q.sample((100_000,))
    decoded = linear("output", softplus(linear("decoder_2", softplus(linear("decoder_1", z)))))
    prior = torch.distributions.Normal(torch.zeros(3).double(), torch.ones(3).double())
    log_p = -((Z - decoded) ** 2).sum(dim=2) + prior.log_prob(z).sum(dim=2)
    expected = -(log_p - q.log_prob(z).sum(dim=2)).mean(dim=0)
    np.testing.assert_allclose(stack_score(rows), expected.numpy(), rtol=0.02)


@pytest.mark.parametrize("kind", ["reconstruction", "elbo"])
def test_both_scores_are_smooth_fixed_functions_of_a_row(fitted, kind):
    score = fitted.to_score(kind)
    assert score.find(Gradient) is not None
    assert_gradient_equals_differences(score, PLANTED[:10])
    np.testing.assert_array_equal(score(PLANTED), score(PLANTED))
    alone = [score(PLANTED[i : i + 1])[0] for i in range(5)]
    np.testing.assert_allclose(score(PLANTED)[:5], alone, rtol=1e-12)


@pytest.mark.parametrize("kind", ["reconstruction", "elbo"])
def test_the_planted_culprit_comes_first(fitted, kind):
    assert found(fitted.to_score(kind)) >= 0.9


def test_each_score_has_its_own_threshold(fitted):
    for kind in ("reconstruction", "elbo"):
        score = fitted.to_score(kind)
        assert (score(NORMAL) > score.threshold).mean() == pytest.approx(0.01, abs=0.002)
    assert (fitted.predict(PLANTED) == -1).mean() > 0.9


def test_binary_columns_are_reconstructed_as_probabilities(bits):
    detector = VAE(3, 10, max_updates=3000, random_state=1).fit(bits)
    assert detector.binary_.all()
    np.testing.assert_array_equal(detector.location_, 0)
    wrong = bits[:20].copy()
    wrong[:, 2] = 1 - wrong[:, 2]  # no longer equal to its twin
    for kind in ("reconstruction", "elbo"):
        score = detector.to_score(kind)
        assert (score(wrong) > score(bits[:20])).mean() > 0.9
    marginals = detector.to_score().need(Marginals).marginal(bits[:20], np.eye(5, dtype=bool))
    assert ((marginals >= 0) & (marginals <= 1)).all()


def test_real_and_binary_columns_can_be_mixed(bits):
    rows = np.column_stack([bits, np.random.default_rng(0).normal(size=500) * 100])
    detector = VAE(2, 6, max_updates=20).fit(rows)
    assert detector.binary_.tolist() == [True] * 5 + [False]
    assert VAE(2, 6, binary=(), max_updates=5).fit(rows).binary_.sum() == 0
    told = VAE(2, 6, binary=detector.binary_, max_updates=5).fit(rows)
    assert told.binary_.tolist() == detector.binary_.tolist()
    assert VAE(2, 6, binary=[1], max_updates=5).fit(rows).binary_.tolist() == [
        False,
        True,
        False,
        False,
        False,
        False,
    ]


def test_same_seed_same_bits():
    one, other, third = (
        VAE(**SMALL, max_updates=20, random_state=s).fit(NORMAL) for s in (1, 1, 2)
    )
    np.testing.assert_array_equal(one.score_samples(PLANTED), other.score_samples(PLANTED))
    assert not np.allclose(one.score_samples(PLANTED), third.score_samples(PLANTED))


def test_the_global_generators_are_left_alone():
    torch.manual_seed(7)
    state = torch.get_rng_state()
    VAE(**SMALL, max_updates=20).fit(NORMAL)
    assert torch.equal(torch.get_rng_state(), state)


def test_far_rows_have_finite_scores(fitted):
    for kind in ("reconstruction", "elbo"):
        assert np.isfinite(fitted.to_score(kind)(NORMAL[:5] * 1e6)).all()


def test_a_diverging_candidate_does_not_end_the_search():
    detector = VAE((2, 3), 8, learning_rate=1e3, max_updates=100).fit(NORMAL)
    assert np.isfinite(detector.score_samples(PLANTED)).all()
    with pytest.raises(ValueError, match=r"None of the 2 candidates.*diverged"):
        VAE((2, 3), 8, learning_rate=1e30, max_updates=100).fit(NORMAL)


def test_a_frames_names_are_kept():
    frame = pd.DataFrame(NORMAL, columns=list("abcdefgh"))
    assert VAE(**SMALL, max_updates=5).fit(frame).to_score().feature_names == tuple("abcdefgh")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"latent": 0}, "`latent` must be positive"),
        ({"latent": ()}, "`latent` must have at least one"),
        ({"hidden": "big"}, "`hidden` must be positive"),
        ({"kind": "energy"}, 'must be "reconstruction" or "elbo"'),
        ({"n_draws": 3}, "`n_draws` must be an even number"),
        ({"binary": [8]}, "positions of columns from 0 to 7"),
        ({"binary": [0]}, "column 0 must hold only 0 and 1"),
        ({"contamination": 0.9}, "`contamination`.*at most 0.5"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        VAE(**settings).fit(NORMAL)


def test_an_unknown_score_is_refused(fitted):
    with pytest.raises(ValueError, match='must be "reconstruction" or "elbo"'):
        fitted.to_score("energy")
