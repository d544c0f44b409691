"""What the paper's text says against what its formulas and its authors' program do, measured.

`python -m whyflag.experiments.audit` prints the table of docs/audit.md, in a few minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from math import comb
from typing import Any, final

import numpy as np
import torch
from tqdm.auto import tqdm

from whyflag.arrays import BoolMatrix, Matrix, Vector
from whyflag.datasets import DATASETS, Dataset, Split, load, split
from whyflag.detectors import DAGMM, GMM, VAE
from whyflag.detectors.dagmm import describe, mixture_of
from whyflag.domain import Domain
from whyflag.experiments import as_published
from whyflag.experiments.anomalies import perturb
from whyflag.experiments.settings import FULL
from whyflag.experiments.supervised import Classifier, has_clear_culprit
from whyflag.explainer import Explainer
from whyflag.games import Background, RelaxedMinimum
from whyflag.methods import ACE, COMP, IG, KSH, MARG, ShapleyMethod
from whyflag.methods.ksh import cluster_centers
from whyflag.metrics import auroc, mean_reciprocal_rank
from whyflag.minimise import minimise
from whyflag.score import Score, evaluate
from whyflag.score.mixture import MixtureEnergy
from whyflag.shapley import Exact, Kernel
from whyflag.shapley.coalitions import of_size, sample_of_size

SEED = 0
MOST_ROWS = 120


@final
@dataclass(frozen=True)
class Finding:
    """One measurement: with the text's definition, and with the other."""

    what: str
    where: str
    quantity: str
    as_text: str
    as_published: str


@cache
def _data(name: str) -> tuple[Dataset, Split]:
    dataset = load(name)
    return dataset, split(dataset, SEED)


@cache
def _gmm(name: str, floor: float = FULL.variance_floor) -> MixtureEnergy:
    _, rows = _data(name)
    return GMM(reg_covar=floor, seed=SEED).fit(rows.train, X_valid=rows.valid).to_score()


