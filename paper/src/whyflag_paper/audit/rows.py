"""Which rows the experiments are made on, and what a classifier says of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from whyflag.explainer import Explainer
from whyflag_paper.audit.findings import SEED, Finding, data, gmm
from whyflag_paper.datasets import DATASETS
from whyflag_paper.supervised import Classifier, has_clear_culprit


def halves() -> Iterator[Finding]:
    """Which half of the test rows is taken as anomalous."""
    for name in ("Thyroid", "BreastW", "Musk"):
        rows, score = data(name)[1], gmm(name)
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
        rows = data(name)[1]
        normal = np.vstack([rows.train, rows.valid, rows.test_normal])
        probability = Classifier.fit(normal, rows.test_anomalous, SEED)
        clear = []
        for function in (probability, lambda X, p=probability: (p.decision(X) > 0).astype(float)):
            size = np.abs(Explainer(function, normal, "KSH")(rows.test_anomalous).values)
            clear.append(f"{has_clear_culprit(size).sum()} of {len(size)}")
        yield Finding("classifier's output", name, "rows with a clear culprit", *clear)


def sizes() -> Iterator[Finding]:
    """Rows of the data sets and of the experiments."""
    dataset, rows = data("U2R")
    n = len(dataset.X) - 48  # 24 rows of each file are taken for its header
    yield Finding(
        "U2R's header",
        "U2R",
        "rows",
        f"{len(dataset.X)}: {len(rows.train)} / {len(rows.valid)} / {2 * len(rows.test_normal)}",
        f"{n}",
    )
    valid = len(data("Arrhythmia")[1].valid)
    yield Finding("Table 1", "Arrhythmia", "validation rows", str(valid), "54 as printed")
    tested = ", ".join(f"{name} {len(data(name)[1].test_normal)}" for name in DATASETS)
    yield Finding("synthetic cases", "all", "rows", tested, "60 twice, Lympho 6 twenty times")


PARTS = (halves, hard_label, sizes)
