"""The methods that are compared: one line each.

A method is a function from a case and rows to values (`Own`), a method of the library by its name
(`Library`), or a sum of shares of others (`Shares`), which takes no time of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import final

import numpy as np

from benchmarks.culprits.detectors import Case
from benchmarks.culprits.floors import diffi, kernel_shap, largest_z, tree_shap
from benchmarks.culprits.neighbours import Found, one_at_a_time, semivalue
from whyflag import Explainer
from whyflag.arrays import Matrix
from whyflag.methods import Method, get_method

Where = Callable[[Case], bool]


def everywhere(case: Case) -> bool:
    """A method that takes any case."""
    return True


def forests(case: Case) -> bool:
    """A method that looks into trees."""
    return case.forest is not None


def small(case: Case) -> bool:
    """Where a slow method is cheap enough."""
    quick = case.detector in ("GMM", "PCA", "function", "forest")
    return quick and case.world.n_columns <= 10 and not case.world.groups


@final
@dataclass(frozen=True)
class Own:
    """A function from a case and rows to values."""

    function: Callable[[Case, Matrix], Found]
    where: Where = everywhere

    def applies(self, case: Case) -> bool:
        """Whether it can explain the case."""
        return self.where(case)

    def find(self, case: Case, X: Matrix) -> Found:
        """Values of rows."""
        return self.function(case, X)


@final
@dataclass(frozen=True)
class Library:
    """A method of the library."""

    method: Method

    def applies(self, case: Case) -> bool:
        """Whether it can explain the case."""
        return self.method.applies_to(case.prepared.score)

    def find(self, case: Case, X: Matrix) -> Found:
        """Values of rows."""
        attribution = Explainer(case.prepared, method=self.method)(X)
        return Found(attribution.values, float(attribution.evaluations.mean()))


@final
@dataclass(frozen=True)
class Shares:
    """A weighted sum of other methods' shares of the score: those that apply."""

    weights: Mapping[str, float]
    must: tuple[str, ...] = field(default=())  # members without which there is no sum

    def add(self, found: Mapping[str, Found]) -> Found:
        """Members' values to those of the sum."""
        total = sum(
            weight * positive_shares(found[name].values)
            for name, weight in self.weights.items()
            if name in found
        )
        spent = [found[name].evaluations for name in self.weights if name in found]
        return Found(np.asarray(total), float(sum(each or 0.0 for each in spent)))


def positive_shares(values: Matrix) -> Matrix:
    """Positive values, divided by their sum; nothing where there is none: (n, p) -> (n, p)."""
    blame = np.maximum(values, 0.0)
    total = blame.sum(axis=1, keepdims=True)
    return np.divide(blame, total, out=np.zeros_like(blame), where=total > 0)


def library(name: str) -> Library:
    """A method of the library by its name."""
    return Library(get_method(name))


METHODS: dict[str, Own | Library | Shares] = {
    "ASH": library("ASH"),
    "KSH": library("KSH"),
    "wKSH": library("wKSH"),  # R: eight nearest rows by capped distance
    "comp": library("comp"),
    "marg": library("marg"),
    "IG": library("IG"),
    "near": library("near"),
    "ensemble": Shares({"marg": 1, "wKSH": 1, "comp": 1}),  # Ensemble.of of the first version
    "TreeSHAP": Own(tree_shap, forests),
    "KernelSHAP": Own(kernel_shap, small),
    "|z|": Own(largest_z),
    "DIFFI": Own(diffi, forests),
    "O": Own(one_at_a_time),
    "R + O": Shares({"wKSH": 1, "O": 1}),
    "2R + 2O + comp": Shares({"wKSH": 2, "O": 2, "comp": 1}),
    "semivalue 1/2": Own(partial(semivalue, least=0.5)),
    "semivalue 3/4": Own(partial(semivalue, least=0.75)),
}
CHEAP = ("wKSH", "O", "R + O", "2R + 2O + comp", "KSH", "comp", "marg", "ensemble", "near", "|z|")


def members_of(name: str) -> tuple[str, ...]:
    """The methods whose values a method is made of: itself, or those that it sums."""
    method = METHODS[name]
    return tuple(method.weights) if isinstance(method, Shares) else (name,)


def applies(name: str, case: Case) -> bool:
    """Whether a method, or any member of a sum, can explain the case."""
    found = [METHODS[each] for each in members_of(name)]
    return any(not isinstance(each, Shares) and each.applies(case) for each in found)
