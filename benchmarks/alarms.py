"""Is the alarm raised by as many new normal rows as promised? Ten tables, twenty draws of each.

Printed as a table: rows to fit, new rows, what is promised, the part of the new rows that raised
the alarm as `whyflag fit` sets it, the 99 % binomial interval of what was promised, and the part
above the alarm that is read off the rows that were fitted to.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
import pandas as pd
from scipy import stats
from sklearn import datasets
from tqdm import tqdm

from whyflag.detectors import GMM
from whyflag.model import Model
from whyflag.table.schema import Schema

DRAWS = 20
SURE = 0.99
NEW = 500  # new rows of a made table
RATE = 0.01

Maker = Callable[[int, np.random.Generator], pd.DataFrame]


def moons(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Two crescents."""
    rows, _ = datasets.make_moons(n, noise=0.1, random_state=int(rng.integers(2**31)))
    return pd.DataFrame(rows, columns=["x", "y"])


def heavy(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Five columns with heavy tails and a common factor."""
    common = rng.standard_t(3, size=(n, 1))
    return pd.DataFrame(common + rng.standard_t(3, size=(n, 5))).add_prefix("x")


def shop(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Categories, of which some are rare, whole numbers and amounts."""
    rare = 1 / np.arange(1, 31) ** 1.5
    quantity = rng.poisson(3, n) + 1
    return pd.DataFrame(
        {
            "product": rng.choice([f"P{i:02d}" for i in range(30)], n, p=rare / rare.sum()),
            "paid": rng.choice(["card", "cash", "voucher"], n, p=[0.7, 0.295, 0.005]),
            "quantity": quantity,
            "amount": (quantity * rng.lognormal(2, 0.5, n)).round(2),
        }
    )


def sensors(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Measurements with gaps, in one column some and in another hardly any."""
    load = rng.normal(50, 10, n)
    heat = pd.Series(20 + load / 5 + rng.normal(0, 1, n)).where(rng.random(n) > 0.05)
    flow = pd.Series(load * 2 + rng.normal(0, 3, n)).where(rng.random(n) > 0.004)
    return pd.DataFrame({"load": load, "heat": heat, "flow": flow}).round(2)


def visits(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Times of the day and counts."""
    start = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90 * 86400, n), "s")
    return pd.DataFrame(
        {
            "at": start.strftime("%Y-%m-%d %H:%M:%S"),
            "pages": rng.poisson(4, n) + 1,
            "seconds": rng.lognormal(4, 1, n).round(),
        }
    )


MADE: dict[str, tuple[Maker, int]] = {
    "moons": (moons, 300),
    "heavy tails": (heavy, 200),
    "heavy tails, few rows": (heavy, 50),
    "shop": (shop, 400),
    "sensors": (sensors, 1000),
    "visits, many rows": (visits, 6000),
}
SHIPPED = {
    "wine": datasets.load_wine,
    "iris": datasets.load_iris,
    "breast cancer": datasets.load_breast_cancer,
    "diabetes": datasets.load_diabetes,
}


@final
@dataclass(frozen=True)
class Count:
    """New rows of a table, all draws together, and how many of them raised the alarm."""

    name: str
    n_fitted: int
    n_new: int
    promised: float
    raised: int
    raised_before: int

    @property
    def interval(self) -> tuple[float, float]:
        """Where a binomial number of alarms lies, of as many rows, if the promise is kept."""
        low, high = stats.binom.interval(SURE, self.n_new, self.promised)
        return low / self.n_new, high / self.n_new

    @property
    def is_kept(self) -> bool:
        """Whether no more rows raised the alarm than were promised, but for chance."""
        return self.raised / self.n_new <= self.interval[1]

    def __str__(self) -> str:
        low, high = self.interval
        part, before = self.raised / self.n_new, self.raised_before / self.n_new
        return (
            f"| {self.name} | {self.n_fitted:,} | {self.n_new:,} | {100 * self.promised:.2f} % | "
            f"{100 * part:.2f} % | {100 * low:.2f} to {100 * high:.2f} % | {100 * before:.1f} % |"
        )


def draws(name: str, n_draws: int = DRAWS) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Tables to fit to, and new rows."""
    for seed in range(n_draws):
        rng = np.random.default_rng([seed, len(name)])
        if name in MADE:
            make, n = MADE[name]
            yield make(n, rng), make(NEW, rng)
        else:
            table = SHIPPED[name](as_frame=True).data.iloc[:, :10]
            order = rng.permutation(len(table))
            n = round(0.7 * len(table))
            yield tuple(table.iloc[part].reset_index(drop=True) for part in (order[:n], order[n:]))


def count(name: str, n_draws: int = DRAWS, rate: float = RATE) -> Count:
    """Fit to each draw as `whyflag fit` does, and count the new rows that raise the alarm."""
    raised = before = n_new = n_fitted = 0
    promised = []
    for table, new in draws(name, n_draws):
        schema = Schema.of(table, rare=rate)
        model = Model.fit(GMM(contamination=rate), schema, table, ["ASH"])
        rows = model.read(new).rows
        scores = model.score(rows)
        raised += int((scores > model.threshold).sum())
        foreign = np.zeros(len(scores), bool) if rows.added is None else rows.added.any(axis=1)
        plain = model.detector.to_score()(rows.values)
        before += int(((plain > -model.detector.offset_) | foreign).sum())
        promised.append(model.calibration.promised)
        n_fitted, n_new = len(table), n_new + len(new)
    return Count(name, n_fitted, n_new, float(np.mean(promised)), raised, before)


def main() -> int:
    """Print the table; 1 if a promise was not kept."""
    print("| table | rows | new rows | promised | raised | 99 % interval | read off the rows |")
    print("|---|---|---|---|---|---|---|")
    found = []
    for name in tqdm([*MADE, *SHIPPED]):
        found.append(count(name))
        print(found[-1], flush=True)
    return int(not all(each.is_kept for each in found))


if __name__ == "__main__":
    sys.exit(main())
