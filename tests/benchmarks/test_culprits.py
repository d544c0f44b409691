"""The instrument of benchmarks/culprits: what it plants, how it is halved, resumed and measured."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.culprits import made
from benchmarks.culprits.design import is_planned
from benchmarks.culprits.detectors import DETECTORS, fitted
from benchmarks.culprits.floors import largest_z
from benchmarks.culprits.halves import CHOOSE, REPORT, members
from benchmarks.culprits.kinds import KINDS, Spoilt, spoil
from benchmarks.culprits.measures import measured
from benchmarks.culprits.methods import METHODS
from benchmarks.culprits.neighbours import game_of, one_at_a_time, semivalue
from benchmarks.culprits.run import remembering, run, tasks_of, units_of
from benchmarks.culprits.store import Unit, append, read
from benchmarks.culprits.tables import table
from benchmarks.culprits.verdict import verdict
from benchmarks.culprits.worlds import WORLDS, World, load_world
from whyflag import Ensemble
from whyflag.metrics import auroc, hits_at_k, mean_reciprocal_rank
from whyflag.shapley import Exact

CELLS = [(kind, count) for kind in KINDS for count in KINDS[kind].counts]


def spoilt_of(world: World, kind: str, count: int) -> tuple[Spoilt, np.ndarray]:
    """Spoilt rows, and the normal rows that they were."""
    spoilt = spoil(world, kind, count, seed=0)
    assert spoilt is not None
    changed = spoilt.guilty @ world.membership
    far = np.array(
        [
            np.where(change, 0, np.abs(world.held_out - x)).sum(axis=1)
            for x, change in zip(spoilt.X, changed, strict=True)
        ]
    )
    return spoilt, world.held_out[far.argmin(axis=1)]


@pytest.mark.parametrize(("kind", "count"), CELLS)
def test_as_many_culprits_as_asked_for_and_nothing_else_is_changed(kind: str, count: int):
    world = load_world("mixed 20")
    spoilt, normal = spoilt_of(world, kind, count)
    assert (spoilt.guilty.sum(axis=1) == count).all()
    changed = (normal != spoilt.X) @ world.membership.T
    np.testing.assert_array_equal(changed, spoilt.guilty)


@pytest.mark.parametrize(
    ("kind", "low", "high"), [("noise", 1, 2), ("gross", 20, 1e6), ("sizes", 3, 300)]
)
def test_values_move_by_so_many_deviations(kind: str, low: float, high: float):
    world = load_world("wine")
    spoilt, normal = spoilt_of(world, kind, 2)
    by = np.abs((spoilt.X - normal) / world.deviation)[spoilt.guilty]
    assert by.min() >= low * 0.999
    assert by.max() <= high * 1.001


def test_values_beyond_the_range_are_beyond_it():
    world = load_world("wine")
    spoilt, _ = spoilt_of(world, "beyond", 1)
    low, high = world.train.min(axis=0), world.train.max(axis=0)
    assert (((low > spoilt.X) | (high < spoilt.X)) >= spoilt.guilty).all()


def test_stuck_and_turned_values_keep_the_mean_in_the_middle():
    world = load_world("wine")
    stuck, _ = spoilt_of(world, "stuck", 1)
    np.testing.assert_allclose((stuck.X - world.mean)[stuck.guilty], 0, atol=1e-12)
    turned, normal = spoilt_of(world, "turned", 1)
    middle = (turned.X + normal) / 2
    np.testing.assert_allclose((middle - world.mean)[turned.guilty], 0, atol=1e-9)


def test_a_wrong_category_is_one_category():
    world = load_world("mixed 20")
    spoilt, _ = spoilt_of(world, "category", 1)
    for group in world.groups.values():
        np.testing.assert_array_equal(spoilt.X[:, list(group)].sum(axis=1), 1)


def test_one_culprit_of_a_chain_drags_the_others():
    world = load_world("wine")
    spoilt, normal = spoilt_of(world, "chain of noise", 3)
    assert (spoilt.root.sum(axis=1) == 1).all()
    assert (spoilt.root <= spoilt.guilty).all()
    by = np.abs((spoilt.X - normal) / world.deviation)
    followers = spoilt.guilty & ~spoilt.root
    root = by[spoilt.root][:, None]
    assert (np.where(followers, by, 0) <= root).all()
    assert (np.where(followers, by, np.inf) >= 0.49 * root).all()


def test_halves_are_disjoint_and_cover_everything():
    for names in (WORLDS, KINDS):
        choose, report = members(CHOOSE, names), members(REPORT, names)
        assert not set(choose) & set(report)
        assert {*choose, *report} == set(names)


def test_every_detector_is_planned_in_both_halves_as_often():
    worlds, detectors = list(WORLDS), list(DETECTORS)
    for detector in detectors:
        counts = [
            sum(is_planned(world, detector, worlds, detectors) for world in members(half, worlds))
            for half in (CHOOSE, REPORT)
        ]
        assert abs(counts[0] - counts[1]) <= 1
        assert min(counts) >= 6


def test_a_second_run_skips_what_is_there(tmp_path):
    output = tmp_path / "found.jsonl"
    methods = ["|z|", "O"]
    units = units_of(["iris"], ["PCA", "HBOS"], ["noise"], methods, seed=0, every_pair=True)
    first = units[: len(units) // 2]
    run(tasks_of(first, output), output, n_jobs=1)
    before = output.read_text()
    left = tasks_of(units, output)
    assert {unit for task in left for unit in task.units} == set(units) - set(first)
    run(left, output, n_jobs=1)
    assert output.read_text().startswith(before)
    assert set(read(output)) == set(units)
    assert not tasks_of(units, output)
    assert "| O |" in table(read(output))


def test_a_line_that_was_cut_off_is_done_again(tmp_path):
    output = tmp_path / "found.jsonl"
    units = [Unit("iris", "PCA", "noise", count, "O", 0) for count in (1, 2)]
    append(output, [(unit, {"skipped": "kind"}) for unit in units])
    output.write_text(output.read_text()[:-9])
    assert set(read(output)) == {units[0]}


def test_measures_are_those_of_the_library():
    world = load_world("blind gaussian")
    spoilt, _ = spoilt_of(world, "noise", 2)
    values = np.random.default_rng(0).normal(size=spoilt.guilty.shape)
    found = measured(world, spoilt, values)
    for name, measure in (
        ("mrr", mean_reciprocal_rank(values, spoilt.guilty)),
        ("hits3", hits_at_k(values, spoilt.guilty, k=3)),
        ("precision", hits_at_k(values, spoilt.guilty, k=2)),
        ("auroc", auroc(values, spoilt.guilty)),
    ):
        assert found[name] == pytest.approx([measure.value, measure.low, measure.high], abs=1e-4)
    first = np.isin(values.argmax(axis=1), world.unseen).mean()
    assert found["unseen first"][0] == pytest.approx(first, abs=1e-4)


def test_a_detector_does_not_see_what_it_was_not_shown():
    world = load_world("blind gaussian")
    case = fitted(world, "PCA")
    spoilt, _ = spoilt_of(world, "noise", 1)
    unseen = list(world.unseen)
    np.testing.assert_allclose(one_at_a_time(case, spoilt.X).values[:, unseen], 0, atol=1e-12)
    assert (largest_z(case, spoilt.X).values.argmax(axis=1) >= unseen[0]).mean() > 0.5


def test_semivalues_lie_between_one_at_a_time_and_the_shapley_value():
    case = fitted(load_world("iris"), "PCA")
    X = case.world.held_out[:5]
    alone = one_at_a_time(case, X).values
    np.testing.assert_allclose(semivalue(case, X, least=1.0).values, alone, atol=1e-9)
    shapley = Exact().solve(game_of(case, X)).values
    found = semivalue(case, X, least=0.0).values
    assert np.abs(found - shapley).max() < 0.1 * np.abs(shapley).max()


def test_the_sum_of_shares_is_the_ensemble_of_the_library():
    case = fitted(load_world("iris"), "PCA")
    X = case.world.held_out[:5] + 1.0
    found, _ = remembering(case, X)("ensemble")
    values = Ensemble.of(case.prepared, methods=("marg", "wKSH", "comp"))(X).values
    np.testing.assert_allclose(found.values / found.values.sum(axis=1, keepdims=True), values)


@pytest.mark.parametrize("name", ["TreeSHAP", "DIFFI"])
def test_trees_blame_a_gross_value(name: str):
    rows = made.gaussian(400, 6, np.random.default_rng(0))
    world = World("made", rows[:350], rows[350:])
    case = fitted(world, "forest")
    spoilt, _ = spoilt_of(world, "gross", 1)
    values = METHODS[name].find(case, spoilt.X).values
    assert mean_reciprocal_rank(values, spoilt.guilty).value > 0.7


def test_the_verdict_is_the_smallest_difference_from_any_other_method():
    results = {
        Unit(world, "PCA", "noise", 1, method, 0): {"mrr": [value, value, value]}
        for world in ("iris", "wine", "diabetes")
        for method, value in (("O", 0.7), ("KSH", 0.4), ("comp", 0.6))
    }
    (line,) = [line for line in verdict(results).splitlines() if line.startswith("| O |")]
    assert "+0.100 (+0.100 to +0.100): comp" in line
