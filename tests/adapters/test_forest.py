import numpy as np
import pytest
from sklearn.ensemble import IsolationForest

from planted import NORMAL, PLANTED
from whyflag import as_score

FORESTS = {
    "default": {},
    "some columns": {"max_features": 0.4},
    "few rows": {"max_samples": 7, "bootstrap": True},
    "two rows": {"max_samples": 2},
    "one row": {"max_samples": 1},
    "one tree": {"n_estimators": 1, "contamination": 0.1},
}


@pytest.mark.parametrize("settings", FORESTS.values(), ids=FORESTS)
def test_forests_score_as_scikit_learn_says(settings):
    forest = IsolationForest(random_state=0, **settings).fit(NORMAL)
    rows = np.asfortranarray(np.vstack([NORMAL[:50], PLANTED, 1e60 * PLANTED]))
    score = as_score(forest)
    with np.errstate(over="ignore"):
        expected = -forest.score_samples(rows)
    np.testing.assert_allclose(score(rows), expected, rtol=1e-12)
    assert score.threshold == -forest.offset_
