import pickle
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Barrier

import numpy as np
import pandas as pd
import pytest
from pyod.models.auto_encoder import AutoEncoder
from pyod.models.iforest import IForest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from helpers import FEW, SWITCH, SWITCHED, assert_same_rows, switched
from whyflag import Domain, Explainer, as_score
from whyflag.detectors import DAGMM, GMM, VAE
from whyflag.games import RelaxedMinimum
from whyflag.methods import ASH, COMP

RNG = np.random.default_rng(0)
MIX = RNG.normal(size=(4, 4))
NORMAL = pd.DataFrame(
    RNG.normal(size=(400, 4)) @ MIX * [1.0, 100.0, 0.01, 5.0] + [0, 1000, 0, 50],
    columns=["volt", "rpm", "leak", "heat"],
)


@pytest.fixture(scope="module")
def detector():
    return GMM(random_state=0).fit(NORMAL)


def flagged():
    rows = NORMAL.iloc[:3].copy()
    rows.index = ["mon", "tue", "wed"]
    for row, column in enumerate(["heat", "leak", "rpm"]):
        rows.iloc[row, NORMAL.columns.get_loc(column)] += 6 * NORMAL[column].std()
    return rows


@pytest.mark.parametrize("method", ["ASH", "comp"])
def test_a_frame_keeps_its_names(detector, method):
    attribution = Explainer(detector, NORMAL, method)(flagged())
    assert attribution.feature_names == ("volt", "rpm", "leak", "heat")
    assert attribution.row_names == ("mon", "tue", "wed")
    np.testing.assert_array_equal(attribution.data, flagged().to_numpy())


def test_the_planted_culprit_is_first(detector):
    top = Explainer(detector, NORMAL)(flagged()).top(1)
    assert top["feature"].tolist() == ["heat", "leak", "rpm"]
    moved = top["observed"] - top["normal"]
    scale = NORMAL[["heat", "leak", "rpm"]].std().to_numpy()
    assert (moved.to_numpy() / scale > 3).all()


def test_columns_are_matched_by_name(detector):
    explain = Explainer(detector, NORMAL)
    shuffled = flagged()[["heat", "volt", "rpm", "leak"]]
    np.testing.assert_array_equal(explain(shuffled).values, explain(flagged()).values)


def test_a_missing_column_is_named(detector):
    with pytest.raises(ValueError, match=r"missing: \['leak'\]"):
        Explainer(detector, NORMAL)(flagged().drop(columns="leak"))


def test_a_domain_is_enough(detector):
    domain = Domain.infer(NORMAL, bounded=True)
    with_rows, without = Explainer(detector, NORMAL, "ASH"), Explainer(detector, domain=domain)
    assert without.method.name == "ASH"
    np.testing.assert_array_equal(with_rows(flagged()).values, without(flagged()).values)


def test_normal_is_what_was_seen_whatever_is_known_of_the_score(detector):
    score = as_score(detector)
    for model in (score, lambda X: score(X)):
        domain = Explainer(model, NORMAL).domain
        np.testing.assert_array_equal(domain.lower, NORMAL.min())
        np.testing.assert_array_equal(domain.upper, NORMAL.max())


def test_an_array_takes_the_names_of_the_background(detector):
    attribution = Explainer(detector, NORMAL)(flagged().to_numpy())
    assert attribution.feature_names == ("volt", "rpm", "leak", "heat")
    assert attribution.row_names == (0, 1, 2)


def test_a_frame_brings_its_names_where_there_are_none(detector):
    domain = Domain(4, scale=NORMAL.std().to_numpy(), players={"motor": [0, 3]})
    for explain in (
        Explainer(detector, NORMAL, domain=domain),
        Explainer(detector, domain=domain),
        Explainer(detector, NORMAL.to_numpy(), domain=domain),
    ):
        attribution = explain(flagged())
        assert attribution.feature_names == ("motor", "rpm", "leak")
        assert attribution.column_names == ("volt", "rpm", "leak", "heat")


def test_a_function_is_a_detector(detector):
    explain = Explainer(
        lambda X: -detector.score_samples(pd.DataFrame(X, columns=NORMAL.columns)), NORMAL
    )
    assert explain(flagged()).top(1)["feature"].tolist() == ["heat", "leak", "rpm"]


