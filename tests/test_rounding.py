"""Shaken by a tenth of a trillionth, nothing changes: rounding decides nothing."""

import copy
from functools import cache

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import KernelDensity, LocalOutlierFactor

from whyflag import Explainer, as_score
from whyflag.detectors import GMM, VAE
from whyflag.games import LocalMinimum
from whyflag.methods import ASH, METHODS

SHAKE = 1e-13
N = 12


def one_hot():
    rng = np.random.default_rng(0)
    kinds = rng.integers(3, size=160)
    table = np.hstack(
        [
            np.eye(c)[np.where(rng.random(160) < 0.7, kinds % c, rng.integers(c, size=160))]
            for c in (2, 3, 4)
        ]
    )
    rows = table[140 : 140 + N].copy()
    which = rng.integers(table.shape[1], size=N)
    rows[np.arange(N), which] = 1 - rows[np.arange(N), which]
    return table[:140], rows


def integers():
    background, rows = real()
    return np.round(2 * background), np.round(2 * rows)


def real():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(200 + N, 2)) @ rng.normal(size=(2, 5))
    table += 0.5 * rng.normal(size=table.shape)
    rows = table[200:].copy()
    rows[np.arange(N), np.arange(N) % 5] += 4 * table.std(axis=0)[np.arange(N) % 5]
    return table[:200], rows


TABLES = {"one-hot": one_hot, "integers": integers, "real": real}
DETECTORS = {
    "GMM, no floor": lambda rows: GMM(3, reg_covar=1e-6).fit(rows),
    "GMM": lambda rows: GMM(3).fit(rows),
    "VAE": lambda rows: VAE(latent=2, hidden=8, max_updates=200).fit(rows),
    "IsolationForest": lambda rows: IsolationForest(n_estimators=20, random_state=0).fit(rows),
    "KernelDensity": lambda rows: KernelDensity(bandwidth=0.5).fit(rows),
    "LOF": lambda rows: LocalOutlierFactor(novelty=True).fit(rows),
}
CONFIGURED = {name: method() for name, method in METHODS.items()} | {"v̂": ASH(LocalMinimum())}
# The neighbours of rows of whole numbers are ties of the detector's own.
NOT_MEANT = {("LOF", "integers"), ("LOF", "one-hot")}
# v̂ takes a minimisation for each coalition, of a forest or of neighbours a search.
SLOW = {("v̂", "one-hot"), ("v̂", "IsolationForest"), ("v̂", "LOF"), ("v̂", "KernelDensity")}


@cache
def fitted(detector, table):
    return DETECTORS[detector](TABLES[table]()[0])


def shaken(rows, seed):
    """Rows in which all but zeros and ones are moved; those mark what is present."""
    rng = np.random.default_rng(seed)
    noise = SHAKE * rng.normal(size=rows.shape)
    binary = ((rows == 0) | (rows == 1)).all(axis=0)
    return np.where(binary, rows, rows * (1 + noise) + SHAKE * rng.normal(size=rows.shape))


def shaken_parameters(detector, seed):
    if not isinstance(detector, GMM):
        return detector
    other, rng = copy.deepcopy(detector), np.random.default_rng(seed)
    noise = SHAKE * rng.normal(size=other.covariances_.shape)
    other.covariances_ = other.covariances_ * (1 + (noise + noise.transpose(0, 2, 1)) / 2)
    other.means_ = other.means_ + SHAKE * rng.normal(size=other.means_.shape)
    return other


CASES = [
    (method, detector, table)
    for method in CONFIGURED
    for detector in DETECTORS
    for table in TABLES
    if (detector, table) not in NOT_MEANT
    and (method, table) not in SLOW
    and (method, detector) not in SLOW
]


@pytest.mark.parametrize(("method", "detector", "table"), CASES)
def test_rounding_decides_nothing(method, detector, table):
    configured = CONFIGURED[method]
    background, rows = TABLES[table]()
    score = as_score(fitted(detector, table))
    if not configured.applies_to(score):
        pytest.skip(f"{method} does not take it")
    values = Explainer(score, background, configured)(rows).values
    largest = np.abs(values).max(axis=1, keepdims=True)
    for seed in (1, 2):
        other = shaken_parameters(fitted(detector, table), seed)
        changed = Explainer(other, shaken(background, seed), configured)(shaken(rows, seed)).values
        assert (np.abs(changed - values) <= 0.01 * largest).all()
        # Another culprit may come first only where the two are as good as equal.
        first = np.take_along_axis(values, changed.argmax(axis=1)[:, None], axis=1)
        assert (first >= values.max(axis=1, keepdims=True) - 0.01 * largest).all()
