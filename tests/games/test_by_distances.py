import numpy as np
import pytest
from pyod.models.knn import KNN
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer

import whyflag.score.distances as module
from whyflag import Domain, as_score
from whyflag.games import Background
from whyflag.games.by_distances import WORTH
from whyflag.score import Distances
from whyflag.shapley.coalitions import numbered

D = 12
rng = np.random.default_rng(0)
NORMAL = rng.normal(size=(120, D)) @ (np.eye(D) + 0.3 * rng.normal(size=(D, D)))
X = NORMAL[:3] + 3 * np.eye(D)[:3]
X[2, 4] = 1e6
DOMAINS = {
    "columns": Domain(D),
    "groups": Domain(D, players={"pair": [1, 8], "three": [5, 6, 11]}),
    "fixed": Domain(D, players={"some": [2, 4, 0]}, fixed=[4, 6]),
}
DETECTORS = {
    "LOF": lambda: LocalOutlierFactor(novelty=True),
    "KNN": lambda: KNN(),
    "behind a step": lambda: make_pipeline(PowerTransformer(), LocalOutlierFactor(novelty=True)),
}


@pytest.mark.parametrize("by", ["compiled", "plain"])
@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
@pytest.mark.parametrize("name", DETECTORS)
def test_coalitions_score_what_their_points_score(name, domain, by, monkeypatch):
    if by == "plain":
        monkeypatch.setattr(module, "compiled", lambda loops: None)
    score = as_score(DETECTORS[name]().fit(NORMAL))
    score(NORMAL)
    p = domain.n_players
    coalitions = np.vstack([numbered(0, 100, p), rng.random((WORTH, p)) < 0.5])
    rows, weights = NORMAL[50:53], [1.0, 0.0, 2.0]
    with_sums, plain = (
        Background(rows, weights).bind(e, domain, X) for e in (score, score.without(Distances))
    )
    found, expected = with_sums(coalitions), plain(coalitions)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_array_equal(with_sums.n_evaluations, plain.n_evaluations)
    some = np.array([2, 0])
    np.testing.assert_allclose(with_sums(coalitions, some), expected[some], rtol=1e-12)


@pytest.mark.parametrize("by", ["compiled", "plain"])
def test_where_rows_are_equally_near_the_library_is_asked_for_the_points(by, monkeypatch):
    if by == "plain":
        monkeypatch.setattr(module, "compiled", lambda loops: None)
    whole = np.round(NORMAL)
    score = as_score(LocalOutlierFactor(novelty=True).fit(whole))
    coalitions = np.random.default_rng(0).random((WORTH, D)) < 0.3
    found, expected = (
        Background(whole[50:52]).bind(e, Domain(D), np.round(X))(coalitions)
        for e in (score, score.without(Distances))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12)
