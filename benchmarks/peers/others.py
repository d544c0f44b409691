"""The libraries: what they are asked for, each as its documentation says.

An explainer is made before its time is taken. Where a library lets one choose, it has what serves
it best here: pairs of coalitions, no selection of features, all coalitions where these are few.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from benchmarks.peers.games import Game
from whyflag import Explainer
from whyflag.arrays import Matrix, Vector
from whyflag.methods import KSH
from whyflag.shapley import Kernel

Explain = Callable[[Matrix], Matrix]  # rows -> values, both n x d
Peer = Callable[[Game, int, int], Explain]  # of a game, a budget and a seed


def ours(game: Game, budget: int, seed: int) -> Explain:
    """KSH, with all that the score is able to."""
    explain = Explainer(game.score, game.references, KSH(solver=Kernel(budget, seed)))

    def values(X: Matrix) -> Matrix:
        found = explain(X)
        game.asked[0] += found.n_evaluations
        return found.values

    return values


def shap_kernel(game: Game, budget: int, seed: int) -> Explain:
    """All features, not only those that a lasso chooses."""
    import shap

    explain = shap.KernelExplainer(game, game.references, seed=seed)
    return lambda X: explain.shap_values(X, nsamples=budget, l1_reg=False, silent=True)


def shap_permutation(game: Game, budget: int, seed: int) -> Explain:
    """Whole walks to and fro, as many as the budget has."""
    import shap

    masker = shap.maskers.Independent(game.references, max_samples=len(game.references))
    explain = shap.PermutationExplainer(game, masker, seed=seed)
    return lambda X: explain(X, max_evals=budget + 2, silent=True).values


def lightshap(game: Game, budget: int, seed: int) -> Explain:
    """Its hybrid of degree 1, the default above 16 columns, with a fixed number of rounds."""
    from lightshap import explain_any

    how: dict[str, Any] = {"how": "exact"}
    if budget < 2**game.d - 2:
        # Coalitions of one column, or of all others, are counted; a round walks to and fro.
        rounds = (budget - 2 * game.d) // (2 * (game.d - 3))
        how = {"how": "h1", "max_iter": max(2, rounds), "tol": 1e-12}
    return lambda X: np.asarray(
        explain_any(
            game, X, bg_X=game.references, method="kernel", verbose=False, random_state=seed, **how
        ).shap_values
    )


def shapiq(kind: str, terms: float | None = None, **settings: Any) -> Peer:
    """One of shapiq's approximators; with `terms` it fits so many for each coalition."""

    def peer(game: Game, budget: int, seed: int) -> Explain:
        import shapiq.approximator as approximators

        d = game.d
        most = {} if terms is None else {"max_terms": max(d + 1, int(terms * budget))}
        explain = getattr(approximators, kind)(n=d, random_state=seed, **most, **settings)

        def values(x: Vector) -> Vector:
            found = explain.approximate(budget + 2, lambda z: game.worth(x, z))
            return np.array([found[(i,)] for i in range(d)])

        return lambda X: np.array([values(x) for x in X])

    return peer


def shap_trees(game: Game, budget: int, seed: int) -> Explain:
    """The mean depth, sign turned, as an anomaly is a short path."""
    import shap

    kind = "interventional"
    explain = shap.TreeExplainer(game.model, game.references, feature_perturbation=kind)
    return lambda X: -explain.shap_values(X, check_additivity=False)


def shapiq_trees(game: Game, budget: int, seed: int) -> Explain:
    """The same; it has no batches."""
    from shapiq.tree.interventional import InterventionalTreeSHAPIQ

    explain = InterventionalTreeSHAPIQ(game.model, game.references, max_order=1, index="SV")

    def values(x: Vector) -> Vector:
        found = explain.explain_function(x)
        return np.array([-found[(i,)] for i in range(game.d)])

    return lambda X: np.array([values(x) for x in X])


def woodelf(game: Game, budget: int, seed: int) -> Explain:
    """The same; made for tables of millions."""
    import pandas as pd
    from woodelf import WoodelfExplainer

    explain = WoodelfExplainer(game.model, pd.DataFrame(game.references))
    return lambda X: -np.asarray(explain.shap_values(pd.DataFrame(X), verbose=False))


SAMPLING: dict[str, tuple[str, Peer]] = {
    "shap Kernel": ("shap", shap_kernel),
    "shap Permutation": ("shap", shap_permutation),
    "lightshap": ("lightshap", lightshap),
    "KernelSHAP": ("shapiq", shapiq("KernelSHAP", pairing_trick=True)),
    "LeverageSHAP": ("shapiq", shapiq("LeverageSHAP")),
    "PolySHAP": ("shapiq", shapiq("PolySHAP", 0.25, max_order=3, pairing_trick=True)),
    "OddSHAP": ("shapiq", shapiq("OddSHAP")),
    "RegressionMSR": ("shapiq", shapiq("RegressionMSR", index="SV")),
}
BY_TREES: dict[str, tuple[str, Peer]] = {
    "TreeExplainer": ("shap", shap_trees),
    "shapiq, by trees": ("shapiq", shapiq_trees),
    "woodelf": ("woodelf-explainer", woodelf),
}


def installed(peers: Mapping[str, tuple[str, Peer]]) -> dict[str, Peer]:
    """Those that can be run here; the others are named."""
    there = {}
    for name, (package, peer) in peers.items():
        try:
            version(package)
        except PackageNotFoundError:
            print(f"{name} is left out: {package} is not installed.", file=sys.stderr)
        else:
            there[name] = peer
    return there
