"""The VAE's noise, shape and draws, DAGMM's mixture, the choice of a model, and precision."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from whyflag.detectors import DAGMM, GMM, VAE
from whyflag.detectors.dagmm import describe, mixture_of
from whyflag.explainer import Explainer
from whyflag.methods import IG
from whyflag.metrics import auroc
from whyflag_paper import as_published
from whyflag_paper.audit.findings import SEED, Finding, data, mixture, mrr, planted
from whyflag_paper.settings import FULL

WHERE = "Thyroid"
LATENT, HIDDEN = 2, 12  # of its 6 columns: 0.4 and 2 times as many


def noise_and_shape() -> Iterator[Finding]:
    """The VAE with the variance for a deviation, and with its layers the other way round."""
    rows = data(WHERE)[1]

    def trained(**deviation: bool) -> tuple[float, float]:
        return as_published.trained_vae(
            rows.train, rows.valid, latent=LATENT, hidden=HIDDEN, **deviation
        )

    ours, _ = trained()
    coded, defined = trained(variance_as_deviation=True)
    turned, _ = trained(turned=True)
    quantity = "held-out negative ELBO"
    noisy = f"{defined:.1f} ({coded:.1f} by its own loss)"
    yield Finding("VAE's noise", WHERE, quantity, f"{ours:.1f}", noisy)
    yield Finding("VAE's shape", WHERE, quantity, f"{ours:.1f}", f"{turned:.1f}")


def draws() -> Iterator[Finding]:
    """VAE-e with a new draw at each call."""
    rows = data(WHERE)[1]
    vae = VAE(LATENT, HIDDEN, max_updates=3000, random_state=SEED).fit(
        rows.train, X_valid=rows.valid
    )
    rng = np.random.default_rng(SEED)
    energies = []
    for _ in range(200):
        vae.draws_ = rng.standard_normal((1, vae.latent_))
        energies.append(vae.to_score("elbo")(rows.test_normal[:1])[0])
    away = f"{np.std(energies):.2f}"
    yield Finding("VAE-e", WHERE, "standard deviation at one row", "0", away)


def latent_mixture() -> Iterator[Finding]:
    """DAGMM's mixture of the last rows, its weights in training, and its falling energy."""
    rows = data(WHERE)[1]
    dagmm = DAGMM(2, LATENT, HIDDEN, max_updates=3000, random_state=SEED)
    dagmm.fit(rows.train, X_valid=rows.valid)
    stack, binary = dagmm._stack(), torch.as_tensor(dagmm.binary_)
    with torch.no_grad():
        features, _ = describe(stack, dagmm._standardised(rows.train), binary)
        test, _ = describe(stack, dagmm._standardised(rows.test_normal), binary)
        whole = mixture_of(stack, features, dagmm.reg_covar_)
        batch = mixture_of(stack, features[:, -100:], dagmm.reg_covar_)
        away = (whole.energy(test) - batch.energy(test)).abs()[0].numpy()
        turned = as_published.subtracted_weights(whole, test)
        differ = (whole.energy(test) - turned).abs()[0].numpy()
    yield Finding(
        "DAGMM's mixture",
        WHERE,
        "energy by the last 100 rows against all, median (largest) difference",
        "0",
        f"{np.median(away):.2g} ({away.max():.2g})",
    )
    yield Finding(
        "DAGMM's training",
        WHERE,
        "energy with the weights subtracted, mean difference",
        "0",
        f"{differ.mean():.2g}",
    )
    X, guilty = planted(WHERE)
    said = Explainer(dagmm, rows.train, IG())(X).values
    yield Finding(
        "which rank",
        f"{WHERE}-DAGMM, IG",
        "MRR, signed and by magnitude",
        mrr(said, guilty),
        mrr(np.abs(said), guilty),
    )


def selection() -> Iterator[Finding]:
    """Components by held-out likelihood, or by detection of the test rows."""
    chosen = {}
    for name in ("Thyroid", "BreastW", "U2R", "Musk"):
        rows = data(name)[1]
        labels = np.repeat([False, True], [len(rows.test_normal), len(rows.test_anomalous)])
        test = np.vstack([rows.test_normal, rows.test_anomalous])
        ours = FULL.detector(name, "GMM", SEED)
        ours.fit(rows.train, X_valid=rows.valid)
        areas = {}
        for k in (2, 3, 4, 5):
            detector = GMM(k, random_state=SEED).fit(rows.train)
            areas[k] = auroc(-detector.score_samples(test)[None], labels[None]).value
        chosen[name] = (ours.n_components_, max(areas, key=lambda k: areas[k]))
    yield Finding(
        "model selection",
        "GMM on " + ", ".join(chosen),
        "components",
        ", ".join(str(one) for one, _ in chosen.values()),
        ", ".join(str(other) for _, other in chosen.values()),
    )


def precision() -> Iterator[Finding]:
    """Scores in single precision."""
    energy, rows = mixture("Arrhythmia", 1e-6), data("Arrhythmia")[1].test_normal
    away = np.abs(as_published.in_single_precision(energy, rows) / energy(rows) - 1)
    yield Finding(
        "float32 scores",
        "Arrhythmia-GMM",
        "energy, relative error: median (largest)",
        "0",
        f"{np.median(away):.0%} ({away.max():.0%})",
    )


PARTS = (noise_and_shape, draws, latent_mixture, selection, precision)
