import pickle
from dataclasses import replace
from inspect import signature

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import IsolationForest

from benchmarks.worlds import correlated_rows, plant
from helpers import FEW, SWITCH, SWITCHED, assert_same_rows, switched
from whyflag import Domain, Ensemble, Explainer, combine
from whyflag.detectors import GMM
from whyflag.games import RelaxedMinimum
from whyflag.methods import ASH, COMP, IG

NORMAL = correlated_rows(400, 5, seed=1)
PLANTED, CULPRITS = plant(correlated_rows(30, 5, seed=2), 5, seed=3)
GAUSSIANS = GMM(random_state=0).fit(NORMAL)
FOREST = IsolationForest(n_estimators=30, random_state=0).fit(NORMAL)


def explainers(detector=GAUSSIANS, methods=("ASH", "wKSH", "comp")):
    return [Explainer(detector, NORMAL, method) for method in methods]


def test_values_are_the_average_of_the_members_shares():
    attribution = Ensemble(explainers())(PLANTED)
    members = [explain(PLANTED) for explain in explainers()]
    shares = [
        np.maximum(m.values, 0) / np.maximum(m.values, 0).sum(axis=1)[:, None] for m in members
    ]
    np.testing.assert_allclose(attribution.values, np.mean(shares, axis=0), rtol=1e-12)
    np.testing.assert_allclose(attribution.values.sum(axis=1), 1.0)


def test_it_finds_planted_culprits():
    values = Ensemble(explainers())(PLANTED).values
    assert (values.argmax(axis=1) == CULPRITS).mean() >= 0.9


def test_it_says_what_each_member_said():
    attribution = Ensemble(explainers())(PLANTED)
    assert [member.method for member in attribution.members] == ["ASH", "wKSH", "comp"]
    assert attribution.method == "Ensemble(ASH, wKSH, comp)"
    assert attribution.settings["members"][0]["game"] == RelaxedMinimum()
    total = sum(member.n_evaluations for member in attribution.members)
    assert attribution.n_evaluations == total


def with_values(values):
    attribution = Explainer(GAUSSIANS, NORMAL, "comp")(PLANTED[: len(values)])
    return replace(attribution, values=np.array(values, dtype=float))


@pytest.mark.parametrize(
    ("members", "agreement"),
    [
        ([[[1, 0, 0, 0, 0]], [[9, 0, 0, 0, 0]]], 1.0),
        ([[[1, 0, 0, 0, 0]], [[0, 1, 0, 0, 0]]], 0.0),
        ([[[3, 1, 0, 0, 0]], [[1, 3, 0, 0, 0]]], 0.5),
        ([[[1, -5, 0, 0, 0]], [[1, 0, 0, 0, -9]]], 1.0),  # what excuses a row is no blame
        ([[[1, 0, 0, 0, 0]], [[1, 0, 0, 0, 0]], [[0, 1, 0, 0, 0]]], 1 / 3),
        ([[[1, 0, 0, 0, 0]]], 1.0),
    ],
)
def test_agreement_is_the_blame_that_members_have_in_common(members, agreement):
    combined = combine([with_values(values) for values in members])
    np.testing.assert_allclose(combined.agreement, [agreement])


def test_agreement_is_of_each_row_and_follows_slices():
    attribution = Ensemble(explainers())(PLANTED)
    assert attribution.agreement.shape == (30,)
    assert ((attribution.agreement >= 0) & (attribution.agreement <= 1)).all()
    np.testing.assert_allclose(attribution[3:5].agreement, attribution.agreement[3:5])


def test_what_is_no_ensemble_has_no_agreement():
    with pytest.raises(ValueError, match="members of an ensemble, got <Attribution by near"):
        _ = Explainer(GAUSSIANS, NORMAL)(PLANTED[:1]).agreement


def test_a_member_without_blame_has_no_say():
    innocent = with_values([[-1, -2, 0, 0, 0], [1, 0, 0, 0, 0]])
    sure = with_values([[0, 0, 4, 0, 0], [0, 0, 4, 0, 0]])
    combined = combine([innocent, sure])
    np.testing.assert_allclose(combined.values, [[0, 0, 1, 0, 0], [0.5, 0, 0.5, 0, 0]])


