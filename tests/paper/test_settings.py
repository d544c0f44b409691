import json

import pytest

from whyflag_paper.cells import jobs
from whyflag_paper.datasets import DATASETS
from whyflag_paper.durations import UNKNOWN, _durations, expected_seconds, measured
from whyflag_paper.results import Results
from whyflag_paper.settings import FULL, QUICK
from whyflag_paper.work import fit_key


@pytest.mark.parametrize("settings", [FULL, QUICK], ids=["full", "quick"])
def test_settings_can_be_written(settings):
    content = settings.to_json()
    assert json.loads(json.dumps(content)) == content


def test_a_full_run_has_three_splits_of_every_data_set():
    assert len(FULL.seeds) == 3
    assert FULL.datasets == tuple(DATASETS)


def test_the_papers_grid_unless_it_would_take_hours():
    vae = FULL.detector("Thyroid", "VAE", 7)
    assert (vae.latent, vae.hidden, vae.n_draws) == ((0.2, 0.4, 0.6, 0.8), (0.5, 1.0, 2.0), 4)
    assert vae.random_state == 7
    dagmm = FULL.detector("Musk", "DAGMM", 0)
    assert (dagmm.n_components, dagmm.latent, dagmm.hidden) == ((2, 3, 4), [0.2], [0.5])


def test_a_full_run_has_the_papers_number_of_coalitions():
    assert FULL.solver(274).budget == 2 * 274 + 2048


def test_seeds_take_equally_long():
    one, other = (("fit", "Thyroid", "GMM", f"seed {seed}") for seed in (0, 5))
    assert expected_seconds(one) == expected_seconds(other)
    assert expected_seconds(("never", "timed", "seed 0")) == UNKNOWN


def test_every_step_of_a_full_run_has_been_timed():
    for job in jobs(FULL):
        for key in (fit_key(job), *(cell.key for cell in job.cells())):
            assert "/".join(key[:-1]) in _durations(), key


def test_durations_are_averages_over_seeds():
    names = {"experiment": "real", "dataset": "Musk", "detector": "GMM", "method": "ASH"}
    cells = [names | {"seed": seed, "took": took} for seed, took in ((0, 1.0), (1, 3.0))]
    fits = [{"dataset": "Musk", "family": "GMM", "seed": 0, "took": 0.5}]
    results = Results({"cells": cells, "fits": fits})
    assert measured(results) == {"fit/Musk/GMM": 0.5, "real/Musk/GMM/ASH": 2.0}