@cache
def _planted(name: str, n_culprits: int = 1) -> tuple[Matrix, BoolMatrix]:
    dataset, rows = _data(name)
    normal = np.tile(rows.test_normal, (-(-30 // len(rows.test_normal)), 1))[:MOST_ROWS]
    rng = np.random.default_rng([SEED, n_culprits])
    return perturb(normal, n_culprits, binary=dataset.binary, rng=rng)


def _mrr(values: Any, guilty: BoolMatrix) -> str:
    return f"{mean_reciprocal_rank(values, guilty).value:.2f}"


def compensation() -> Iterator[Finding]:
    """Comp against the number e(x*)."""
    for name in ("Thyroid", "BreastW", "U2R"):
        X, guilty = _planted(name)
        score = _gmm(name)
        said = Explainer(score, _data(name)[1].train, COMP())(X)
        other = as_published.compensation(X, said.base_values)
        yield Finding("comp", f"{name}-GMM", "MRR", _mrr(said.values, guilty), _mrr(other, guilty))


def marginals() -> Iterator[Finding]:
    """Marginals by blocks of the precision."""
    for name in ("Thyroid", "BreastW", "U2R"):
        X, guilty = _planted(name)
        said = Explainer(_gmm(name), _data(name)[1].train, MARG())(X).values
        other = as_published.marginal_energies(_gmm(name), X)
        yield Finding(
            "GMM marginals (marg)", f"{name}-GMM", "MRR", _mrr(said, guilty), _mrr(other, guilty)
        )


def equation_4() -> Iterator[Finding]:
    """x*(∅) once for each member of S."""
    for name in ("Thyroid", "BreastW"):
        X, guilty = _planted(name)
        score, d = _gmm(name), X.shape[1]
        domain = Domain.infer(_data(name)[1].train)
        said = ShapleyMethod(RelaxedMinimum(score, domain), Exact()).attribute(X).values
        inner = as_published.inner_coalitions(d)
        weights = np.array([as_published.kernel_weight(d, s) for s in inner.sum(axis=1)])
        other = []
        for x, minima in zip(X, _minima(score, X, domain), strict=True):
            worth = score(as_published.relaxed_points(x, minima, inner))
            ends = score(np.vstack([minima[0], x]))
            other.append(as_published.regression(inner, worth, weights, *ends))
        yield Finding(
            "equation 4", f"{name}-GMM", "MRR of ASH", _mrr(said, guilty), _mrr(other, guilty)
        )


def _minima(score: Score, X: Matrix, domain: Domain, gamma: float = 0.01) -> np.ndarray:
    n, d = X.shape
    keep = np.vstack([np.zeros((1, d), dtype=bool), np.eye(d, dtype=bool)])
    found = minimise(score, np.repeat(X, d + 1, axis=0), np.tile(keep, (n, 1)), domain, gamma=gamma)
    return found.point.reshape(n, d + 1, d)


def regression_weights() -> Iterator[Finding]:
    """The printed weight, and the middle size left out, with all coalitions at hand."""
    for name in ("Thyroid", "U2R"):
        X, _ = _planted(name)
        X = X[:40]
        score, d = _gmm(name), X.shape[1]
        game = RelaxedMinimum(score, Domain.infer(_data(name)[1].train)).bind(X)
        exact = Exact().solve(game)
        for what, inner, weigh in (
            ("Algorithm 1's weight", as_published.inner_coalitions(d), as_published.printed_weight),
            (
                "middle size left out",
                as_published.inner_coalitions(d, leave_out=d // 2),
                as_published.kernel_weight,
            ),
        ):
            weights = np.array([weigh(d, s) for s in inner.sum(axis=1)])
            worth = game(inner)
            other = np.array(
                [
                    as_published.regression(inner, worth[i], weights, *ends)
                    for i, ends in enumerate(zip(exact.empty, exact.full, strict=True))
                ]
            )
            yield Finding(
                what,
                f"{name}-GMM, ASH",
                "relative error of the Shapley values, median (largest)",
                "0",
                _errors(other, exact.values),
            )


def sampling() -> Iterator[Finding]:
    """Sizes drawn by the weight of one coalition."""
    name = "Lympho"
    X, _ = _planted(name)
    X = X[:6]
    d = X.shape[1]
    centers, sizes = cluster_centers(
        _data(name)[1].train, Domain.infer(_data(name)[1].train), 8, SEED
    )
    game = Background(_gmm(name), centers, sizes).bind(X)
    reference = Kernel(budget=60_000, seed=1).solve(game)
    said = Kernel().solve(game)
    rng = np.random.default_rng(SEED)
    # Single players and their complements are counted whole; the rest of the budget is drawn.
    whole = np.vstack([of_size(d, 1), ~of_size(d, 1)])
    middle = list(range(2, d - 1))
    chances = as_published.sampled_sizes(d, middle)
    drawn = [
        sample_of_size(d, size, int(count), rng)
        for size, count in zip(
            middle, rng.multinomial(2 * d + 2048 - len(whole), chances), strict=True
        )
        if count
    ]
    inner = np.vstack([whole, *drawn])
    weights = np.array([as_published.kernel_weight(d, int(s)) for s in inner.sum(axis=1)])
    n_drawn = len(inner) - len(whole)
    weights[len(whole) :] = weights[len(whole) :].sum() / n_drawn
    worth = game(inner)
    other = np.array(
        [
            as_published.regression(inner, worth[i], weights, reference.empty[i], reference.full[i])
            for i in range(len(X))
        ]
    )
    total = sum(as_published.kernel_weight(d, s) * comb(d, s) for s in range(1, d))
    share = weights[len(whole) :].sum() / weights.sum()
    right = 1 - 2 * as_published.kernel_weight(d, 1) * d / total
    yield Finding(
        "WLS sampling",
        f"{name}-GMM, KSH",
        "weight of what is sampled",
        f"{right:.0%}",
        f"{share:.2%}",
    )
    yield Finding(
        "WLS sampling",
        f"{name}-GMM, KSH",
        "relative error, median (largest)",
        _errors(said.values, reference.values),
        _errors(other, reference.values),
    )


def _errors(values: Matrix, reference: Matrix) -> str:
    error = np.linalg.norm(values - reference, axis=1) / np.linalg.norm(reference, axis=1)
    return f"{np.median(error):.1%} ({error.max():.1%})"


def references() -> Iterator[Finding]:
    """Kernel SHAP with and without the sizes of its clusters."""
    for name in ("Thyroid", "BreastW", "U2R"):
        X, guilty = _planted(name)
        train = _data(name)[1].train
        said = Explainer(_gmm(name), train, KSH())(X).values
        centers, _ = cluster_centers(train, Domain.infer(train), 8, 0)
        other = ShapleyMethod(Background(_gmm(name), centers), Kernel()).attribute(X).values
        yield Finding(
            "KSH's references", f"{name}-GMM", "MRR", _mrr(said, guilty), _mrr(other, guilty)
        )


def link() -> Iterator[Finding]:
    """Logit of a score."""
    X, guilty = _planted("Lympho")
    train = _data("Lympho")[1].train
    said = Explainer(_gmm("Lympho"), train, KSH())(X).values
    linked = as_published.logit(evaluate(_gmm("Lympho"), X))
    by_index = np.tile(-np.arange(X.shape[1], dtype=float), (len(X), 1))
    yield Finding(
        "KSH's link",
        "Lympho-GMM",
        "MRR (scores without a logit)",
        f"{_mrr(said, guilty)} (none)",
        f"{_mrr(by_index, guilty)} ({np.isnan(linked).mean():.0%})",
    )


def flips() -> Iterator[Finding]:
    """ACE with flips taken for row indices."""
    X, guilty = _planted("Lympho")
    train = _data("Lympho")[1].train
    score = _gmm("Lympho")
    said = Explainer(score, train, ACE())(X).values
    flip = np.random.default_rng(SEED).random((32, X.shape[1])) < 0.1
    other, changed = [], 0
    for x in X:
        near = as_published.flipped_rows(x, flip)
        changed = int((near != x).any(axis=1).sum())
        design, target = near - train.mean(axis=0), score(near) - score(train.mean(axis=0)[None])
        normal = design.T @ design + np.eye(len(x)) / len(near)
        w = np.linalg.solve(normal, design.T @ target)
        other.append(np.logaddexp(0, w * (x - train.mean(axis=0))))
    yield Finding(
        "ACE's flips",
        "Lympho-GMM",
        "MRR",
        _mrr(said, guilty),
        f"{_mrr(np.array(other), guilty)} ({changed} of 32 neighbours differ from x)",
    )


def halves() -> Iterator[Finding]:
    """Which half of the test rows is taken as anomalous."""
    for name in ("Thyroid", "BreastW", "Musk"):
        _, rows = _data(name)
        score = _gmm(name)
        medians = [np.median(score(part)) for part in (rows.test_anomalous, rows.test_normal)]
        yield Finding(
            "real anomalies",
            f"{name}-GMM",
            "median energy of the rows that are attributed",
            f"{medians[0]:.0f}",
            f"{medians[1]:.0f}",
        )


def hard_label() -> Iterator[Finding]:
    """The classifier's probability against its label."""
    for name in ("Thyroid", "BreastW"):
        _, rows = _data(name)
        normal = np.vstack([rows.train, rows.valid, rows.test_normal])
        probability = Classifier.fit(normal, rows.test_anomalous, SEED)
        clear = []
        for function in (probability, lambda X, p=probability: (p.decision(X) > 0).astype(float)):
            size = np.abs(Explainer(function, normal, "KSH")(rows.test_anomalous).values)
            clear.append(has_clear_culprit(size))
        n = len(rows.test_anomalous)
        yield Finding(
            "classifier's output",
            name,
            "rows with a clear culprit",
            f"{clear[0].sum()} of {n}",
            f"{clear[1].sum()} of {n}",
        )


def networks() -> Iterator[Finding]:
    """The VAE's noise and shape, its random score, and DAGMM's mixture."""
    _, rows = _data("Thyroid")
    d = rows.train.shape[1]
    sizes = {"latent": round(0.4 * d), "hidden": 2 * d}
    ours, _ = as_published.trained_vae(rows.train, rows.valid, **sizes)
    coded, defined = as_published.trained_vae(
        rows.train, rows.valid, **sizes, variance_as_deviation=True
    )
    turned, _ = as_published.trained_vae(rows.train, rows.valid, **sizes, turned=True)
    quantity = "held-out negative ELBO"
    yield Finding(
        "VAE's noise",
        "Thyroid",
        quantity,
        f"{ours:.1f}",
        f"{defined:.1f} ({coded:.1f} by its own loss)",
    )
    yield Finding("VAE's shape", "Thyroid", quantity, f"{ours:.1f}", f"{turned:.1f}")

    vae = VAE(sizes["latent"], sizes["hidden"], max_updates=3000, seed=SEED)
    x = rows.test_normal[:1]
    draws = []
    vae.fit(rows.train, X_valid=rows.valid)
    rng = np.random.default_rng(SEED)
    for _ in range(200):
        vae.draws_ = rng.standard_normal((1, vae.latent_))
        draws.append(vae.to_score("elbo")(x)[0])
    yield Finding("VAE-e", "Thyroid", "standard deviation at one row", "0", f"{np.std(draws):.2f}")

    dagmm = DAGMM(2, sizes["latent"], sizes["hidden"], max_updates=3000, seed=SEED)
    dagmm.fit(rows.train, X_valid=rows.valid)
    stack, binary = dagmm._stack(), torch.as_tensor(dagmm.binary_)
    with torch.no_grad():
        features, _ = describe(stack, dagmm._standardised(rows.train), binary)
        test, _ = describe(stack, dagmm._standardised(rows.test_normal), binary)
        whole = mixture_of(stack, features, dagmm.reg_covar)
        batch = mixture_of(stack, features[:, -100:], dagmm.reg_covar)
        away = (whole.energy(test) - batch.energy(test)).abs()[0].numpy()
        turned_energy = as_published.subtracted_weights(whole, test)
        differ = (whole.energy(test) - turned_energy).abs()[0].numpy()
    yield Finding(
        "DAGMM's mixture",
        "Thyroid",
        "energy by the last 100 rows against all, median (largest) difference",
        "0",
        f"{np.median(away):.2g} ({away.max():.2g})",
    )
    yield Finding(
        "DAGMM's training",
        "Thyroid",
        "energy with the weights subtracted, mean difference",
        "0",
        f"{differ.mean():.2g}",
    )
    X, guilty = _planted("Thyroid")
    said = Explainer(dagmm, rows.train, IG())(X).values
    yield Finding(
        "which rank",
        "Thyroid-DAGMM, IG",
        "MRR, signed and by magnitude",
        _mrr(said, guilty),
        _mrr(np.abs(said), guilty),
    )


def minimiser() -> Iterator[Finding]:
    """Adam with few small steps, against the minimum."""
    for name in ("Thyroid", "BreastW"):
        X, guilty = _planted(name)
        X, guilty = X[:60], guilty[:60]
        score, (n, d) = _gmm(name), X.shape
        domain = Domain.infer(_data(name)[1].train)
        inner = as_published.inner_coalitions(d)
        weights = np.array([as_published.kernel_weight(d, s) for s in inner.sum(axis=1)])
        keep = np.vstack([np.zeros((1, d), dtype=bool), np.eye(d, dtype=bool)])
        said, other = [], []
        for gamma in (0.001, 0.1, 10.0):
            ours = ShapleyMethod(RelaxedMinimum(score, domain, gamma), Exact()).attribute(X)
            said.append(_mrr(ours.values, guilty))
            minima = as_published.adam_minimum(
                score, np.repeat(X, d + 1, axis=0), ~np.tile(keep, (n, 1)), gamma
            ).reshape(n, d + 1, d)
            values = [_relaxed(score, *row, inner, weights) for row in zip(X, minima, strict=True)]
            other.append(_mrr(np.array(values), guilty))
        yield Finding(
            "minimiser and distance",
            f"{name}-GMM",
            "MRR of ASH for γ = 0.001, 0.1, 10",
            ", ".join(said),
            ", ".join(other),
        )


def _relaxed(score: Score, x: Vector, minima: Matrix, inner: BoolMatrix, weights: Vector) -> Vector:
    size = inner.sum(axis=1, keepdims=True)
    outside = (inner @ minima[1:] + minima[0]) / (size + 1)
    worth = score(np.where(inner, x, outside))
    return as_published.regression(inner, worth, weights, *score(np.vstack([minima[0], x])))


def precision() -> Iterator[Finding]:
    """Scores in single precision."""
    score = _gmm("Arrhythmia", 1e-6)
    rows = _data("Arrhythmia")[1].test_normal
    away = np.abs(as_published.in_single_precision(score, rows) / score(rows) - 1)
    yield Finding(
        "float32 scores",
        "Arrhythmia-GMM",
        "energy, relative error: median (largest)",
        "0",
        f"{np.median(away):.0%} ({away.max():.0%})",
    )


def selection() -> Iterator[Finding]:
    """Components by held-out likelihood, or by detection of the test rows."""
    chosen = {}
    for name in ("Thyroid", "BreastW", "U2R", "Musk"):
        _, rows = _data(name)
        labels = np.repeat([False, True], [len(rows.test_normal), len(rows.test_anomalous)])
        test = np.vstack([rows.test_normal, rows.test_anomalous])
        areas = {}
        for k in (2, 3, 4, 5):
            detector = GMM(k, reg_covar=FULL.variance_floor, seed=SEED).fit(rows.train)
            areas[k] = auroc(-detector.score_samples(test)[None], labels[None]).value
        ours = GMM(reg_covar=FULL.variance_floor, seed=SEED)
        ours.fit(rows.train, X_valid=rows.valid)
        chosen[name] = (ours.n_components_, max(areas, key=lambda k: areas[k]))
    yield Finding(
        "model selection",
        "GMM on " + ", ".join(chosen),
        "components",
        ", ".join(str(one) for one, _ in chosen.values()),
        ", ".join(str(other) for _, other in chosen.values()),
    )


def sizes() -> Iterator[Finding]:
    """Rows of the data sets and of the experiments."""
    dataset, rows = _data("U2R")
    n = len(dataset.X) - 48  # 24 rows of each file are taken for its header
    yield Finding(
        "U2R's header",
        "U2R",
        "rows",
        f"{len(dataset.X)}: {len(rows.train)} / {len(rows.valid)} / {2 * len(rows.test_normal)}",
        f"{n}",
    )
    _, rows = _data("Arrhythmia")
    yield Finding("Table 1", "Arrhythmia", "validation rows", str(len(rows.valid)), "54 as printed")
    tested = ", ".join(f"{name} {len(_data(name)[1].test_normal)}" for name in DATASETS)
    yield Finding("synthetic cases", "all", "rows", tested, "60 twice, Lympho 6 twenty times")


PARTS: tuple[Callable[[], Iterator[Finding]], ...] = (
    equation_4,
    regression_weights,
    sampling,
    minimiser,
    compensation,
    marginals,
    references,
    link,
    flips,
    halves,
    hard_label,
    networks,
    selection,
    precision,
    sizes,
)


def audit() -> list[Finding]:
    """All measurements."""
    return [
        finding
        for part in tqdm(PARTS, desc="audit", unit="part", disable=None)
        for finding in part()
    ]


def markdown(findings: list[Finding]) -> str:
    """The measurements as a table."""
    lines = ["| what | where | measured | as the text has it | as printed or published |"]
    lines.append("|---|---|---|---|---|")
    lines += [
        f"| {f.what} | {f.where} | {f.quantity} | {f.as_text} | {f.as_published} |"
        for f in findings
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(markdown(audit()))  # noqa: T201
