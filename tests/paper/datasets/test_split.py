import numpy as np

from whyflag_paper.datasets import Dataset, split

RNG = np.random.default_rng(0)
ROWS = np.column_stack([np.arange(100.0), RNG.normal(5, 3, 100), np.full(100, 7.0)])
ANOMALOUS = np.arange(100) < 10
REAL = Dataset("made up", ROWS, ANOMALOUS, ("a", "b", "c"))
BINARY = Dataset("bits", np.round(RNG.random((100, 3))), ANOMALOUS, ("a", "b", "c"), binary=True)


def test_parts_are_as_large_as_the_paper_has_them():
    parts = split(REAL, seed=0)
    assert len(parts.test_anomalous) == len(parts.test_normal) == 10
    assert (len(parts.train), len(parts.valid)) == (64, 16)


def test_every_row_is_in_one_part():
    parts = split(BINARY, seed=1)
    rows = np.vstack([parts.train, parts.valid, parts.test_normal, parts.test_anomalous])
    np.testing.assert_array_equal(np.sort(rows, axis=0), np.sort(BINARY.X, axis=0))
    np.testing.assert_array_equal(parts.test_anomalous, BINARY.X[ANOMALOUS])


def test_real_columns_are_standardised_by_the_training_rows():
    parts = split(REAL, seed=0)
    np.testing.assert_allclose(parts.train.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(parts.train.std(axis=0)[:2], 1.0)
    assert np.abs(parts.valid.mean(axis=0)[:2]).max() > 1e-6
    # One scale for all parts: column a keeps its distances.
    steps = np.concatenate([np.diff(np.sort(part[:, 0])) for part in vars(parts).values()])
    whole = steps / steps.min()
    np.testing.assert_allclose(whole, np.round(whole), atol=1e-9)


def test_a_constant_column_stays_finite():
    parts = split(REAL, seed=0)
    np.testing.assert_array_equal(parts.train[:, 2], 0.0)


def test_splits_are_seeded():
    one, same, other = (split(REAL, seed=seed).train for seed in (3, 3, 4))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()
