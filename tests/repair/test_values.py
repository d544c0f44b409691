import numpy as np

from whyflag import Domain
from whyflag.repair.expected import Expected
from whyflag.repair.values import LEVELS, Values


def test_a_number_that_may_be_missing_is_offered_from_the_lowest_to_the_highest():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=500), np.zeros(500), rng.normal(size=500)])
    domain = Domain(["a", "gap", "b"], players={"a": ["a", "gap"]}).having(given={"gap": [0.0]})
    offered = Values(Expected(rows, domain), domain).known[0]
    ranks = np.linspace(0, len(rows) - 1, LEVELS).astype(int)
    np.testing.assert_array_equal(offered[:, 0], np.sort(rows[:, 0])[ranks])
    assert not offered[:, 1].any()