def test_nobody_to_blame_is_no_trouble():
    combined = combine([with_values([[-1, 0, 0, 0, 0]]), with_values([[0, -1, 0, 0, 0]])])
    np.testing.assert_array_equal(combined.values, np.zeros((1, 5)))
    np.testing.assert_array_equal(combined.agreement, [0.0])


def test_of_one_detector_the_score_and_the_threshold_are_its_own():
    attribution = Ensemble(explainers(methods=("KSH", "ASH")))(PLANTED)
    alone = Explainer(GAUSSIANS, NORMAL, "ASH")(PLANTED)
    np.testing.assert_allclose(attribution.scores, alone.scores)
    np.testing.assert_array_equal(attribution.flagged, alone.flagged)
    np.testing.assert_allclose(attribution.reference, alone.reference)  # KSH has none
    np.testing.assert_allclose(attribution.base_values, alone.base_values)
    assert not attribution.additive
    assert attribution.converged.all()


def test_several_detectors_are_combined_in_units_of_their_scores():
    ensemble = Ensemble([*explainers(methods=["ASH"]), *explainers(FOREST, ["ASH"])])
    attribution = ensemble(PLANTED)
    by_gaussians, by_forest = attribution.members
    average = (by_gaussians.scores / by_gaussians.unit + by_forest.scores / by_forest.unit) / 2
    np.testing.assert_allclose(attribution.scores, average)
    assert attribution.unit == 1.0
    bases = [member.base_values / member.unit for member in attribution.members]
    np.testing.assert_allclose(attribution.base_values, (bases[0] + bases[1]) / 2)
    excess = (by_gaussians.excess / by_gaussians.unit + by_forest.excess / by_forest.unit) / 2
    np.testing.assert_allclose(attribution.excess, excess)
    assert (attribution.values.argmax(axis=1) == CULPRITS).mean() >= 0.8


def test_a_detector_counts_by_how_far_it_finds_a_row_above_normal():
    calm, alarmed = with_values([[3, 1, 0, 0, 0]]), with_values([[0, 0, 1, 0, 0]])
    base = calm.base_values
    calm = replace(calm, scores=base + 1.0, unit=1.0)
    alarmed = replace(alarmed, scores=base + 30.0, unit=10.0)
    combined = combine([calm, alarmed])
    np.testing.assert_allclose(combined.values, [[3 / 16, 1 / 16, 3 / 4, 0, 0]])


def test_shares_sum_to_one_however_small_the_alarm():
    member = with_values([[3, 1, 0, 0, 0]])
    calm = replace(member, scores=member.base_values + 1e-3)
    np.testing.assert_allclose(combine([calm]).values, [[0.75, 0.25, 0, 0, 0]])


def test_members_of_one_detector_count_alike_beside_another_detector():
    first, second = with_values([[1, 0, 0, 0, 0]]), with_values([[0, 1, 0, 0, 0]])
    second = replace(second, base_values=first.base_values - 100)  # another idea of normal
    other = replace(with_values([[0, 0, 1, 0, 0]]), scores=first.base_values + 1.0)
    combined = combine([first, second, other])
    assert combined.values[0, 0] == pytest.approx(combined.values[0, 1])
    assert combined.values[0, 2] < combined.values[0, 0]


def test_a_base_value_that_is_no_score_tells_nothing_of_how_far_above_normal():
    calm, other = with_values([[1, 0, 0, 0, 0]]), with_values([[0, 1, 0, 0, 0]])
    calm = replace(calm, scores=calm.base_values + 1.0, scored_base=False)
    other = replace(other, scores=other.base_values + 30.0)
    np.testing.assert_allclose(combine([calm, other]).values, [[0.5, 0.5, 0, 0, 0]])
    told = replace(calm, base_values=calm.scores - 10.0, scored_base=True)  # of the same detector
    np.testing.assert_allclose(combine([calm, told, other]).values, [[0.4, 0.6, 0, 0, 0]])


