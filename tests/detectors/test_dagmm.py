import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.utils.estimator_checks import parametrize_with_checks

from planted import HELD_OUT, NORMAL, PLANTED, assert_gradient_equals_differences, found
from whyflag import as_score
from whyflag.detectors import DAGMM
from whyflag.detectors.dagmm import LAYERS, describe, mixture_of
from whyflag.detectors.latent_mixture import LatentMixture
from whyflag.score import Gradient

SMALL = {"n_components": 2, "latent": 3, "hidden": 8}
FLOOR = 1e-6  # far below the default: what is degenerate stays so


@parametrize_with_checks([DAGMM(**SMALL, max_updates=20), DAGMM(max_updates=5)])
def test_it_is_a_scikit_learn_estimator(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def fitted():
    # A tenfold rate, for time: with the default one, it takes 20,000 updates.
    return DAGMM(2, 6, 16, learning_rate=1e-3, max_updates=3000).fit(NORMAL)


def standardised(rows):
    return torch.tensor((rows - NORMAL.mean(axis=0)) / NORMAL.std(axis=0))


def features_of(detector, rows):
    """Spelled out from the description: relative distance, cosine, latent code."""
    arrays = {name: torch.tensor(array) for name, array in detector.weights_.items()}
    softplus = torch.nn.functional.softplus

    def linear(name, x):
        return x @ arrays[f"{name}.weight"] + arrays[f"{name}.bias"]

    Z = standardised(rows)
    code = linear("code", softplus(linear("encoder", Z)))
    seen = linear("output", softplus(linear("decoder_2", softplus(linear("decoder_1", code)))))
    distance = (Z - seen).norm(dim=1) / Z.norm(dim=1)
    cosine = torch.nn.functional.cosine_similarity(Z, seen)
    features = torch.cat([distance[:, None], cosine[:, None], code], dim=1)
    belongs = torch.softmax(linear("membership", softplus(linear("estimator", features))), dim=1)
    return features.numpy(), belongs.numpy()


def test_candidates_are_the_papers():
    detector = DAGMM(max_updates=2).fit(np.random.default_rng(0).normal(size=(100, 10)))
    tried = {tuple(candidate.settings.values()) for candidate in detector.selection_.candidates}
    assert tried == {(k, z, h) for k in (2, 3, 4) for z in (2, 4, 6, 8) for h in (5, 10, 20)}
    assert detector.learning_rate == 1e-4
    assert len(LAYERS) == 7  # encoder and decoder as the VAE's, one hidden layer in the estimator


def test_the_energy_is_that_of_the_mixture_of_all_training_rows(fitted):
    """By SciPy's densities. The authors' program keeps the mixture of the last mini-batch."""
    features, belongs = features_of(fitted, NORMAL)
    scored, _ = features_of(fitted, PLANTED)
    log_joint = []
    for k in range(2):
        weight = belongs[:, k]
        covariance = np.cov(features.T, aweights=weight, ddof=0) + fitted.reg_covar_ * np.eye(8)
        mean = np.average(features, axis=0, weights=weight)
        log_joint.append(
            np.log(weight.mean()) + multivariate_normal.logpdf(scored, mean, covariance)
        )
    np.testing.assert_allclose(as_score(fitted)(PLANTED), -logsumexp(log_joint, axis=0), rtol=1e-4)


def test_the_score_is_a_smooth_fixed_function_of_a_row(fitted):
    score = as_score(fitted)
    assert score.find(Gradient) is not None
    assert_gradient_equals_differences(score, PLANTED[:10])
    np.testing.assert_array_equal(score(PLANTED), score(PLANTED))
    alone = [score(PLANTED[i : i + 1])[0] for i in range(5)]
    np.testing.assert_allclose(score(PLANTED)[:5], alone, rtol=1e-10)


def test_the_planted_culprit_comes_first(fitted):
    score = as_score(fitted)
    assert (score(PLANTED) > score(HELD_OUT)).mean() > 0.9
    assert found(fitted) >= 0.9


def test_networks_of_several_sizes_side_by_side_are_each_as_alone():
    """Padding of features, units and components counts for nothing."""
    detector = DAGMM((2, 4), (1, 3), (4, 8), max_updates=1).fit(NORMAL)
    from whyflag.detectors.stack import Stack

    sizes = [(4, 1, 2), (8, 3, 4), (4, 3, 2)]
    widths = [
        {"input": 8, "hidden": h, "latent": z, "features": z + 2, "n_components": k}
        for h, z, k in sizes
    ]
    seeds = [(0, i) for i in range(3)]
    binary = torch.as_tensor(detector.binary_)
    rows = standardised(NORMAL[:200])

    def energies(which):
        stack = Stack.random(
            LAYERS, [widths[i] for i in which], [seeds[i] for i in which], torch.float64
        )
        features, _ = describe(stack, rows, binary)
        mixture = mixture_of(stack, features, FLOOR)
        penalty = mixture.singularity(stack.masks["n_components"])
        return mixture.energy(features), penalty

    together, penalties = energies([0, 1, 2])
    for i in range(3):
        alone, penalty = energies([i])
        torch.testing.assert_close(together[i], alone[0], rtol=1e-8, atol=1e-8)
        torch.testing.assert_close(penalties[i], penalty[0], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("spread", [1.0, 1e-3, 1e-6, 0.0])
def test_the_mixture_is_stable_towards_singularity(spread):
    rng = np.random.default_rng(0)
    direction = rng.normal(size=(500, 1)) @ rng.normal(size=(1, 6)) * 100
    features = torch.tensor(direction + spread * rng.normal(size=(500, 6)) + 1000)[None]
    features.requires_grad_()
    memberships = torch.tensor(rng.dirichlet(np.ones(3), size=500))[None]
    mixture = LatentMixture.estimate(features, memberships, torch.ones(1, 1, 6), FLOOR)
    energy = mixture.energy(features)
    (gradient,) = torch.autograd.grad(energy.sum(), features)
    assert torch.isfinite(energy).all()
    assert torch.isfinite(gradient).all()


@pytest.mark.parametrize(
    "rows",
    [
        np.ones((50, 4)),
        np.repeat(np.eye(4), 20, axis=0),
        np.random.default_rng(0).normal(size=(80, 1)) @ np.ones((1, 4)),
        np.random.default_rng(0).normal(size=(6, 20)),
    ],
    ids=["constant", "one-hot", "rank one", "more columns than rows"],
)
def test_degenerate_rows_have_finite_scores(rows):
    detector = DAGMM(2, 2, 4, reg_covar=FLOOR, max_updates=200).fit(rows)
    assert np.isfinite(detector.score_samples(rows)).all()
    assert np.isfinite(detector.score_samples(np.zeros_like(rows))).all()


def test_no_variance_is_below_the_floor():
    detector = DAGMM(**SMALL, reg_covar=0.1, max_updates=20).fit(NORMAL)
    variances = 1 / np.diagonal(detector.mixture_["whiten"], axis1=1, axis2=2) ** 2
    assert variances.min() >= 0.1


@pytest.mark.parametrize("floor", [0, -1.0, np.inf, np.nan])
def test_a_floor_must_be_positive(floor):
    with pytest.raises(ValueError, match="`reg_covar` must be a finite number, above 0, or None"):
        DAGMM(**SMALL, reg_covar=floor).fit(NORMAL)


def test_a_diverging_candidate_does_not_end_the_search():
    with pytest.raises(ValueError, match=r"None of the 1 candidates.*diverged"):
        DAGMM(**SMALL, learning_rate=1e30, max_updates=50).fit(NORMAL)


def test_same_seed_same_bits():
    one, other = (DAGMM(**SMALL, max_updates=20, random_state=1).fit(NORMAL) for _ in range(2))
    np.testing.assert_array_equal(one.score_samples(PLANTED), other.score_samples(PLANTED))
