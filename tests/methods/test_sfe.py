import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA
from sklearn.neighbors import KernelDensity

from benchmarks.worlds import correlated_rows, random_mixture
from whyflag import Domain, Explainer
from whyflag.methods import SFE
from whyflag.methods.sfe import consistent
from whyflag.prepared import Prepared
from whyflag.score.conditioned_mixture import ConditionedMixture
from whyflag.score.mixture import MixtureEnergy

ENERGY = random_mixture(8, 3, 100.0, seed=4)
X = np.random.default_rng(0).normal(size=(12, 8)) * 2


def marginal_energy(energy, x, columns):
    columns = np.array(sorted(columns))
    log_density = [
        multivariate_normal.logpdf(x[columns], mean[columns], covariance[np.ix_(columns, columns)])
        for mean, covariance in zip(energy.function.means, energy.function.covariances, strict=True)
    ]
    return -logsumexp(np.array(log_density) + energy.function.log_weights)


def greedy(energy, x, players, begin=()):
    """The definition, with SciPy's densities of every set anew."""
    chosen, left, gains = [*begin], list(range(len(players))), []
    order = []
    before = marginal_energy(energy, x, chosen) if chosen else 0.0
    while left:
        reached = [marginal_energy(energy, x, [*chosen, *players[j]]) for j in left]
        best = int(np.argmax(reached))
        gains.append(reached[best] - before)
        before = reached[best]
        order.append(left.pop(best))
        chosen += players[order[-1]]
    return order, gains


def test_equals_brute_force():
    attribution = Explainer(ENERGY, domain=Domain(8), method="SFE")(X)
    for x, order, values in zip(X, attribution.order, attribution.values, strict=True):
        expected, gains = greedy(ENERGY, x, [[i] for i in range(8)])
        assert order.tolist() == expected
        np.testing.assert_allclose(values[order], consistent(np.array(gains)), rtol=1e-8)


def test_equals_brute_force_with_groups_and_fixed_columns():
    domain = Domain(8, players={"a": [0, 3, 6], "b": [1, 4]}, fixed=[2])
    attribution = Explainer(ENERGY, domain=domain, method="SFE")(X)
    players = [np.flatnonzero(row).tolist() for row in domain.membership]
    movable = [j for j, columns in enumerate(players) if columns != [2]]
    for x, order, values in zip(X, attribution.order, attribution.values, strict=True):
        expected, gains = greedy(ENERGY, x, [players[j] for j in movable], begin=[2])
        found = [j for j in order.tolist() if j in movable]
        assert found == [movable[j] for j in expected]
        np.testing.assert_allclose(
            np.sort(values), np.sort([*consistent(np.array([*gains, 0.0]))]), rtol=1e-7, atol=1e-9
        )


def test_any_marginal_score_will_do():
    """A kernel density has no shortcut: each set is asked for anew."""
    rows = correlated_rows(60, 5, seed=0)
    density = KernelDensity(bandwidth=0.5).fit(rows / rows.std(axis=0))
    strange = rows[:4] / rows.std(axis=0) + [0, 0, 3, 0, 0]
    attribution = Explainer(density, domain=Domain(5), method="SFE")(strange)
    assert (attribution.order[:, 0] == 2).mean() >= 0.75
    np.testing.assert_allclose(attribution.base_values, 0.0, atol=1e-9)


def test_of_a_sum_of_parts_they_are_the_parts():
    rows = correlated_rows(200, 6, seed=0)
    pca = PCA(2).fit(rows)
    sfe, marg = (Explainer(pca, rows, name)(rows[:5]) for name in ("SFE", "marg"))
    np.testing.assert_allclose(sfe.values, marg.values, rtol=1e-6, atol=1e-9)


def test_the_base_is_what_the_units_make():
    """Densities are those of columns in their scales; nothing else is constant."""
    scale = np.array([0.1, 1.0, 3.0, 10.0, 100.0, 1.0, 1.0, 2.0])
    attribution = SFE().bind(Prepared(ENERGY, Domain(8, scale=scale))).attribute(X)
    np.testing.assert_allclose(attribution.base_values, np.log(scale).sum(), atol=1e-8)


@settings(max_examples=100)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30))
def test_values_fall_along_the_order_and_keep_the_sum(gains):
    values = consistent(np.array(gains))
    assert values.sum() == pytest.approx(sum(gains), abs=1e-6 * (1 + max(map(abs, gains))))
    largest = max(map(abs, gains))
    # Below the smallest normal numbers there is no room for a billionth.
    if largest > 1e-290:
        assert (np.diff(values) < 0).all()


def test_gains_that_fall_are_left_alone():
    gains = np.array([5.0, 3.0, 1.0, -2.0])
    np.testing.assert_allclose(consistent(gains), gains, atol=1e-8)


def test_features_that_only_together_are_anomalous_share():
    gains = np.array([1.0, 9.0, 0.5])
    np.testing.assert_allclose(consistent(gains), [5.0, 5.0, 0.5], atol=1e-7)


def test_274_features_ask_for_no_density_anew(monkeypatch):
    """One update of the step before for each feature, not the p²/2 densities of every set."""
    asked, steps = [], []
    marginal, added = MixtureEnergy._marginal, ConditionedMixture.added

    def count_asked(self, Z, columns):
        asked.append(len(columns))
        return marginal(self, Z, columns)

    def count_steps(self, groups):
        steps.append(len(groups))
        return added(self, groups)

    monkeypatch.setattr(MixtureEnergy, "_marginal", count_asked)
    monkeypatch.setattr(ConditionedMixture, "added", count_steps)
    energy = random_mixture(274, 4, 100.0, seed=0)
    rows = np.random.default_rng(0).normal(size=(2, 274))
    attribution = SFE().bind(Prepared(energy, Domain(274))).attribute(rows)
    assert asked == [0]
    assert steps == [274] * 274
    np.testing.assert_allclose(attribution.base_values, 0.0, atol=1e-6)