def test_method_and_settings_are_recorded(detector):
    attribution = Explainer(detector, NORMAL, "ash")(flagged())
    assert attribution.method == "ASH"
    assert attribution.settings["game"] == RelaxedMinimum(gamma=0.01)
    assert attribution.n_evaluations > 3 * 2**4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "give normal rows as `background`, or a `domain`"),
        (
            {"background": NORMAL, "chunk_size": 0},
            "`chunk_size` must be a whole number, at least 1, or None, got 0",
        ),
        ({"background": NORMAL.iloc[:, :3]}, "GMM scores rows of 4 features, got n_features=3"),
        ({"background": NORMAL.iloc[:0]}, "at least one row"),
        ({"background": NORMAL, "method": "lime"}, "`method` must be one of"),
        ({"background": NORMAL, "domain": Domain(list("abcd"))}, "must have the columns"),
        ({"background": NORMAL, "domain": Domain(3)}, "GMM scores rows of 4 features"),
    ],
)
def test_a_bad_explainer_is_refused(detector, arguments, message):
    with pytest.raises(ValueError, match=message):
        Explainer(detector, **arguments)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((2, 3)), r"shape \(n, 4\), got \(2, 3\)"),
        (np.zeros((0, 4)), "at least one row"),
        ([[0, -np.inf, 0, 0]], r"-inf at row 0, column 1 \('rpm'\)"),
        ([[0, 0, 0, np.inf]], r"inf at row 0, column 3 \('heat'\)"),
    ],
)
def test_bad_rows_are_refused(detector, X, message):
    with pytest.raises(ValueError, match=message):
        Explainer(detector, NORMAL)(X)


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (lambda X: np.random.default_rng().normal(size=len(X)), "is random"),
        (lambda X: X[:, 0] - X[:, 0].mean(), "depends on the other rows"),
        (lambda X: X, "must map rows"),
        (lambda X: np.full(len(X), np.nan), "must be finite"),
    ],
)
def test_a_score_that_cannot_be_explained_is_refused(score, message):
    with pytest.raises(ValueError, match=message):
        Explainer(score, NORMAL)(flagged())


def test_a_score_that_fails_on_a_row_says_which_before_the_work_begins():
    seen = []

    def score(X):
        seen.append(len(X))
        return np.where(X[:, 0] > 1e6, np.nan, X[:, 0])

    rows = NORMAL.to_numpy()[:50].copy()
    rows[37, 0] = 1e7
    explain = Explainer(score, NORMAL)
    seen.clear()
    with pytest.raises(ValueError, match="got nan at row 37"):
        explain(rows)
    assert sum(seen) <= 50


def test_every_evaluation_of_a_row_is_counted():
    seen = []

    def score(X):
        seen.append(X.copy())
        return (X**2).sum(axis=1)

    explain = Explainer(score, NORMAL, "ASH")
    seen.clear()
    attribution = explain(flagged())
    # How typical rows score is asked once for all, and whether the score jumps beside them: there
    # two differences of each column, of three widths.
    k, d = explain.domain.typical.shape
    shared = k * (1 + 2 * 3 * d)
    assert attribution.n_evaluations == sum(map(len, seen)) - shared


def test_a_score_in_other_units_has_attributions_in_other_units():
    """γ counts in units of the score: minima are the same, whatever the score is measured in."""

    def energy(X):
        return np.sqrt(1 + X**2).sum(axis=1)

    def slope(X):
        return X / np.sqrt(1 + X**2)

    one = Explainer(as_score(energy, slope), NORMAL)(flagged())
    millionth = as_score(lambda X: energy(X) / 2**20, lambda X: slope(X) / 2**20)
    other = Explainer(millionth, NORMAL)(flagged())
    np.testing.assert_array_equal(other.reference, one.reference)
    np.testing.assert_allclose(other.values * 2**20, one.values, rtol=1e-12)


def test_an_energy_and_a_score_without_background_keep_their_units(detector):
    assert Explainer(detector, NORMAL).score.unit == 1.0
    score = as_score(lambda X: (X**2).sum(axis=1))
    assert Explainer(score, domain=Domain(4)).score.unit is None


def test_the_alarm_is_carried_along(detector):
    attribution = Explainer(detector, NORMAL)(flagged())
    assert attribution.threshold == -detector.offset_
    np.testing.assert_array_equal(attribution.excess, attribution.scores + detector.offset_)
    np.testing.assert_array_equal(attribution.flagged, detector.predict(flagged()) == -1)
    assert attribution[1:].threshold == attribution.threshold
    nameless = Explainer(lambda X: X[:, 0], NORMAL)(flagged())
    with pytest.raises(ValueError, match="no threshold"):
        nameless.excess  # noqa: B018


def test_chunks_grow_to_what_a_row_takes(detector, monkeypatch):
    rows = np.tile(flagged().to_numpy(), (20, 1))
    whole = Explainer(detector, NORMAL, chunk_size=60)(rows)
    for evaluations in (1, 1000, 10**9):
        monkeypatch.setattr("whyflag.explainer.PROGRESS", evaluations)
        chunked = Explainer(detector, NORMAL)(rows)
        np.testing.assert_allclose(chunked.values, whole.values, atol=1e-8)


