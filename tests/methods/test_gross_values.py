"""Sentinels, unit errors, heavy tails: one value far away, however far."""

from functools import cache

import pytest
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
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
@pytest.mark.parametrize("method", ["ASH", "comp", "wKSH"])
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
