import json
from dataclasses import replace

import numpy as np
import pytest

from whyflag.ensemble import Ensemble
from whyflag.metrics import mean_reciprocal_rank
from whyflag_paper import work as module
from whyflag_paper.anomalies import perturb
from whyflag_paper.cells import MEMBERS, Cell, Job
from whyflag_paper.datasets import Dataset
from whyflag_paper.settings import Settings
from whyflag_paper.store import Store
from whyflag_paper.work import fit_key, work

SETTINGS = Settings(seeds=(3,), most_rows=8, least_rows=12, most_game_rows=3, max_updates=50)
JOB = Job("Thyroid", "GMM", 3)


@pytest.fixture
def dataset(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.multivariate_normal(np.zeros(4), 0.5 * np.eye(4) + 0.5, size=110)
    X[100:, 1] += 8
    made = Dataset("Thyroid", X, np.arange(110) >= 100, ("a", "b", "c", "d"))
    monkeypatch.setattr(module, "load", lambda name: made)
    return made


@pytest.fixture
def done(dataset, tmp_path):
    told = []
    work(JOB, SETTINGS, tmp_path, lambda what, key: told.append((what, key)))
    return tmp_path, told


def test_every_cell_is_stored(done):
    folder, told = done
    store = Store(folder / "cells")
    keys = [fit_key(JOB), *(cell.key for cell in JOB.cells())]
    assert all(key in store for key in keys)
    assert told == [(what, key) for key in keys for what in ("begin", "end")]


def test_a_cell_that_is_stored_is_not_computed_again(done):
    folder, _ = done
    victim = folder / "cells" / "synthetic" / "Thyroid" / "GMM" / "ASH" / "seed 3.json"
    before = json.loads(victim.read_text())
    victim.unlink()
    told = []
    work(JOB, SETTINGS, folder, lambda what, key: told.append((what, key)))
    key = Cell("synthetic", "Thyroid", "GMM", "ASH", 3).key
    assert told == [("begin", key), ("end", key)]
    assert json.loads(victim.read_text())["rows"] == before["rows"]


def test_the_ensemble_is_one_that_users_can_have(done, dataset):
    folder, _ = done
    split = module.split(dataset, 3)
    rows, guilty = perturb(
        np.tile(split.test_normal, (2, 1)), 1, binary=False, rng=np.random.default_rng([3, 1])
    )
    detector = module.detectors.load(folder / "detectors" / "Thyroid-GMM-3")
    ensemble = Ensemble.of(detector, split.train, MEMBERS)
    expected = mean_reciprocal_rank(ensemble(rows[:8]), guilty[:8])
    record = Store(folder / "cells").read(Cell("synthetic", "Thyroid", "GMM", "whyflag", 3).key)
    assert record["rows"]["MRR"] == pytest.approx(expected.rows, abs=1e-4)


def test_as_many_rows_as_the_settings_ask_for(done):
    store = Store(done[0] / "cells")
    record = store.read(Cell("synthetic", "Thyroid", "GMM", "ASH", 3).key)
    assert {len(rows) for rows in record["rows"].values()} == {8}
    record = store.read(Cell("relaxation", "Thyroid", "GMM", "vhat", 3).key)
    assert len(record["rows"]["MRR"]) == 3


def test_the_classifiers_culprits_are_stored_once(done):
    record = Store(done[0] / "cells").read(("supervised", "Thyroid", "seed 3"))
    assert record["of"] == 8
    assert set(record["culprits"]) == {1}


def test_a_vae_has_both_its_scores(dataset, tmp_path):
    job = Job("Thyroid", "VAE", 3)
    work(job, replace(SETTINGS, most_rows=2, most_game_rows=1), tmp_path, lambda what, key: None)
    store = Store(tmp_path / "cells")
    assert all(cell.key in store for cell in job.cells())
