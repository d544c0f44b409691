from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import label_ranking_average_precision_score, roc_auc_score

from benchmarks.worlds import random_mixture
from whyflag import Explainer
from whyflag.metrics import auroc, hits_at_k, mean_reciprocal_rank

VALUES = np.random.default_rng(0).normal(size=(50, 7))
CULPRITS = np.random.default_rng(1).integers(7, size=50)


def test_reciprocal_ranks_of_single_culprits_are_scikit_learns_ranking_precision():
    truth = np.eye(7)[CULPRITS]
    expected = label_ranking_average_precision_score(truth, VALUES)
    assert mean_reciprocal_rank(VALUES, CULPRITS).value == pytest.approx(expected)


def test_auroc_is_scikit_learns():
    guilty = np.random.default_rng(2).random((50, 7)) < 0.4
    guilty[:, 0], guilty[:, 1] = True, False
    expected = [roc_auc_score(g, v) for g, v in zip(guilty, VALUES, strict=True)]
    np.testing.assert_allclose(auroc(VALUES, guilty).rows, expected)


def test_auroc_counts_ties_as_scikit_learn_does():
    values = np.random.default_rng(3).integers(3, size=(40, 7)).astype(float)
    guilty = np.tile(np.arange(7) < 2, (40, 1))
    expected = [roc_auc_score(g, v) for g, v in zip(guilty, values, strict=True)]
    np.testing.assert_allclose(auroc(values, guilty).rows, expected)


def over_orders(values, guilty, measure):
    """The average over all orders of the features, each breaking ties in its own way."""
    p = len(values)
    results = []
    for order in permutations(range(p)):
        ranking = sorted(range(p), key=lambda i: (-values[i], order[i]))
        results.append(measure([bool(guilty[i]) for i in ranking]))
    return np.mean(results)


TIED = arrays(np.float64, 5, elements=st.sampled_from([0.0, 1.0, 2.0]))
GUILTY = arrays(np.bool_, 5).filter(lambda g: g.any() and not g.all())


@settings(max_examples=40)
@given(values=TIED, guilty=GUILTY)
def test_ties_count_as_the_average_over_their_orders(values, guilty):
    rows, marks = values[None], guilty[None]
    first = over_orders(values, guilty, lambda hits: 1 / (hits.index(True) + 1))
    assert mean_reciprocal_rank(rows, marks).value == pytest.approx(first)
    for k in (1, 3):
        share = over_orders(values, guilty, lambda hits, k=k: sum(hits[:k]) / sum(hits))
        assert hits_at_k(rows, marks, k).value == pytest.approx(share)


@pytest.mark.parametrize("p", [2, 10, 59])
def test_a_constant_attribution_scores_like_chance(p):
    rng = np.random.default_rng(0)
    culprits = rng.integers(p, size=2_000)
    constant, random = np.zeros((2_000, p)), rng.normal(size=(2_000, p))
    for measure in (mean_reciprocal_rank, hits_at_k, auroc):
        chance = measure(random, culprits)
        assert chance.low - 0.005 <= measure(constant, culprits).value <= chance.high + 0.005
    assert mean_reciprocal_rank(constant, culprits).value == pytest.approx(
        np.mean(1 / np.arange(1, p + 1))
    )
    assert auroc(constant, culprits).value == 0.5


def test_of_several_culprits_the_first_counts():
    assert mean_reciprocal_rank([[0.1, 0.9, 0.5, 0.7]], [[2, 3]]).value == pytest.approx(1 / 2)


def test_hits_are_the_share_of_culprits_among_the_first():
    values = [[0.1, 0.9, 0.5, 0.7]]
    assert hits_at_k(values, [[1, 0]], 3).value == 0.5
    assert hits_at_k(values, [[1, 3]], 3).value == 1.0
    assert hits_at_k(values, [2], 10).value == 1.0


def test_the_interval_covers_the_expected_value_about_as_often_as_it_says():
    rng = np.random.default_rng(0)
    p, expected = 10, np.mean(1 / np.arange(1, 11))
    covered = 0
    for seed in range(200):
        measure = mean_reciprocal_rank(
            rng.normal(size=(60, p)), rng.integers(p, size=60), seed=seed
        )
        covered += measure.low <= expected <= measure.high
    assert 0.90 <= covered / 200 <= 0.985


def test_the_interval_of_many_rows_is_the_normal_one():
    values, culprits = VALUES.repeat(8, axis=0), CULPRITS.repeat(8)
    measures = [mean_reciprocal_rank(values, culprits, seed=seed) for seed in range(8)]
    ends = np.mean([(measure.low, measure.high) for measure in measures], axis=0)
    deviation = measures[0].rows.std() / np.sqrt(400)
    expected = measures[0].value + np.array([-1.96, 1.96]) * deviation
    np.testing.assert_allclose(ends, expected, atol=0.1 * deviation)