def test_memory_is_bounded_by_the_chunk(detector):
    rows = np.tile(flagged().to_numpy(), (200, 1))
    explain = Explainer(detector, NORMAL, chunk_size=50)

    def peak(n):
        tracemalloc.start()
        explain(rows[:n])
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    # Values, their errors, two scores, rows, references, counts.
    result = 600 * (4 + 4 + 2 + 4 + 4 + 2) * 8
    assert peak(600) < 1.2 * peak(50) + 2 * result  # a chunk's and the whole, while it is joined


def test_pandas_and_torch_are_imported_only_when_needed():
    code = "import sys, whyflag; assert not {'pandas', 'torch', 'matplotlib'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603


@pytest.mark.parametrize("chunk_size", [None, 1])
@pytest.mark.parametrize("method", [ASH(RelaxedMinimum(limits=FEW)), COMP(limits=FEW)])
def test_a_row_that_has_not_converged_says_so_in_any_chunk(method, chunk_size):
    explain = Explainer(switched(), method=method, domain=SWITCH, chunk_size=chunk_size)
    attribution = explain(SWITCHED)
    assert attribution.converged.tolist() == [True, False, True]
    assert "3 features, 1 not converged" in repr(attribution)
    assert attribution[1:].converged.tolist() == [False, True]


def plain(X):
    return np.abs(X).sum(axis=1)


def forest():
    return IsolationForest(n_estimators=20, random_state=0)


def some_columns():
    return make_column_transformer(
        (StandardScaler(), ["volt", "rpm"]), (MinMaxScaler(), ["leak", "heat"])
    )


def pyod_network():
    network = AutoEncoder(epoch_num=1, hidden_neuron_list=[4, 2], random_state=0, verbose=0)
    network.fit(NORMAL.to_numpy())  # returns None in older versions
    return network


SMALL = {"max_updates": 20, "random_state": 0}
DETECTORS = {
    "GMM": lambda: GMM(2, random_state=0).fit(NORMAL),
    "VAE": lambda: VAE(latent=2, hidden=8, **SMALL).fit(NORMAL),
    "VAE-e": lambda: VAE(latent=2, hidden=8, kind="elbo", **SMALL).fit(NORMAL),
    "DAGMM": lambda: DAGMM(latent=1, hidden=8, n_components=2, **SMALL).fit(NORMAL),
    "forest": lambda: forest().fit(NORMAL),
    "pipeline": lambda: make_pipeline(StandardScaler(), forest()).fit(NORMAL),
    "some columns": lambda: make_pipeline(some_columns(), forest()).fit(NORMAL),
    "neighbours": lambda: LocalOutlierFactor(novelty=True).fit(NORMAL),
    "PyOD forest": lambda: IForest(n_estimators=20, random_state=0).fit(NORMAL.to_numpy()),
    "PyOD network": pyod_network,
    "function": lambda: plain,
}


@cache
def fitted(name):
    return DETECTORS[name]()


@pytest.mark.parametrize("name", DETECTORS)
def test_an_explainer_can_be_pickled(name):
    explain = Explainer(fitted(name), NORMAL, "KSH", threshold=1.0, n_jobs=2, chunk_size=2)
    again = pickle.loads(pickle.dumps(explain))  # noqa: S301
    assert repr(again) == repr(explain)
    one, other = again(flagged()), explain(flagged())
    assert_same_rows(one, other)
    assert one.threshold == other.threshold


@pytest.mark.parametrize("method", ["marg", "SFE", "ACE", "IG", "wKSH", "comp", "ASH"])
def test_an_explainer_by_any_method_can_be_pickled(method):
    explain = Explainer(fitted("GMM"), NORMAL, method)
    again = pickle.loads(pickle.dumps(explain))  # noqa: S301
    assert_same_rows(again(flagged()), explain(flagged()))


@pytest.mark.parametrize(
    ("name", "method"),
    [("GMM", "ASH"), ("forest", "KSH"), ("neighbours", "wKSH"), ("VAE", "IG")],
)
def test_threads_do_not_disturb_one_another(name, method):
    explain = Explainer(fitted(name), NORMAL, method)
    rows = [flagged() + i * NORMAL.std() for i in range(8)]
    together = Barrier(8)

    def one(i):
        together.wait()
        return explain(rows[i])

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(one, range(8)))
    for i, attribution in enumerate(found):
        assert_same_rows(attribution, explain(rows[i]))
