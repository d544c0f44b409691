"""The floor under the variances of mixtures: one rule, whoever fits."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

from whyflag.cli import app
from whyflag.detectors import DAGMM, GMM, load
from whyflag.detectors.floor import variance_floor
from whyflag.model import Model
from whyflag_paper.settings import QUICK

SMALL = {
    "GMM": GMM(1),
    "DAGMM": DAGMM(2, 2, 4, max_updates=10),
}


def rows(d, n=100):
    return np.random.default_rng(0).normal(size=(n, d))


@pytest.mark.parametrize(
    ("d", "expected"), [(1, 0.1), (2, 0.1), (3, 0.1), (10, 0.1), (20, 0.05), (100, 0.01)]
)
def test_the_columns_share_one_in_total_and_none_has_more_than_a_tenth(d, expected):
    assert variance_floor(d) == pytest.approx(expected)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("d", [1, 2, 20])
def test_a_detector_has_the_floor_of_its_columns(name, d):
    made = clone(SMALL[name])
    assert made.get_params()["reg_covar"] is None
    assert made.fit(rows(d)).reg_covar_ == variance_floor(d)
    asked = clone(made).set_params(reg_covar=variance_floor(d)).fit(rows(d))
    np.testing.assert_array_equal(made.score_samples(rows(d)), asked.score_samples(rows(d)))


@pytest.mark.parametrize("d", [1, 2, 20])
def test_the_floor_is_added_to_the_variance_of_a_standardised_column(d):
    X = rows(d) * np.geomspace(1e-3, 1e3, d)
    variances = np.diagonal(GMM(1).fit(X).covariances_[0])
    np.testing.assert_allclose(variances, 1 + variance_floor(d))


@pytest.mark.parametrize("name", SMALL)
def test_another_floor_can_be_asked_for(name):
    made = clone(SMALL[name]).set_params(reg_covar=0.5).fit(rows(4))
    usual = clone(SMALL[name]).fit(rows(4))
    assert made.reg_covar_ == made.reg_covar == 0.5
    assert not np.allclose(made.score_samples(rows(4)), usual.score_samples(rows(4)))


@pytest.mark.parametrize("name", SMALL)
def test_a_detector_from_a_folder_knows_its_floor(name, tmp_path):
    clone(SMALL[name]).fit(rows(20)).save(tmp_path)
    back = load(tmp_path)
    assert back.reg_covar is None
    assert back.reg_covar_ == variance_floor(20)


@pytest.mark.parametrize("d", [2, 6, 30])
def test_command_line_experiments_and_python_fit_the_same_mixture(d, tmp_path):
    table = pd.DataFrame(rows(d), columns=[f"c{i}" for i in range(d)])
    table.to_csv(tmp_path / "normal.csv", index=False)
    fit = ["fit", str(tmp_path / "normal.csv"), "-o", str(tmp_path / "model")]
    assert CliRunner().invoke(app, fit).exit_code == 0
    X = pd.read_csv(tmp_path / "normal.csv").to_numpy()
    python = GMM(random_state=0).fit(X).to_score()(X)
    experiments = QUICK.detector("Thyroid", "GMM", 0).fit(X).to_score()(X)
    np.testing.assert_array_equal(experiments, python)
    np.testing.assert_allclose(Model.load(tmp_path / "model").detector.to_score()(X), python)


@pytest.mark.parametrize("name", ["GMM", "DAGMM"])
def test_experiments_leave_the_floor_to_the_detector(name):
    assert QUICK.detector("Musk", name, 0).reg_covar is None


@pytest.mark.parametrize("d", [2, 6, 30])
def test_a_broken_bond_is_seen_with_the_floor_and_better_with_less(d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, d))
    X[:, 1] = X[:, 0] + 0.01 * X[:, 1]
    normal, clean, broken = np.split(X, 3)
    broken[:, 1] = rng.permutation(broken[:, 1])
    test, labels = np.vstack([clean, broken]), np.repeat([0, 1], 500)
    usual, sharp = (
        roc_auc_score(labels, -GMM(1, reg_covar=floor).fit(normal).score_samples(test))
        for floor in (None, 1e-6)
    )
    assert 0.75 < usual < sharp
    assert sharp > 0.98
