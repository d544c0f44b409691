import numpy as np
import pytest

from benchmarks.worlds import random_mixture
from whyflag.score import Score, evaluate, unit_from
from whyflag.score.map import Map

X = np.random.default_rng(0).normal(size=(20, 3))


def test_evaluate_refuses_what_a_score_of_the_users_own_gets_wrong():
    wrong = Score(lambda X: np.full(len(X), np.nan))
    with pytest.raises(ValueError, match=r"finite, got nan at row 0.*bounds of the `Domain`"):
        evaluate(wrong, X)


def test_the_unit_of_a_gaussians_energy_is_a_nat():
    rng = np.random.default_rng(0)
    for d in (2, 10, 50):
        energy = random_mixture(d, 1, condition=20, seed=0)
        rows = rng.multivariate_normal(
            energy.function.means[0], energy.function.covariances[0], size=20_000
        )
        assert unit_from(energy(rows), d) == pytest.approx(energy.unit, rel=0.2)


def test_the_unit_is_never_zero():
    assert unit_from(np.full(9, 3.0), 2) == 1.0
    assert unit_from(np.array([0.0, 0.0, 0.0, 0.0, 5.0]), 2) == pytest.approx(2.0)


def test_what_rounding_makes_of_equal_scores_is_no_unit():
    scores = 7.1 + 1e-12 * np.random.default_rng(0).normal(size=99)
    assert unit_from(scores, 2) == 1.0
    assert unit_from(np.append(scores, 17.1), 2) == pytest.approx(np.sqrt(0.99), rel=1e-6)
    assert unit_from(1e-12 * (scores - 7.1), 2) == pytest.approx(1e-24, rel=0.2)


@pytest.mark.parametrize("d", [2, 8])
def test_the_unit_is_the_quartiles_distance_in_deviations_of_an_energy(d):
    scores = 1.349 * np.arange(5.0)  # quartiles 1.349 and 3 · 1.349: a deviation of 2
    assert unit_from(scores, d) == pytest.approx(2 / np.sqrt(d / 2))


def test_rows_are_scored_at_most_so_many_at_a_time():
    sizes = []

    def recorded(X):
        sizes.append(len(X))
        return X.sum(axis=1)

    np.testing.assert_array_equal(evaluate(Score(recorded), X, chunk=8), X.sum(axis=1))
    assert sizes == [8, 8, 4]
    sizes.clear()
    evaluate(Score(recorded), X)
    assert sizes == [20]


def test_a_score_with_an_answer_too_few_is_refused():
    short = Score(lambda X: X[1:, 0], name="a short one")
    with pytest.raises(ValueError, match=r"to shape \(20,\), got \(19,\) from a short one"):
        evaluate(short, X)


class Shaken(Map):
    """A map that is another one each time, whatever it says of itself."""

    def __init__(self, known):
        self.known = known
        self.rng = np.random.default_rng(0)

    def __call__(self, X):
        return X + self.rng.normal(size=X.shape)


def test_a_map_of_which_nothing_is_known_is_looked_at():
    bare = Score(lambda X: X.sum(axis=1))
    with pytest.raises(ValueError, match="is random"):
        bare.after(Shaken(known=False))(X)
    assert bare.after(Shaken(known=True))(X).shape == (20,)
