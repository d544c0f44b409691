import numpy as np
import pytest

from whyflag.distribution import Distribution
from whyflag.domain import Domain
from whyflag.drift import BLOCK, DriftWatch

RNG = np.random.default_rng(0)


def rows_of(n, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.normal(size=(n, 3)), rng.random((n, 1)) < 0.3]).astype(float)


NORMAL = rows_of(5000, 1)
DOMAIN = Domain.infer(NORMAL)


def watched(rows, flagged, foreign=None, part=10_000):
    watch = DriftWatch(Distribution.of(NORMAL), DOMAIN)
    for begin in range(0, len(rows), part):
        some = slice(begin, begin + part)
        watch.see(rows[some], None if foreign is None else foreign[some], flagged[some])
    return watch.found()


@pytest.mark.parametrize("since", [0, 137, 1000, 1750])
@pytest.mark.parametrize("part", [10_000, 333])
def test_a_run_of_rows_flagged_for_one_column_is_found_with_its_first_row(since, part):
    rows = rows_of(2000)
    rows[since:, 1] += 3
    flagged = np.arange(2000) >= since
    found = watched(rows, flagged, part=part)
    assert (found.since, found.n_rows, found.features) == (since + 1, 2000 - since, ("x1",))
    assert f"Since row {since + 1:,}" in str(found)
    assert "'x1': what is normal seems to have changed" in str(found)


def test_a_category_and_foreign_cells_are_reasons():
    rows, flagged = rows_of(600), np.arange(600) >= 200
    rows[200:, 3] = 1
    assert watched(rows, flagged).features == ("x3",)
    foreign = np.zeros((600, 4), dtype=bool)
    foreign[200:, 2] = True
    found = watched(rows_of(600), flagged, foreign)
    assert (found.since, found.features) == (201, ("x2",))


def test_some_quiet_rows_do_not_end_a_run():
    rows = rows_of(1000)
    rows[400:, 0] -= 3
    flagged = (np.arange(1000) >= 400) & (RNG.random(1000) < 0.8)
    flagged[400] = True
    found = watched(rows, flagged)
    assert abs(found.since - 401) <= 5
    assert found.features == ("x0",)


@pytest.mark.parametrize("part", [0.0, 0.01, 0.1, 0.3])
@pytest.mark.parametrize("seed", range(5))
def test_scattered_anomalies_are_no_drift(part, seed):
    rng = np.random.default_rng(seed)
    rows, flagged = rows_of(3000, seed), rng.random(3000) < part
    rows[flagged, 1] += 5  # though all for the same reason
    assert watched(rows, flagged) is None


def test_rows_that_are_flagged_for_all_kinds_of_reasons_are_no_drift():
    rows, rng = rows_of(500), np.random.default_rng(2)
    rows[np.arange(500), rng.integers(0, 3, 500)] += rng.choice([-5, 5], 500)
    assert watched(rows, np.ones(500, dtype=bool)) is None


def test_a_few_rows_at_the_end_are_no_drift():
    rows = rows_of(1000)
    rows[-15:, 1] += 9
    assert watched(rows, np.arange(1000) >= 985) is None
    rows[-50:, 1] += 9  # of so many rows these are few
    assert watched(rows, np.arange(1000) >= 950) is None


def test_nothing_seen_is_no_drift():
    assert DriftWatch(Distribution.of(NORMAL), DOMAIN).found() is None
    assert BLOCK < 256  # counts are kept in a byte
