"""Every detector that users have, tried in one world: the table of docs/detectors.md.

Rows of eight correlated sensors, one value of each row moved by six standard deviations. Run with
`python -m benchmarks.detectors`; with names of detectors as arguments only those, without writing.
"""

from __future__ import annotations

import contextlib
import io
import random
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.covariance import EllipticEnvelope
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import SGDOneClassSVM
from sklearn.metrics import roc_auc_score
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM
from tqdm import tqdm

from benchmarks.worlds import correlated_rows, plant
from whyflag import Explainer, as_score
from whyflag.arrays import Matrix
from whyflag.detectors import DAGMM, GMM, VAE
from whyflag.score import Gradient

PAGE = Path(__file__).parent.parent / "docs" / "detectors.md"
BEGIN, END = "<!-- made by benchmarks/detectors.py: begin -->", "<!-- end -->"

NORMAL = correlated_rows(1000, seed=1)
HELD_OUT = correlated_rows(200, seed=2)
PLANTED, CULPRITS = plant(HELD_OUT, 6, seed=3)
BUDGET = 30.0  # seconds of explaining for a detector: fewer rows where a row takes long
MOST_ROWS, FEWEST_ROWS = 100, 10


@dataclass(frozen=True)
class Entry:
    """A detector to try."""

    name: str
    make: Callable[[], Any]
    standardise: bool = False  # give it standardised rows
    n_rows: int = 1000  # training rows, for those whose time grows with their square or cube


def scaled(*steps: Any) -> Any:
    """A pipeline that standardises first."""
    return make_pipeline(StandardScaler(), *steps)


WHYFLAG = [
    Entry("GMM", lambda: GMM()),
    Entry("VAE, reconstruction", lambda: VAE()),
    Entry("VAE, ELBO", lambda: VAE(kind="elbo")),
    Entry("DAGMM", lambda: DAGMM()),
]
SKLEARN = [
    Entry("GaussianMixture", lambda: GaussianMixture(2, random_state=0)),
    Entry(
        "BayesianGaussianMixture",
        lambda: BayesianGaussianMixture(n_components=2, max_iter=1000, random_state=0),
    ),
    Entry("EllipticEnvelope", lambda: EllipticEnvelope(random_state=0)),
    Entry("KernelDensity, scaled", lambda: scaled(KernelDensity(bandwidth=0.5))),
    Entry("PCA, scaled", lambda: scaled(PCA(3))),
    Entry("OneClassSVM, scaled", lambda: scaled(OneClassSVM(nu=0.05))),
    Entry("OneClassSVM linear, scaled", lambda: scaled(OneClassSVM(kernel="linear", nu=0.05))),
    Entry("SGDOneClassSVM, scaled", lambda: scaled(SGDOneClassSVM(nu=0.05, random_state=0))),
    Entry(
        "SGDOneClassSVM, Nystroem, scaled",
        lambda: scaled(
            Nystroem(n_components=200, random_state=0), SGDOneClassSVM(nu=0.05, random_state=0)
        ),
    ),
    Entry(
        "SGDOneClassSVM, RBFSampler, scaled",
        lambda: scaled(
            RBFSampler(gamma=0.05, n_components=300, random_state=0),
            SGDOneClassSVM(nu=0.05, random_state=0),
        ),
    ),
    Entry("IsolationForest", lambda: IsolationForest(random_state=0)),
    Entry("LocalOutlierFactor, scaled", lambda: scaled(LocalOutlierFactor(novelty=True))),
]


def pyod(module: str, name: str, settings: dict[str, Any] | None = None, **entry: Any) -> Entry:
    """A detector of PyOD, given standardised rows."""

    def make() -> Any:
        return getattr(import_module(f"pyod.models.{module}"), name)(**(settings or {}))

    return Entry(name, make, standardise=True, **entry)


def lscp() -> Any:
    """LSCP, which is made of other detectors."""
    lof = import_module("pyod.models.lof").LOF
    members = [lof(n_neighbors=k) for k in (5, 10, 20, 30)]
    return import_module("pyod.models.lscp").LSCP(members, random_state=0)