def test_where_no_detector_finds_anything_all_count_alike():
    one, other = with_values([[1, 0, 0, 0, 0]]), with_values([[0, 1, 0, 0, 0]])
    one = replace(one, scores=one.base_values)
    other = replace(other, scores=other.base_values - 1)
    np.testing.assert_allclose(combine([one, other]).values, [[0.5, 0.5, 0, 0, 0]])


def test_there_is_no_threshold_unless_each_detector_has_one():
    function = Explainer(lambda X: (X**2).sum(axis=1), NORMAL, "comp")
    attribution = Ensemble([*explainers(methods=["comp"]), function])(PLANTED[:3])
    assert attribution.threshold is None


def test_what_has_not_converged_anywhere_has_not_converged():
    hasty = IG(n_steps=2, max_steps=2, tolerance=1e-12)
    attribution = Ensemble(explainers(methods=(ASH(), hasty)))(PLANTED)
    np.testing.assert_array_equal(attribution.converged, attribution.members[1].converged)
    assert not attribution.converged.all()


def test_a_normal_that_raises_the_alarm_by_any_member_is_said():
    """marg's base value is a constant, and has no part in it."""
    stuck = Domain.infer(NORMAL, fixed=[0])
    rows = NORMAL[:4] + np.array([12.0, 0, 0, 0, 0])
    members = [
        Explainer(GAUSSIANS, NORMAL, "marg", domain=stuck),
        Explainer(GAUSSIANS, NORMAL, "comp", domain=stuck),
    ]
    attribution = Ensemble(members)(rows)
    assert attribution.flagged.all()
    assert attribution.still_alarming.all()
    assert not attribution.members[0].still_alarming.any()
    assert all(text.startswith("comp: ") for text in attribution.remarks)
    assert "4 whose normal still raises the alarm" in repr(attribution)
    assert not Ensemble(explainers(methods=("marg", "comp")))(rows).still_alarming.any()


def test_what_fell_back_by_any_member_did():
    said = with_values([[1, 0, 0, 0, 0], [0, 1, 0, 0, 0]])
    slower = replace(said, fallback=np.array([False, True]))
    assert combine([said, slower]).fallback.tolist() == [False, True]
    assert combine([said, said]).fallback is None


def test_a_row_that_one_member_has_not_converged_in_says_so():
    methods = ("KSH", COMP(limits=FEW))
    members = [Explainer(switched(), SWITCHED, each, domain=SWITCH) for each in methods]
    attribution = Ensemble(members)(SWITCHED)
    assert attribution.converged.tolist() == [True, False, True]
    assert repr(attribution).count("3 features, 1 not converged") == 1


def test_frames_keep_their_names():
    names = ["a", "b", "c", "d", "e"]
    normal = pd.DataFrame(NORMAL, columns=names)
    rows = pd.DataFrame(PLANTED[:2, ::-1], columns=names[::-1], index=["monday", "tuesday"])
    members = [Explainer(GAUSSIANS, normal, method) for method in ("ASH", "comp")]
    attribution = Ensemble(members)(rows)
    assert attribution.feature_names == tuple(names)
    assert attribution.row_names == ("monday", "tuesday")


def test_an_ensemble_of_nobody_is_refused():
    with pytest.raises(ValueError, match="at least one explainer, got none"):
        Ensemble([])
    with pytest.raises(ValueError, match="at least one attribution to combine, got none"):
        combine([])


@pytest.mark.parametrize("methods", [(), "near"], ids=repr)
def test_methods_that_are_no_list_are_refused(methods):
    with pytest.raises(ValueError, match="`methods` must be a list of methods"):
        Ensemble.of(lambda X: X.sum(axis=1), np.eye(3), methods)


def test_members_with_other_players_are_refused():
    grouped = Explainer(GAUSSIANS, NORMAL, domain=Domain(5, players={"pair": [0, 1]}))
    with pytest.raises(ValueError, match=r"same features in the same order.*'pair'"):
        Ensemble([*explainers(), grouped])
    with pytest.raises(ValueError, match=r"same features in the same order.*'pair'"):
        Ensemble([grouped, *explainers()])


