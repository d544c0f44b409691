"""Detectors that are fitted anew, and what that says of an explanation."""

import pickle

import numpy as np
import pandas as pd
import pytest
from pyod.models.ecod import ECOD
from pyod.models.knn import KNN
from sklearn.base import BaseEstimator
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from whyflag import Attribution, Domain, Ensemble, Explainer
from whyflag.attribution import concatenate
from whyflag.detectors import GMM
from whyflag.refits import refitted, times_first

NORMAL = np.random.default_rng(0).normal(size=(120, 4)) * [1.0, 2.0, 0.5, 1.5]
X = NORMAL[:5] + np.diag([5.0, 9.0, 3.0, 8.0, 0.0])[:, :4]
DETECTORS = {
    "GMM": lambda: GMM(1),
    "forest without a seed": lambda: IsolationForest(n_estimators=10),
    "LOF": lambda: LocalOutlierFactor(novelty=True),
    "pipeline": lambda: make_pipeline(StandardScaler(), EllipticEnvelope()),
    "PyOD KNN": lambda: KNN(),
    "PyOD ECOD": lambda: ECOD(),
}
METHODS = ("near", "KSH", "comp")


def explain(refits=3, detector=None, method="near", **settings):
    detector = GMM(1, random_state=0) if detector is None else detector
    return Explainer(detector.fit(NORMAL), NORMAL, method, refits=refits, **settings)


@pytest.mark.parametrize("make", DETECTORS.values(), ids=DETECTORS)
@pytest.mark.parametrize("method", METHODS)
def test_every_detector_and_method_has_a_spread(make, method):
    detector = make()
    said = explain(2, detector, method)(X)
    assert said.refit_spread.shape == said.refit_first.shape == said.values.shape
    assert np.isfinite(said.refit_spread).all()
    assert (said.refit_spread > 0).any()
    np.testing.assert_allclose(said.refit_first.sum(axis=1), 1.0)


def test_the_spread_is_that_of_explainers_on_the_refitted_detectors():
    said = explain(3, seed=7)(X)
    others = refitted(GMM(1, random_state=0).fit(NORMAL), NORMAL, 3, 7)
    domain = Domain.infer(NORMAL, bounded=True)
    values = np.array([Explainer(each, NORMAL, domain=domain)(X).values for each in others])
    np.testing.assert_allclose(said.refit_spread, values.std(axis=0, ddof=1), rtol=1e-9)
    np.testing.assert_array_equal(said.refit_first, times_first(values))


def test_values_are_those_of_the_detector_that_was_given():
    with_refits, without = explain()(X), explain(0)(X)
    np.testing.assert_array_equal(with_refits.values, without.values)
    assert without.refit_spread is None
    assert without.refit_first is None
    np.testing.assert_array_equal(with_refits.evaluations, 4 * without.evaluations)


class Mean(BaseEstimator):
    """A detector that learns a mean."""

    def fit(self, rows):
        self.mean_ = rows.mean(axis=0)
        return self


def test_rows_are_drawn_with_replacement():
    """So the standard deviation of a mean is σ / √m."""
    means = np.array([other.mean_ for other in refitted(Mean(), NORMAL, 400, 0)])
    expected = NORMAL.std(axis=0) / np.sqrt(len(NORMAL))
    np.testing.assert_allclose(means.std(axis=0), expected, rtol=0.15)


def test_a_seed_says_it_all():
    forest = IsolationForest(n_estimators=10, random_state=0)
    one, same, other = (explain(2, forest, seed=seed)(X).refit_spread for seed in (3, 3, 4))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_refits_differ_although_the_detector_has_a_seed():
    first, second = refitted(
        IsolationForest(n_estimators=10, random_state=0).fit(NORMAL), NORMAL, 2, 0
    )
    assert first.random_state != second.random_state
    assert (first.score_samples(X) != second.score_samples(X)).all()


def test_the_detector_stays_as_it_was():
    detector = IsolationForest(n_estimators=10, random_state=0).fit(NORMAL)
    before = detector.score_samples(X)
    refitted(detector, NORMAL, 2, 0)
    assert detector.random_state == 0
    np.testing.assert_array_equal(detector.score_samples(X), before)


def test_a_row_alone_has_the_spread_that_it_has_among_others():
    explainer = explain()
    said, alone = explainer(X), [explainer(X[[i]]) for i in range(len(X))]
    np.testing.assert_allclose(concatenate(alone).refit_spread, said.refit_spread, rtol=1e-7)
    np.testing.assert_array_equal(concatenate(alone).refit_first, said.refit_first)


def test_an_explainer_with_refits_can_be_pickled():
    explainer = explain()
    again = pickle.loads(pickle.dumps(explainer))  # noqa: S301
    np.testing.assert_array_equal(again(X).refit_spread, explainer(X).refit_spread)


def test_several_processes_find_the_same():
    one, two = explain()(X), explain(n_jobs=2)(X)
    np.testing.assert_allclose(two.refit_spread, one.refit_spread, rtol=1e-7)


def test_columns_keep_their_names():
    table = pd.DataFrame(NORMAL, columns=list("abcd"))
    detector = make_pipeline(StandardScaler(), EllipticEnvelope()).fit(table)
    said = Explainer(detector, table, refits=2)(table[:3])
    assert np.isfinite(said.refit_spread).all()


def test_a_file_keeps_them(tmp_path):
    said = explain()(X)
    said.save(tmp_path / "why")
    read = Attribution.load(tmp_path / "why")
    np.testing.assert_array_equal(read.refit_spread, said.refit_spread)
    np.testing.assert_array_equal(read.refit_first, said.refit_first)


def test_top_and_json_show_them():
    said = explain()(X)
    top, feature = said.top(1), said.to_json()["rows"][0]["features"][0]
    j = said.order[0, 0]
    assert top["spread"][0] == feature["spread"] == said.refit_spread[0, j]
    assert top["first"][0] == feature["first"] == said.refit_first[0, j]


def test_members_of_an_ensemble_keep_theirs():
    said = Ensemble([explain(), explain(method="KSH")])(X)
    assert said.refit_spread is None
    assert all(member.refit_spread is not None for member in said.members)


def test_features_with_equal_values_share_the_first_place():
    values = np.array([[[2.0, 2.0, 1.0]], [[0.0, 3.0, 1.0]]])
    np.testing.assert_allclose(times_first(values), [[0.25, 0.75, 0.0]])


def test_a_function_cannot_be_fitted_anew():
    with pytest.raises(TypeError, match=r"can be fitted anew, such as .*, got function"):
        Explainer(lambda X: (X**2).sum(axis=1), NORMAL, refits=2)


def test_rows_are_needed():
    with pytest.raises(ValueError, match="`refits` needs normal rows as `background`"):
        Explainer(GMM(1).fit(NORMAL), domain=Domain.infer(NORMAL), method="ASH", refits=2)


@pytest.mark.parametrize("refits", [1, -1, 2.5])
def test_one_refit_has_no_spread(refits):
    with pytest.raises((TypeError, ValueError), match="`refits` must be"):
        explain(refits)
