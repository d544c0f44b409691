import pytest

from whyflag.games import LocalMinimum, RelaxedMinimum
from whyflag.methods import ASH
from whyflag.shapley import Kernel
from whyflag_paper.cells import COLUMNS, OURS, SENSITIVITY, Job, jobs, method_named
from whyflag_paper.settings import FULL, Settings


def cells(**fields):
    found = [cell for job in jobs(FULL) for cell in job.cells()]
    return [c for c in found if all(getattr(c, name) == value for name, value in fields.items())]


def test_no_two_cells_have_the_same_key():
    keys = [cell.key for cell in cells()]
    assert len(keys) == len(set(keys))


def test_every_pair_and_method_of_the_paper_is_there():
    pairs = {
        (c.dataset, c.detector)
        for c in cells(experiment="synthetic")
        if "features" not in c.dataset
    }
    assert len(pairs) == 24
    for dataset, detector in pairs:
        methods = [
            c.method
            for c in cells(experiment="synthetic", dataset=dataset, detector=detector, seed=0)
        ]
        applies = detector in ("GMM", "VAE-r")
        assert methods == [m for m in COLUMNS if applies or m not in ("marg", "SFE")]


def test_every_game_is_played_on_every_data_set():
    assert len(cells(experiment="relaxation", seed=0)) == 24 * 2


def test_gamma_is_varied_on_the_mixture_of_every_data_set():
    assert len(cells(experiment="gamma", seed=0)) == 6 * len(SENSITIVITY)


def test_lympho_has_an_extra_row_with_its_features_as_players():
    assert {c.detector for c in cells(dataset="Lympho, 18 features")} == {
        "GMM",
        "VAE-r",
        "VAE-e",
        "DAGMM",
    }


def test_seeds_and_data_sets_multiply():
    assert len(jobs(Settings(seeds=(0, 7), datasets=("Musk",)))) == 2 * 3


@pytest.mark.parametrize("name", [name for name in COLUMNS if name != OURS])
def test_a_method_is_named_as_in_the_table(name):
    assert method_named(name, Kernel()).name == name


def test_a_solver_is_passed_on():
    solver = Kernel(budget=100)
    for name in ("KSH", "wKSH", "ASH", "vhat", "vrelaxed", "ASH gamma=0.1"):
        assert method_named(name, solver).settings["solver"] is solver
    assert method_named("ASH gamma=0.1", solver) == ASH(RelaxedMinimum(gamma=0.1), solver)
    assert method_named("vhat", solver) == ASH(LocalMinimum(), solver)


def test_a_job_begins_with_its_own_detector():
    assert {c.detector for c in Job("Thyroid", "VAE", 0).cells()} == {"VAE-r", "VAE-e"}
