"""Every setting of every method and solver, and values that make no sense."""

import re
from dataclasses import fields

import numpy as np
import pytest

from benchmarks.worlds import random_mixture
from whyflag import Domain, Ensemble, Explainer, as_score
from whyflag.games import LocalMinimum, NeighborhoodMinimum, RelaxedMinimum
from whyflag.games.background import Nearest
from whyflag.methods import ASH, KSH, METHODS, WKSH
from whyflag.metrics import auroc, hits_at_k
from whyflag.minimise import Limits, minimise
from whyflag.shapley import Exact, Kernel

ROWS = np.random.default_rng(0).normal(size=(20, 3))
ENERGY = random_mixture(3, 2, 10.0, seed=0)
DOMAIN = Domain(3)
KEEP = np.zeros(ROWS.shape, dtype=bool)

MADE = [*METHODS.values(), LocalMinimum, RelaxedMinimum, NeighborhoodMinimum, Exact, Kernel, Limits]
SETTINGS = {
    f"{made.__name__} {field.name}": lambda value, made=made, name=field.name: made(**{name: value})
    for made in MADE
    for field in fields(made)
} | {
    "Nearest k": lambda value: Nearest(ROWS, DOMAIN, k=value),
    "minimise gamma": lambda value: minimise(ENERGY, ROWS, KEEP, DOMAIN, gamma=value),
    "minimise radius": lambda value: minimise(ENERGY, ROWS, KEEP, DOMAIN, radius=value),
    "Explainer n_jobs": lambda value: Explainer(ENERGY, ROWS, n_jobs=value),
    "Explainer chunk_size": lambda value: Explainer(ENERGY, ROWS, chunk_size=value),
    "Explainer seed": lambda value: Explainer(ENERGY, ROWS, seed=value),
    "hits_at_k k": lambda value: hits_at_k(ROWS, [0] * len(ROWS), k=value),
    "auroc seed": lambda value: auroc(ROWS, [0] * len(ROWS), seed=value),
}
OR_NONE = {
    "ACE n_neighbors",
    "Kernel budget",
    "Kernel precision",
    "minimise radius",
    "Explainer chunk_size",
}
BAD = [-5, np.nan, np.inf, "a", True, [1.0]]


@pytest.mark.parametrize(
    ("setting", "value"),
    [(name, value) for name in SETTINGS for value in (BAD if name in OR_NONE else [*BAD, None])],
)
def test_a_setting_that_makes_no_sense_is_refused_with_what_came(setting, value):
    name = setting.split()[1]
    with pytest.raises(ValueError, match=f"`{name}` must be .*, got {re.escape(repr(value))}"):
        SETTINGS[setting](value)


@pytest.mark.parametrize("value", [1, np.int64(1), np.float32(1.0), 1.0])
def test_numbers_of_any_library_are_numbers(value):
    assert RelaxedMinimum(gamma=value).gamma == 1


@pytest.mark.parametrize("setting", ["n_references", "seed"])
def test_half_a_reference_is_none(setting):
    with pytest.raises(ValueError, match=f"`{setting}` must be a whole number"):
        KSH(**{setting: 1.5})


@pytest.mark.parametrize("method", [ASH, KSH, WKSH])
def test_a_solver_must_be_one(method):
    with pytest.raises(ValueError, match="`solver` must be a ShapleySolver"):
        method(solver="exact")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ASH(game="local"), "`game` must be a characteristic function such as"),
        (lambda: NeighborhoodMinimum(shape="cone"), '`shape` must be "box" or'),
        (lambda: Ensemble([ENERGY]), "`explainers` must be Explainers"),
        (lambda: Explainer(ENERGY, ROWS, domain=3), "`domain` must be a Domain"),
        (lambda: as_score(len, threshold=np.nan), "`threshold` must be a finite number"),
        (lambda: as_score(len, n_features=0), "`n_features` must be a whole number"),
    ],
)
def test_other_settings_that_make_no_sense_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("value", BAD)
@pytest.mark.parametrize(
    "name",
    ["validation_fraction", "reg_covar", "n_init", "max_iter", "contamination", "random_state"],
)
def test_a_detectors_settings_are_checked_before_it_is_fitted(name, value):
    from whyflag.detectors import GMM

    with pytest.raises(ValueError, match=f"`{name}` must be .*, got {re.escape(repr(value))}"):
        GMM(**{name: value}).fit(ROWS)
