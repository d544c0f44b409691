"""Sentinels, unit errors, heavy tails: one value far away, however far."""

from functools import cache

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from benchmarks.gross import METHODS, bounded, found, plant
from whyflag.methods import KSH

D, N = 6, 12
NORMAL, _, _ = plant(D, N, 0.0)
DETECTORS = {
    "function": lambda: bounded(NORMAL),
    "IsolationForest": lambda: IsolationForest(n_estimators=30, random_state=0).fit(NORMAL),
    "LOF": lambda: LocalOutlierFactor(novelty=True).fit(NORMAL),
    "OneClassSVM": lambda: OneClassSVM(nu=0.05).fit(NORMAL),
    "KDE": lambda: KernelDensity(bandwidth=0.5).fit(NORMAL),
    "KDE exponential": lambda: KernelDensity(kernel="exponential", bandwidth=0.5).fit(NORMAL),
    "GaussianMixture": lambda: GaussianMixture(2, random_state=0).fit(NORMAL),
    "PCA": lambda: PCA(3).fit(NORMAL),
    "ECOD": lambda: pyod("ecod", "ECOD"),
    "COPOD": lambda: pyod("copod", "COPOD"),
    "HBOS": lambda: pyod("hbos", "HBOS"),
    "KNN": lambda: pyod("knn", "KNN"),
}


def pyod(module, name):
    made = getattr(pytest.importorskip(f"pyod.models.{module}"), name)()
    return made.fit(NORMAL)


@cache
def fitted(name):
    return DETECTORS[name]()


@cache
def sure(name, shift):
    """Rows whose culprit KSH has first."""
    rows, planted, who = plant(D, N, shift)
    return found(fitted(name), rows, planted, who, KSH())[0]


@pytest.mark.parametrize("shift", [10.0, 100.0, 1e6])
@pytest.mark.parametrize("name", DETECTORS)
@pytest.mark.parametrize("method", ["ASH", "comp", "wKSH", "near"])
def test_the_culprit_is_first_and_its_normal_value_in_range(method, name, shift):
    rows, planted, who = plant(D, N, shift)
    first, within = found(fitted(name), rows, planted, who, METHODS[method])
    assert sure(name, shift).any()
    assert first[sure(name, shift)].mean() >= 0.9  # of at most twelve rows
    assert within.all()


@pytest.mark.parametrize("name", ["function", "OneClassSVM", "KDE", "GaussianMixture", "PCA"])
def test_every_coalitions_minimum_finds_a_sentinel_too(name):
    rows, planted, who = plant(D, N, 1e6)
    first, within = found(fitted(name), rows, planted, who, METHODS["v̂"])
    assert first.mean() >= 0.9
    assert within.all()


@pytest.mark.parametrize("method", ["ASH", "comp", "wKSH", "near"])
@pytest.mark.parametrize("deviations", [4, 10])
def test_an_outlier_among_heavy_tails_is_not_called_normal(method, deviations):
    """A kernel density has a valley at every row, also at one that is an outlier itself."""
    rng = np.random.default_rng(0)
    causes = rng.normal(size=(360, 2)) @ rng.normal(size=(2, 6)) + 0.7 * rng.normal(size=(360, 6))
    rows = np.sinh(1.2 * causes)
    normal, others = rows[:300], rows[300:]
    detector = make_pipeline(StandardScaler(), KernelDensity(bandwidth=0.5)).fit(normal)
    usual = -detector.score_samples(others) < np.quantile(-detector.score_samples(normal), 0.9)
    planted = others[usual][:24].copy()
    who = np.arange(len(planted)) % 6
    planted[np.arange(len(planted)), who] += deviations * normal.std(axis=0)[who]
    sure = found(detector, normal, planted, who, KSH())[0]
    first, within = found(detector, normal, planted, who, METHODS[method])
    assert sure.mean() > 0.9
    assert first[sure].mean() >= 0.95
    assert within.all()
