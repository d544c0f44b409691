import numpy as np
import shap

from whyflag.clusters import cluster_centers

D = 10
NORMAL = np.random.default_rng(0).normal(size=(300, D)) * np.geomspace(0.5, 2, D)


def test_centres_are_those_of_shap():
    centers, sizes = cluster_centers(NORMAL, np.ones(D), 8)
    theirs = shap.kmeans(NORMAL, 8)
    np.testing.assert_allclose(centers, theirs.data)
    np.testing.assert_allclose(sizes / sizes.sum(), theirs.weights)


def test_centres_do_not_depend_on_the_units_of_columns():
    units = np.geomspace(1e-3, 1e3, D)
    plain, _ = cluster_centers(NORMAL, NORMAL.std(axis=0), 8)
    other, _ = cluster_centers(NORMAL * units, (NORMAL * units).std(axis=0), 8)
    np.testing.assert_allclose(other, plain * units, rtol=1e-9)


def test_values_of_centres_are_values_that_occur():
    rows = NORMAL.copy()
    rows[:, 3] = rows[:, 3] > 0
    centers, _ = cluster_centers(rows, rows.std(axis=0), 8)
    for j in range(D):
        assert np.isin(centers[:, j], rows[:, j]).all()


def test_few_distinct_rows_are_all_taken_with_their_counts():
    rows = np.array([[0.0, 1.0], [2.0, 3.0], [0.0, 1.0]])
    centers, sizes = cluster_centers(rows, np.ones(2), 8)
    np.testing.assert_array_equal(centers, [[0.0, 1.0], [2.0, 3.0]])
    np.testing.assert_array_equal(sizes, [2, 1])


def test_rounding_does_not_choose_between_centres():
    """Rows of whole numbers stand exactly between centres: a tenth of a trillionth is nothing."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 4, size=(400, 5)).astype(float)
    scale = rows.std(axis=0)
    centers, sizes = cluster_centers(rows, scale, 8)
    for seed in range(5):
        shaken = rows + 1e-13 * np.random.default_rng(seed).normal(size=rows.shape)
        others, counts = cluster_centers(shaken, scale, 8)
        np.testing.assert_allclose(others, centers, atol=1e-12)
        np.testing.assert_array_equal(counts, sizes)


def test_nor_does_it_among_heavy_tails():
    """There k-means began elsewhere in 2 % of its runs."""
    rng = np.random.default_rng(1)
    rows = np.sinh(1.2 * (rng.normal(size=(300, 2)) @ rng.normal(size=(2, 6))))
    rows += 0.7 * rng.normal(size=rows.shape)
    for seed in range(10):
        shaken = rows * (1 + 1e-13 * np.random.default_rng(seed).normal(size=rows.shape))
        centers, sizes = cluster_centers(rows, rows.std(axis=0), 8, seed=seed, n_init=1)
        others, counts = cluster_centers(shaken, shaken.std(axis=0), 8, seed=seed, n_init=1)
        np.testing.assert_allclose(others, centers, rtol=1e-11)
        np.testing.assert_array_equal(counts, sizes)
