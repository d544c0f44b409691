"""What the floor under a mixture's variances brings in culprits found, and costs in detection."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

import numpy as np
from tqdm import tqdm

from whyflag import Ensemble, Explainer
from whyflag.arrays import Matrix
from whyflag.detectors import GMM
from whyflag.detectors.floor import variance_floor
from whyflag.methods import ASH, WKSH
from whyflag.metrics import auroc, mean_reciprocal_rank
from whyflag.score import Score
from whyflag_paper.anomalies import perturb
from whyflag_paper.datasets import DATASETS, load, split
from whyflag_paper.settings import FULL, WIDE

FLOORS: dict[str, Callable[[int], float]] = {
    "1e-6": lambda d: 1e-6,
    "0.01": lambda d: 0.01,
    "0.1": lambda d: 0.1,
    "2/d": lambda d: 2 / d,
    "min(0.1, 2/d)": lambda d: min(0.1, 2 / d),
    "the rule": variance_floor,
}
SEEDS = range(3)
COLUMNS = (2, 3, 6, 10, 30)
BONDS = (0.1, 0.03, 0.01, 0.001)  # noise between two columns, in deviations
N_ROWS = 80  # planted validation rows of a split
N_WIDE_ROWS = 12


def detects(score: Score, normal: Matrix, anomalous: Matrix) -> float:
    """AUROC of detection: how often an anomalous row scores above a normal one."""
    labels = np.repeat([False, True], [len(normal), len(anomalous)])
    return auroc(score(np.vstack([normal, anomalous]))[None], labels[None]).value


def bonded(n: int, d: int, noise: float, rng: np.random.Generator) -> Matrix:
    """Independent columns, but for the second, which follows the first."""
    rows = rng.normal(size=(n, d))
    rows[:, 1] = rows[:, 0] + noise * rows[:, 1]
    return rows


def broken_bonds(d: int, noise: float, floor: float) -> float:
    """Detection of rows whose second value is another row's, by one Gaussian."""
    areas = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        normal, clean, broken = (bonded(n, d, noise, rng) for n in (1000, 500, 500))
        broken[:, 1] = rng.permutation(broken[:, 1])
        score = GMM(1, reg_covar=floor, n_init=1).fit(normal).to_score()
        areas.append(detects(score, clean, broken))
    return float(np.mean(areas))


def real_anomalies(name: str, rule: Callable[[int], float]) -> float:
    """Detection of a data set's anomalies among its normal test rows."""
    areas = []
    for seed in SEEDS:
        rows = split(load(name), seed)
        detector = GMM(reg_covar=rule(rows.train.shape[1]), random_state=seed)
        score = detector.fit(rows.train, X_valid=rows.valid).to_score()
        areas.append(detects(score, rows.test_normal, rows.test_anomalous))
    return float(np.mean(areas))


def culprits(name: str, rule: Callable[[int], float]) -> Matrix:
    """MRR of ASH, wKSH and `Ensemble.of` on planted validation rows: (3,)."""
    dataset, found = load(name), []
    for seed in SEEDS:
        rows = split(dataset, seed)
        d = rows.train.shape[1]
        n = N_WIDE_ROWS if d > WIDE else N_ROWS
        normal = np.tile(rows.valid, (-(-n // len(rows.valid)), 1))[:n]
        X, guilty = perturb(normal, 1, binary=dataset.binary, rng=np.random.default_rng([seed, 1]))
        detector = GMM(reg_covar=rule(d), random_state=seed).fit(rows.train, X_valid=rows.valid)
        solver = FULL.solver(d)
        ways = (
            Explainer(detector, rows.train, ASH(solver=solver)),
            Explainer(detector, rows.train, WKSH(solver=solver)),
            Ensemble.of(detector, rows.train),
        )
        found.append([mean_reciprocal_rank(explain(X), guilty).value for explain in ways])
    return np.mean(found, axis=0)


def line(label: str, cells: Iterable[str]) -> str:
    """A line of a table in Markdown."""
    return f"| {label} | " + " | ".join(cells) + " |"


def main() -> None:
    """Print three tables; with names of data sets as arguments only of those."""
    names = sys.argv[1:] or list(DATASETS)
    head = line("", FLOORS) + "\n|" + "---|" * (len(FLOORS) + 1)
    print(f"Broken bonds, AUROC of detection\n\n{head}")
    for d in COLUMNS:
        for noise in BONDS:
            cells = (f"{broken_bonds(d, noise, rule(d)):.2f}" for rule in FLOORS.values())
            print(line(f"d = {d}, noise {noise}", cells), flush=True)
    print(f"\nReal anomalies, AUROC of detection\n\n{head}")
    for name in tqdm(names, disable=None, leave=False):
        cells = (f"{real_anomalies(name, rule):.3f}" for rule in FLOORS.values())
        tqdm.write(line(name, cells))
    print(f"\nPlanted culprits, MRR of ASH, wKSH, Ensemble.of\n\n{head}")
    for name in tqdm(names, disable=None, leave=False):
        cells = (" ".join(f"{m:.2f}" for m in culprits(name, rule)) for rule in FLOORS.values())
        tqdm.write(line(name, cells))


if __name__ == "__main__":
    main()
