import numpy as np
import pytest

from whyflag_paper.anomalies import perturb

ROWS = np.random.default_rng(0).normal(size=(2000, 6))


@pytest.mark.parametrize("n_culprits", [1, 2, 3, 6])
def test_as_many_values_as_asked_for_are_moved_by_one_to_two(n_culprits):
    rows, guilty = perturb(ROWS, n_culprits, binary=False, rng=np.random.default_rng(1))
    assert (guilty.sum(axis=1) == n_culprits).all()
    moved = rows - ROWS
    np.testing.assert_array_equal(moved[~guilty], 0.0)
    size = np.abs(moved[guilty])
    assert size.min() >= 1 - 1e-12
    assert size.max() <= 2 + 1e-12


def test_every_column_and_both_directions_are_as_likely():
    rows, guilty = perturb(ROWS, 1, binary=False, rng=np.random.default_rng(1))
    np.testing.assert_allclose(guilty.mean(axis=0), 1 / 6, atol=0.03)
    assert np.mean((rows - ROWS)[guilty] > 0) == pytest.approx(0.5, abs=0.04)
    assert np.mean(np.abs((rows - ROWS)[guilty])) == pytest.approx(1.5, abs=0.02)


def test_binary_columns_are_flipped():
    bits = (ROWS > 0).astype(float)
    rows, guilty = perturb(bits, 2, binary=True, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(rows != bits, guilty)
    assert np.isin(rows, [0.0, 1.0]).all()


def test_the_same_seed_perturbs_alike():
    one, other = (perturb(ROWS, 1, binary=False, rng=np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(one[0], other[0])


@pytest.mark.parametrize("n_culprits", [0, 7])
def test_more_culprits_than_columns_are_refused(n_culprits):
    with pytest.raises(ValueError, match="between 1 and 6, got"):
        perturb(ROWS, n_culprits, binary=False, rng=np.random.default_rng(0))
