"""Equation 4, the regression of Algorithm 1, and the minimiser."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb

import numpy as np

from whyflag.arrays import BoolMatrix, Matrix, Tensor, Vector
from whyflag.clusters import cluster_centers
from whyflag.domain import Domain
from whyflag.games import Background, RelaxedMinimum
from whyflag.methods import ShapleyValue
from whyflag.minimise import GAMMA, minimise
from whyflag.prepared import Prepared
from whyflag.score import Score
from whyflag.shapley import Exact, Kernel
from whyflag.shapley.coalitions import of_size, sample_of_size
from whyflag_paper import as_published
from whyflag_paper.audit.findings import (
    SEED,
    Finding,
    data,
    gmm,
    mrr,
    planted,
    relative_errors,
)


def equation_4() -> Iterator[Finding]:
    """x*(∅) once for each member of S."""
    for name in ("Thyroid", "BreastW"):
        X, guilty = planted(name)
        score, domain = gmm(name), Domain.infer(data(name)[1].train)
        said = ShapleyValue(Prepared(score, domain), RelaxedMinimum(), Exact()).attribute(X).values
        found = minimise(score, *_problems(X), domain, gamma=GAMMA, basin="nearest")
        minima = found.point.reshape(len(X), -1, X.shape[1])
        other = _relaxed(score, X, minima, once=False)
        yield Finding(
            "equation 4", f"{name}-GMM", "MRR of ASH", mrr(said, guilty), mrr(other, guilty)
        )


def _problems(X: Matrix) -> tuple[Matrix, BoolMatrix]:
    """The empty set and each singleton, for each row: where to begin, and what to keep."""
    n, d = X.shape
    keep = np.vstack([np.zeros((1, d), dtype=bool), np.eye(d, dtype=bool)])
    return np.repeat(X, d + 1, axis=0), np.tile(keep, (n, 1))


def _relaxed(score: Score, X: Matrix, minima: Tensor, *, once: bool) -> Matrix:
    """Shapley values of v̲, from its d + 1 minima of each row, (n, d)."""
    inner = as_published.inner_coalitions(X.shape[1])
    values = []
    for x, around in zip(X, minima, strict=True):
        worth = score(as_published.relaxed_points(x, around, inner, once=once))
        ends = score(np.vstack([around[0], x]))
        values.append(as_published.regression(inner, worth, as_published.weights(inner), *ends))
    return np.array(values)


def regression_weights() -> Iterator[Finding]:
    """The printed weight, and the middle size left out, with all coalitions at hand."""
    for name in ("Thyroid", "U2R"):
        X = planted(name)[0][:40]
        game = RelaxedMinimum().bind(gmm(name), Domain.infer(data(name)[1].train), X)
        exact = Exact().solve(game)
        every = as_published.inner_coalitions(game.n_players)
        some = as_published.inner_coalitions(game.n_players, leave_out=game.n_players // 2)
        printed = as_published.weights(every, as_published.printed_weight)
        for what, inner, weights in (
            ("Algorithm 1's weight", every, printed),
            ("middle size left out", some, as_published.weights(some)),
        ):
            other = _regressions(game(inner), inner, weights, exact.empty, exact.full)
            yield Finding(
                what,
                f"{name}-GMM, ASH",
                "relative error of the Shapley values, median (largest)",
                "0",
                relative_errors(other, exact.values),
            )


def _regressions(
    worth: Matrix, inner: BoolMatrix, weights: Vector, empty: Vector, full: Vector
) -> Matrix:
    return np.array(
        [
            as_published.regression(inner, row, weights, *ends)
            for row, *ends in zip(worth, empty, full, strict=True)
        ]
    )


def sampling() -> Iterator[Finding]:
    """Sizes drawn by the weight of one coalition, and one weight for all that are drawn."""
    for name in ("Lympho", "Arrhythmia"):
        X = planted(name)[0][:4]
        d, train = X.shape[1], data(name)[1].train
        centers, sizes = cluster_centers(train, Domain.infer(train).scale, 8, SEED)
        game = Background(centers, sizes).bind(gmm(name), Domain(X.shape[1]), X)
        reference = Kernel(budget=40_000, seed=1).solve(game)
        whole = np.vstack([of_size(d, 1), ~of_size(d, 1)])  # these sizes are counted whole
        rng = np.random.default_rng(SEED)
        counts = rng.multinomial(2048, as_published.sampled_sizes(d))
        drawn = [
            sample_of_size(d, size, int(count), rng)
            for size, count in enumerate(counts, 2)
            if count
        ]
        inner = np.vstack([whole, *drawn])
        weights = as_published.weights(whole)
        constant = as_published.sampled_weight(d)
        weights = np.append(weights, np.full(len(inner) - len(whole), constant))
        other = _regressions(game(inner), inner, weights, reference.empty, reference.full)
        total = sum(as_published.kernel_weight(d, s) * comb(d, s) for s in range(1, d))
        alone = weights[: len(whole)].sum()
        where = f"{name}-GMM, KSH"
        yield Finding(
            "WLS sampling",
            where,
            "weight of what is sampled",
            f"{1 - alone / total:.0%}",
            f"{100 * (1 - alone / weights.sum()):.2g}%",
        )
        yield Finding(
            "WLS sampling",
            where,
            "relative error, median (largest)",
            relative_errors(Kernel().solve(game).values, reference.values),
            relative_errors(other, reference.values),
        )


def minimiser() -> Iterator[Finding]:
    """Adam with few small steps, against the minimum."""
    for name in ("Thyroid", "BreastW"):
        X, guilty = planted(name)
        score, domain = gmm(name), Domain.infer(data(name)[1].train)
        said, other = [], []
        for gamma in (0.001, 0.1, 10.0):
            ours = ShapleyValue(Prepared(score, domain), RelaxedMinimum(gamma), Exact()).attribute(
                X
            )
            said.append(mrr(ours.values, guilty))
            begin, keep = _problems(X)
            found = as_published.adam_minimum(score, begin, ~keep, gamma)
            minima = found.reshape(len(X), -1, X.shape[1])
            other.append(mrr(_relaxed(score, X, minima, once=True), guilty))
        yield Finding(
            "minimiser and distance",
            f"{name}-GMM",
            "MRR of ASH for γ = 0.001, 0.1, 10",
            ", ".join(said),
            ", ".join(other),
        )


PARTS = (equation_4, regression_weights, sampling, minimiser)
