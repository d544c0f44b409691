import re

import numpy as np
import pandas as pd
import pytest

from whyflag import Domain, Explainer
from whyflag.detectors import GMM
from whyflag.model import Model
from whyflag.report.rules import rule_of
from whyflag.report.words import shortest
from whyflag.score import Score
from whyflag.table.schema import Schema

RNG = np.random.default_rng(0)
NORMAL = np.column_stack(
    [
        RNG.uniform(0, 8000, 1000).round(),
        RNG.integers(1, 10, 1000),
        RNG.normal(size=1000),
        *np.eye(2)[RNG.integers(2, size=1000)].T,
    ]
)
COLUMNS = ["amount", "quantity", "noise", "country=A", "country=B"]
DOMAIN = Domain(
    COLUMNS,
    players={"country": COLUMNS[3:]},
    categories={"country": ("A", "B")},
    binary=COLUMNS[3:],
)
SCORE = Score(lambda X: X[:, 0], n_features=5, threshold=8000.0)


def rule_for(rows, features, normal=NORMAL):
    explain = Explainer(SCORE, pd.DataFrame(NORMAL, columns=COLUMNS), "KSH", domain=DOMAIN)
    attribution = explain(pd.DataFrame(rows, columns=COLUMNS))
    return rule_of(attribution, np.arange(len(rows)), np.array(features), normal)


def meet(rows, low, most):
    return (rows[:, 0] > low) & (rows[:, 1] <= most)


def test_two_conditions_that_only_together_tell_a_group_from_normal_rows():
    large = NORMAL.copy()
    large[:100, 0] = RNG.uniform(9000, 9900, 100).round()
    large[:100, 1] = RNG.integers(5, 10, 100)
    rows = np.array([[9000.0 + 20 * i, 1 + i % 2, 0, 1, 0] for i in range(1, 41)])
    rule = rule_for(rows, [0, 1, 2], large)
    assert "amount > " in rule.text
    assert "quantity ≤ " in rule.text
    assert "noise" not in rule.text
    low = float(rule.text.split("amount > ")[1].split(" ")[0])
    most = float(rule.text.split("quantity ≤ ")[1].split(" ")[0])
    assert (rule.covered, rule.of) == (int(meet(rows, low, most).sum()), 40)
    assert rule.normal == meet(large, low, most).mean()
    assert rule.normal <= 0.01


def test_limits_have_few_digits():
    rule = rule_for([[9000.0 + i, 3, 0, 1, 0] for i in range(20)], [0])
    assert rule.text == "amount > 8000"
    assert (rule.covered, rule.of, rule.normal) == (20, 20, 0.0)


def test_a_category_is_told_by_its_name():
    rows = np.array([[100.0 * i, 3, 0, 1, 0] for i in range(20)])
    normal = NORMAL.copy()
    normal[:, 3], normal[:, 4] = 0, 1
    assert rule_for(rows, [3], normal).text in ("country = A", "country is not B")


def test_rows_that_are_like_normal_ones_have_no_rule():
    assert rule_for(NORMAL[:20], [0, 1]) is None


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [(8994.2, 9120.0, 9000.0), (0, 1, 0), (-0.5, 0.0, -0.5), (1e-9, 2e-9, 1e-9), (3.0, 3.0, 3.0)],
)
def test_the_shortest_number_lies_between(low, high, found):
    assert shortest(low, high) == pytest.approx(found, abs=1e-12)


def test_hours_are_told_as_times_of_the_day():
    rng = np.random.default_rng(0)
    start = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(8 * 60, 18 * 60, 400), "min")
    table = pd.DataFrame({"at": start.astype(str), "pages": rng.poisson(4, 400)})
    schema = Schema.of(table)
    model = Model.fit(GMM(2, n_init=1), schema, table)
    late = table[:12].assign(at=[f"2024-01-01 {i % 2 + 22}:{17 + i}:00" for i in range(12)])
    attribution = model.explainer()(model.read(late).rows)
    rule = rule_of(attribution, np.arange(12), np.array([0]), model.rows)
    after = re.fullmatch(r"at after (\d\d:\d\d)", rule.text)[1]
    assert "17:59" <= after < "22:17"
    assert (rule.covered, rule.normal) == (12, 0.0)