def test_attributions_to_other_players_are_refused():
    whole = with_values([[1, 0, 0, 0, 0]])
    other = replace(whole, feature_names=("a", "b", "c", "d", "e"))
    with pytest.raises(ValueError, match=r"same features in the same order.*'a'"):
        combine([whole, other])
    with pytest.raises(ValueError, match=r"same features in the same order.*'a'"):
        combine([whole, whole, other])


def test_members_with_other_rows_are_refused():
    explain = Explainer(GAUSSIANS, NORMAL, "comp")
    with pytest.raises(ValueError, match="of the same rows"):
        combine([explain(PLANTED[:2]), explain(PLANTED[2:4])])


def test_the_best_default_has_the_methods_that_the_detector_allows():
    every = Ensemble.of(GAUSSIANS, NORMAL)
    assert [explain.method.name for explain in every.explainers] == ["near", "wKSH"]
    some = Ensemble.of(FOREST, NORMAL, ["marg", "wKSH", "comp"])
    assert [explain.method.name for explain in some.explainers] == ["wKSH", "comp"]
    found = every(PLANTED).values.argmax(axis=1) == CULPRITS
    assert found.mean() > 0.9


def test_other_methods_can_be_asked_for():
    domain = Domain(5, players={"pair": [0, 1]})
    ensemble = Ensemble.of(GAUSSIANS, NORMAL, ["IG", ASH(RelaxedMinimum(gamma=1.0))], domain=domain)
    attribution = ensemble(PLANTED[:2])
    assert attribution.method == "Ensemble(IG, ASH)"
    assert attribution.feature_names[0] == "pair"


def test_methods_of_which_none_applies_are_refused():
    with pytest.raises(TypeError, match="None of the methods marg, SFE applies"):
        Ensemble.of(FOREST, NORMAL, ["marg", "SFE"])


# What members are asked for: Ensemble([Explainer(..., refits=5), ...]).
BY_MEMBER = ("method", "chunk_size", "refits", "seed")


def test_it_is_asked_for_as_an_explainer_is():
    """But for the method, of which there are several, the size of chunks, and refits."""
    one, several = signature(Explainer).parameters, signature(Ensemble.of).parameters
    shared = [name for name in one if name not in BY_MEMBER]
    assert [name for name in several if name != "methods"] == shared
    for name in shared:
        assert several[name].default == one[name].default
        assert several[name].kind == one[name].kind
        assert several[name].annotation == one[name].annotation


def test_it_has_what_an_explainer_has():
    given = {"players": {"pair": [0, 1]}, "fixed": [4], "threshold": 3.0, "n_jobs": 1}
    one = Explainer(GAUSSIANS, NORMAL, "comp", **given)
    several = Ensemble.of(GAUSSIANS, NORMAL, ["comp", "KSH"], **given)
    assert several.domain.player_names == one.domain.player_names == ("pair", "x2", "x3", "x4")
    assert several.domain.fixed.tolist() == one.domain.fixed.tolist()
    assert several(PLANTED).threshold == one(PLANTED).threshold == 3.0
    assert_same_rows(several.explain(PLANTED), several(PLANTED))
    assert_same_rows(several(PLANTED).members[0], one(PLANTED))
    assert repr(several).startswith(f"Ensemble([{one!r}, Explainer(")


def test_it_can_be_pickled():
    explain = Ensemble.of(GAUSSIANS, NORMAL, threshold=3.0)
    again = pickle.loads(pickle.dumps(explain))  # noqa: S301
    assert repr(again) == repr(explain)
    one, other = again(PLANTED), explain(PLANTED)
    assert_same_rows(one, other)
    for member, same in zip(one.members, other.members, strict=True):
        assert_same_rows(member, same)


def test_jobs_are_those_of_each_member():
    with pytest.raises(ValueError, match="`n_jobs` must be a whole number"):
        Ensemble.of(GAUSSIANS, NORMAL, n_jobs=0)
