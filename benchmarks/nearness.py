"""How often the culprit is found on validation rows: what the choice of a distance is judged by."""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import IsolationForest
from tqdm import tqdm

from whyflag import Explainer
from whyflag.arrays import Matrix
from whyflag.detectors import GMM, VAE
from whyflag.games import LocalMinimum
from whyflag.methods import ASH, COMP, KSH, WKSH, Method
from whyflag.metrics import auroc, mean_reciprocal_rank
from whyflag_paper.anomalies import perturb
from whyflag_paper.datasets import DATASETS, Split, load, split

METHODS: dict[str, Method] = {
    "ASH": ASH(),
    "v̂": ASH(LocalMinimum()),
    "comp": COMP(),
    "wKSH": WKSH(),
    "KSH": KSH(),
}
WIDE = 50  # columns above which rows are few, and v̂ is left out
MOST_ROWS = {False: 80, True: 20}  # by whether the data set is wide


def detectors(rows: Split, seed: int) -> dict[str, Any]:
    """What is explained: a mixture with two floors, a network, a forest."""
    d = rows.train.shape[1]
    fitted: dict[str, Any] = {
        "GMM 2/d": GMM(reg_covar=2 / d, random_state=seed).fit(rows.train, X_valid=rows.valid),
        "GMM 1e-6": GMM(reg_covar=1e-6, random_state=seed).fit(rows.train, X_valid=rows.valid),
    }
    if d <= WIDE:
        vae = VAE(latent=0.4, hidden=1.0, max_updates=3000, random_state=seed)
        fitted["VAE"] = vae.fit(rows.train, X_valid=rows.valid)
        fitted["forest"] = IsolationForest(n_estimators=50, random_state=seed).fit(rows.train)
    return fitted


def measure(explainer: Explainer, rows: Matrix, binary: bool, seed: int) -> dict[str, float]:
    """MRR with one culprit and AUROC with three, of validation rows."""
    result: dict[str, float] = {}
    began = time.perf_counter()
    for name, n_culprits in (("MRR", 1), ("AUROC", 3)):
        planted, guilty = perturb(
            rows, n_culprits, binary=binary, rng=np.random.default_rng([seed, n_culprits])
        )
        values = explainer(planted).values
        found = (
            mean_reciprocal_rank(values, guilty.argmax(axis=1))
            if n_culprits == 1
            else auroc(values, guilty)
        )
        result[name] = float(found)
    result["ms"] = 500 * (time.perf_counter() - began) / len(rows)
    return result


def main() -> None:
    """Print and store the figures of each data set, detector and method."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", nargs="*", default=list(DATASETS))
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    cells: dict[str, dict[str, float]] = {}
    for name in tqdm(asked.datasets, disable=None):
        data = load(name)
        rows = split(data, asked.seed)
        wide = rows.train.shape[1] > WIDE
        for detector, fitted in detectors(rows, asked.seed).items():
            line = f"{name:11} {detector:9}"
            for method in asked.methods:
                if method == "v̂" and (wide or detector == "forest"):
                    continue
                explainer = Explainer(fitted, rows.train, METHODS[method])
                cell = measure(explainer, rows.valid[: MOST_ROWS[wide]], data.binary, asked.seed)
                cells[f"{name}, {detector}, {method}"] = cell
                line += f"  {method} {cell['MRR']:.3f} {cell['AUROC']:.3f} {cell['ms']:.1f}ms"
            tqdm.write(line)
    if asked.output:
        asked.output.write_text(json.dumps(cells, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
