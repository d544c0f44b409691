"""Every setting of every method and solver, and values that make no sense."""

import re

import numpy as np
import pytest

from benchmarks.worlds import random_mixture
from whyflag import Domain, Ensemble, Explainer, as_score
from whyflag.games import LocalMinimum, NeighborhoodMinimum, RelaxedMinimum
from whyflag.games.background import Nearest
from whyflag.methods import ACE, ASH, COMP, IG, KSH, WKSH
from whyflag.minimise import minimise
from whyflag.shapley import Exact, Kernel

ROWS = np.random.default_rng(0).normal(size=(20, 3))
ENERGY = random_mixture(3, 2, 10.0, seed=0)
DOMAIN = Domain(3)
KEEP = np.zeros(ROWS.shape, dtype=bool)

NUMBERS = {
    "comp gamma": lambda value: COMP(gamma=value),
    "KSH n_references": lambda value: KSH(n_references=value),
    "KSH seed": lambda value: KSH(seed=value),
    "wKSH n_references": lambda value: WKSH(n_references=value),
    "ACE noise": lambda value: ACE(noise=value),
    "ACE flips": lambda value: ACE(flips=value),
    "ACE alpha": lambda value: ACE(alpha=value),
    "ACE kl": lambda value: ACE(kl=value),
    "ACE seed": lambda value: ACE(seed=value),
    "IG n_steps": lambda value: IG(n_steps=value),
    "IG tolerance": lambda value: IG(tolerance=value),
    "IG max_steps": lambda value: IG(max_steps=value),
    "Kernel seed": lambda value: Kernel(seed=value),
    "Kernel max_budget": lambda value: Kernel(max_budget=value),
    "Exact max_players": lambda value: Exact(max_players=value),
    "LocalMinimum gamma": lambda value: LocalMinimum(gamma=value),
    "RelaxedMinimum gamma": lambda value: RelaxedMinimum(gamma=value),
    "NeighborhoodMinimum radius": lambda value: NeighborhoodMinimum(radius=value),
    "Nearest k": lambda value: Nearest(ROWS, DOMAIN, k=value),
    "minimise gamma": lambda value: minimise(ENERGY, ROWS, KEEP, DOMAIN, gamma=value),
    "Explainer n_jobs": lambda value: Explainer(ENERGY, ROWS, n_jobs=value),
}
NUMBERS_OR_NONE = {
    "ACE n_neighbors": lambda value: ACE(n_neighbors=value),
    "Kernel budget": lambda value: Kernel(budget=value),
    "Kernel precision": lambda value: Kernel(precision=value),
    "minimise radius": lambda value: minimise(ENERGY, ROWS, KEEP, DOMAIN, radius=value),
    "Explainer chunk_size": lambda value: Explainer(ENERGY, ROWS, chunk_size=value),
}
BAD = [-5, np.nan, np.inf, "a", True, [1.0]]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        *((name, value) for name in NUMBERS for value in [*BAD, None]),
        *((name, value) for name in NUMBERS_OR_NONE for value in BAD),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_with_what_came(setting, value):
    name = setting.split()[1].strip(",")
    make = {**NUMBERS, **NUMBERS_OR_NONE}[setting]
    with pytest.raises(ValueError, match=f"`{name}` must be .*, got {re.escape(repr(value))}"):
        make(value)


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