def test_the_bootstrap_is_seeded():
    one, same = (mean_reciprocal_rank(VALUES, CULPRITS, seed=4) for _ in range(2))
    other = mean_reciprocal_rank(VALUES, CULPRITS, seed=5)
    assert (one.low, one.high) == (same.low, same.high)
    assert (one.low, one.high) != (other.low, other.high)
    assert one.value == other.value


@pytest.mark.parametrize("measure", [mean_reciprocal_rank, hits_at_k, auroc])
def test_the_seed_is_0_unless_another_is_given(measure):
    guilty = np.random.default_rng(2).random((50, 7)) < 0.4
    guilty[:, 0], guilty[:, 1] = True, False
    values = VALUES.round(1)  # ties make for finer shares
    default = measure(values, guilty)
    seeded, other = (measure(values, guilty, seed=seed) for seed in (0, 1))
    assert (default.low, default.high) == (seeded.low, seeded.high)
    assert (default.low, default.high) != (other.low, other.high)


def test_pieces_do_not_change_the_interval(monkeypatch):
    whole = mean_reciprocal_rank(VALUES, CULPRITS)
    monkeypatch.setattr("whyflag.batches.WORK", 150)
    in_pieces = mean_reciprocal_rank(VALUES, CULPRITS)
    assert (in_pieces.low, in_pieces.high) == (whole.low, whole.high)


@pytest.mark.parametrize("measure", [mean_reciprocal_rank, hits_at_k, auroc])
def test_a_row_counts_alike_in_any_company(measure):
    values = np.random.default_rng(0).integers(3, size=(30, 7)).astype(float)  # with ties
    guilty = np.random.default_rng(1).random((30, 7)) < 0.3
    guilty[:, 0], guilty[:, 1] = True, False
    alone = [measure(v[None], g[None]).value for v, g in zip(values, guilty, strict=True)]
    together = measure(values, guilty)
    np.testing.assert_allclose(together.rows, alone)
    assert together.value == pytest.approx(np.mean(alone))


def test_many_rows_take_little_memory():
    measure = mean_reciprocal_rank(np.tile(VALUES, (2000, 1)), np.tile(CULPRITS, 2000))
    assert measure.high - measure.low < 0.01


def test_an_attribution_brings_the_names():
    energy = random_mixture(3, 2, 10.0, seed=0)
    normal = np.random.default_rng(0).normal(size=(50, 3))
    attribution = Explainer(energy, normal, "comp")([[9.0, 0.0, 0.0], [0.0, 0.0, 9.0]])
    by_name = mean_reciprocal_rank(attribution, ["x0", "x2"])
    assert by_name.value == mean_reciprocal_rank(attribution.values, [0, 2]).value
    assert hits_at_k(attribution, [["x0", "x1"], ["x2"]], 3).value == 1.0


def test_a_measure_reads_as_a_sentence():
    measure = mean_reciprocal_rank([[1.0, 0.0], [1.0, 0.0]], [0, 0])
    assert repr(measure) == "1.000 (1.000 to 1.000, 2 rows)"
    assert float(measure) == 1.0


@pytest.mark.parametrize(
    ("culprits", "message"),
    [
        ([0], "those of 2 rows, got 1"),
        ([0, 3], r"positions from 0 to 2, got 3"),
        ([0, -1], r"positions from 0 to 2, got -1"),
        ([0, "x1"], r"got 'x1'"),
        ([0, True], r"got True"),
        ([0, []], "row 1 has none"),
        (np.zeros((2, 3), bool), "row 0 has none"),
    ],
)
def test_what_names_no_culprits_is_refused(culprits, message):
    with pytest.raises(ValueError, match=message):
        mean_reciprocal_rank([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], culprits)


def test_values_that_are_no_numbers_are_refused():
    with pytest.raises(
        ValueError, match="`attribution` must be finite, got nan at row 0, column 1"
    ):
        mean_reciprocal_rank([[1.0, np.nan]], [0])


def test_rows_of_culprits_only_have_no_area():
    with pytest.raises(ValueError, match="no culprit in every row, row 1 has none"):
        auroc([[1.0, 2.0], [1.0, 2.0]], [[0], [0, 1]])


def test_no_hits_are_refused():
    with pytest.raises(ValueError, match="`k` must be a whole number, at least 1, got 0"):
        hits_at_k([[1.0, 2.0]], [0], 0)
