import numpy as np
import pytest

from whyflag.shapley.design import _even_shares, design, n_pairs


@pytest.mark.parametrize(
    ("p", "budget"), [(4, 12), (4, 14), (7, 60), (12, 500), (13, 2000), (40, 200)]
)
def test_a_design_has_pairs_no_coalition_twice_and_the_kernels_weight(p, budget):
    half, weights, unseen = design(p, budget, np.random.default_rng(0))
    assert 2 * len(half) == budget
    coalitions = np.vstack([half, ~half])
    assert len(np.unique(coalitions, axis=0)) == len(coalitions)
    size = half.sum(axis=1)
    assert (np.diff(size) >= 0).all()
    for s in range(1, p // 2 + 1):
        kernel = (p - 1) / (s * (p - s)) / (2 if 2 * s == p else 1)
        count = (size == s).sum()
        if count > 10:  # sizes drawn often enough that rounding of draws is small
            assert weights[size == s].sum() == pytest.approx(kernel, rel=1 / count)
        if count:
            np.testing.assert_allclose(unseen[size == s], 1 - count / n_pairs(p, s))


def test_a_size_is_counted_in_full_when_its_share_of_the_budget_reaches_that_far():
    """Rather than from both ends while the budget lasts: that leaves too little for the middle."""
    half, _, unseen = design(13, 200, np.random.default_rng(0))
    counts = np.bincount(half.sum(axis=1))
    assert counts[1] == 13
    assert (counts[2:] >= 17).all()
    np.testing.assert_array_equal(unseen == 0, half.sum(axis=1) == 1)


@pytest.mark.parametrize(
    ("p", "size", "each"), [(8, 2, [40, 40, 20]), (7, 1, [100 / 3] * 3), (4, 2, [100])]
)
def test_the_middle_size_of_an_even_number_has_half_as_many_pairs(p, size, each):
    assert _even_shares(p, size, 100).tolist() == pytest.approx(each)