SEED = {"random_state": 0}
QUIET = {"verbose": 0}
PYOD = [
    pyod("abod", "ABOD"),
    pyod("ae1svm", "AE1SVM"),
    pyod("alad", "ALAD", {**QUIET, "epochs": 50}),
    pyod("anogan", "AnoGAN", {**QUIET, "epochs": 20}, n_rows=300),
    pyod("auto_encoder", "AutoEncoder", {**QUIET, **SEED, "epoch_num": 30}),
    pyod("cblof", "CBLOF", SEED),
    pyod("cd", "CD"),
    pyod("cof", "COF"),
    pyod("copod", "COPOD"),
    pyod("deep_svdd", "DeepSVDD", {**QUIET, **SEED, "n_features": 8}),
    pyod("dif", "DIF", SEED),
    pyod("ecod", "ECOD"),
    pyod("feature_bagging", "FeatureBagging", SEED),
    pyod("gmm", "GMM", SEED),
    pyod("hbos", "HBOS"),
    pyod("hdbscan", "HDBSCAN"),
    pyod("iforest", "IForest", SEED),
    pyod("inne", "INNE", SEED),
    pyod("kde", "KDE", {"bandwidth": 0.5}),
    pyod("knn", "KNN"),
    pyod("kpca", "KPCA", SEED, n_rows=300),
    pyod("lmdd", "LMDD", SEED, n_rows=100),
    pyod("loci", "LOCI", n_rows=100),
    pyod("loda", "LODA", SEED),
    pyod("lof", "LOF"),
    Entry("LSCP", lscp, standardise=True),
    pyod("lunar", "LUNAR"),
    pyod("mcd", "MCD", SEED),
    pyod("mo_gaal", "MO_GAAL"),
    pyod("ocsvm", "OCSVM", {"nu": 0.05}),
    pyod("pca", "PCA", SEED),
    pyod("qmcd", "QMCD"),
    pyod("rgraph", "RGraph", n_rows=100),
    pyod("rod", "ROD"),
    pyod("sampling", "Sampling", SEED),
    pyod("so_gaal", "SO_GAAL"),
    pyod("sod", "SOD"),
    pyod("sos", "SOS", n_rows=200),
    pyod("suod", "SUOD"),
    pyod("vae", "VAE", {**QUIET, **SEED}),
]
LIBRARIES = {"whyflag": WHYFLAG, "scikit-learn": SKLEARN, "PyOD": PYOD}


def main() -> None:
    """Try the detectors, and write the table."""
    asked = sys.argv[1:]
    parts = []
    for library, entries in LIBRARIES.items():
        chosen = [entry for entry in entries if not asked or entry.name in asked]
        if not chosen:
            continue
        lines = [
            f"### {library}",
            "",
            "| detector | minimised by | detects (AUROC) | culprit first | mean rank | ms a row |",
            "|---|---|---|---|---|---|",
        ]
        for entry in tqdm(chosen, desc=library, disable=None):
            lines.append(line(entry))
            tqdm.write(lines[-1])
        parts.append("\n".join(lines))
    if not asked:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        _, _, after = rest.partition(END)
        body = "\n\n".join(parts)
        PAGE.write_text(f"{before}{BEGIN}\n\n{body}\n\n{END}{after}")


def line(entry: Entry) -> str:
    """A row of the table."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002, some of PyOD knows no other
    torch.manual_seed(0)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            return try_out(entry)
    except Exception as error:  # whatever a detector does, the table says it
        reason = " ".join(str(error).split())
        return f"| {entry.name} | does not work: {type(error).__name__}: {reason} | | | | |"


def try_out(entry: Entry) -> str:
    """Fit it, score, and explain as many rows as the time allows."""
    normal, held_out, planted = (rows_for(entry, X) for X in (NORMAL, HELD_OUT, PLANTED))
    detector = entry.make().fit(normal[: entry.n_rows])
    score = as_score(detector)
    scores = np.concatenate([score(held_out), score(planted)])
    auroc = roc_auc_score(np.repeat([0, 1], len(held_out)), scores)
    explain = Explainer(score, normal)
    explain(planted[:1])  # what is compiled or loaded at first is no part of the time
    begin = time.perf_counter()
    explain(planted[:FEWEST_ROWS])
    each = (time.perf_counter() - begin) / FEWEST_ROWS
    n = int(np.clip(BUDGET / each, FEWEST_ROWS, MOST_ROWS))
    begin = time.perf_counter()
    values = explain(planted[:n]).values
    each = (time.perf_counter() - begin) / n
    own = values[np.arange(n), CULPRITS[:n]][:, None]
    # A tie counts half, so that a constant attribution ranks in the middle.
    rank = 1 + (values > own).sum(axis=1) + ((values == own).sum(axis=1) - 1) / 2
    how = "gradient" if score.find(Gradient) is not None else "search"
    share = f"{100 * (rank == 1).mean():.0f} % of {n}"
    return (
        f"| {entry.name} | {how} | {auroc:.2f} | {share} | {rank.mean():.2f} | {1000 * each:.3g} |"
    )


def rows_for(entry: Entry, rows: Matrix) -> Matrix:
    """Rows as a detector wants them."""
    if entry.standardise:
        rows = (rows - NORMAL.mean(axis=0)) / NORMAL.std(axis=0)
    return rows


if __name__ == "__main__":
    main()
