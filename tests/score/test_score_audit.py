import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from time import sleep

import numpy as np
import pytest
from sklearn.covariance import EllipticEnvelope
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDOneClassSVM
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from whyflag import Explainer, as_score
from whyflag.score import Score
from whyflag.score.answers import lower_median, refuse_other_answers
from whyflag.score.audit import Audit, Question
from whyflag.score.function import from_function
from whyflag.score.original import Original

ROWS = np.random.default_rng(0).normal(size=(100, 3))
OTHER = np.random.default_rng(1).normal(size=(100, 3)) * 2 + 1

DETECTORS = {
    "mixture": GaussianMixture(2, random_state=0),
    "Bayesian mixture": BayesianGaussianMixture(n_components=2, random_state=0),
    "envelope": EllipticEnvelope(random_state=0),
    "forest": IsolationForest(n_estimators=10, random_state=0),
    "density": KernelDensity(),
    "support vectors": OneClassSVM(),
    "linear": SGDOneClassSVM(random_state=0),
    "scaled mixture": make_pipeline(StandardScaler(), GaussianMixture(2, random_state=0)),
    "kernel map": make_pipeline(
        Nystroem(n_components=5, random_state=0), SGDOneClassSVM(random_state=0)
    ),
}


def patched(detector, monkeypatch):
    """A detector whose library has come to score otherwise."""
    last = detector[-1] if hasattr(detector, "named_steps") else detector
    own = type(last).score_samples
    monkeypatch.setattr(type(last), "score_samples", lambda self, X: 0.9 * own(self, X))
    return detector


@pytest.mark.parametrize("name", DETECTORS)
def test_a_formula_that_is_not_the_librarys_is_refused_with_both_numbers(name, monkeypatch):
    detector = patched(DETECTORS[name].fit(ROWS), monkeypatch)
    message = r"not the library's: at row \d+ it is \S+, the library says \S+\. .*as_score\("
    with pytest.raises(ValueError, match=message):
        as_score(detector)(ROWS)
    with pytest.raises(ValueError, match=message):
        Explainer(detector, ROWS)(ROWS[:2])


@pytest.mark.parametrize("name", DETECTORS)
@pytest.mark.parametrize("far", [1.0, 1e3, 1e6, 1e9])
def test_a_formula_that_is_the_librarys_is_not_refused(name, far):
    score = as_score(DETECTORS[name].fit(ROWS))
    assert score(far * ROWS[:20]).shape == (20,)


def test_a_map_that_is_not_the_transformers_is_refused(monkeypatch):
    detector = DETECTORS["kernel map"].fit(ROWS)
    own = Nystroem.transform
    monkeypatch.setattr(Nystroem, "transform", lambda self, X: 2 * own(self, X))
    with pytest.raises(ValueError, match="score of the Pipeline"):
        as_score(detector)(ROWS)


def test_a_reconstruction_that_is_not_linear_is_refused(monkeypatch):
    own = PCA.inverse_transform
    monkeypatch.setattr(PCA, "inverse_transform", lambda self, Z: own(self, Z) ** 3)
    with pytest.raises(ValueError, match="PCA, taken to be linear"):
        as_score(PCA(2).fit(ROWS))(ROWS)


def test_the_comparison_is_made_once(monkeypatch):
    detector = DETECTORS["mixture"].fit(ROWS)
    score = as_score(detector)
    score(ROWS)
    patched(detector, monkeypatch)
    assert score(ROWS).shape == (100,)
    assert score.audit.done


def test_a_row_alone_does_not_end_the_comparison(monkeypatch):
    score = as_score(DETECTORS["mixture"].fit(ROWS))
    score(ROWS[:1])
    patched(DETECTORS["mixture"], monkeypatch)
    with pytest.raises(ValueError, match="not the library's"):
        score(ROWS)


def test_a_detector_may_be_fitted_again_before_its_score_is_asked():
    detector = GaussianMixture(2, random_state=0).fit(ROWS)
    score, own = as_score(detector), -detector.score_samples(ROWS)
    detector.fit(OTHER)
    np.testing.assert_allclose(score(ROWS), own)


@pytest.mark.parametrize("name", ["mixture", "forest", "density", "envelope", "support vectors"])
@pytest.mark.parametrize("asked", [False, True])
def test_scores_survive_pickling_with_what_they_are_compared_with(name, asked):
    score = as_score(DETECTORS[name].fit(ROWS))
    if asked:
        score(ROWS)
    copy = pickle.loads(pickle.dumps(score))  # noqa: S301
    np.testing.assert_array_equal(copy(ROWS), score(ROWS))


def test_rows_that_the_library_has_no_number_for_are_not_compared(monkeypatch):
    monkeypatch.setattr(GaussianMixture, "score_samples", lambda self, X: np.full(len(X), -np.inf))
    assert as_score(DETECTORS["mixture"].fit(ROWS))(ROWS).shape == (100,)


@pytest.mark.parametrize("size", [1e-9, 1e-6, 1.0, 1e9])
def test_how_far_answers_may_differ_depends_on_the_score(size):
    rng = np.random.default_rng(0)

    def noisy(X):
        return size * (1 + 1e-3 * rng.normal(size=len(X)))

    with pytest.raises(ValueError, match="is random"):
        as_score(noisy)(ROWS)


def test_scores_that_are_rounding_and_nothing_else_are_no_randomness():
    full = as_score(PCA(3).fit(ROWS))  # reconstructs every row
    score = as_score(lambda X: full(np.ascontiguousarray(X)))
    assert score(ROWS).max() < 1e-28
    assert Explainer(score, ROWS)(ROWS[:3]).scores.max() < 1e-28


@pytest.mark.parametrize(
    ("values", "middle"), [([3.0], 3.0), ([9.0, 1.0], 1.0), ([5.0, 1.0, 3.0], 3.0)]
)
def test_of_two_middle_values_the_lower_one_is_the_median(values, middle):
    assert lower_median(np.array(values)) == middle


# Scores of 100 may differ by a hundred-thousandth of that; one of 0 among them, by as much.
@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize(("by", "refused"), [(0.9e-3, False), (1.1e-3, True)])
@pytest.mark.parametrize("row", [0, 3])
def test_answers_may_differ_by_a_part_of_what_scores_typically_are(row, by, refused, sign):
    one = np.array([0.0, 100.0, -100.0, 100.0])
    other = one.copy()
    other[row] += sign * by
    if not refused:
        refuse_other_answers(one, other, np.zeros((4, 1)), "got")
        return
    with pytest.raises(ValueError, match=rf"This one got {one[row]:.6g} and {other[row]:.6g}\."):
        refuse_other_answers(one, other, np.zeros((4, 1)), "got")


@pytest.mark.parametrize(
    ("precision", "allowed"),
    [(1e-12, 1e-5), (1e-6, 1e-3), (np.finfo(np.float16).eps, 0.1)],
)
def test_a_coarser_answer_may_differ_by_more_but_never_by_more_than_a_tenth(precision, allowed):
    one, rows = np.full(3, 50.0), np.zeros((3, 1))
    refuse_other_answers(one, one * (1 + 0.95 * allowed), rows, "got", precision=precision)
    with pytest.raises(ValueError, match="fixed function"):
        refuse_other_answers(one, one * (1 + 1.2 * allowed), rows, "got", precision=precision)


def test_what_scores_typically_are_may_be_known_from_elsewhere():
    one, other, rows = np.zeros(3), np.full(3, 1e-4), np.zeros((3, 1))
    refuse_other_answers(one, other, rows, "got", typical=100.0)
    with pytest.raises(ValueError, match="fixed function"):
        refuse_other_answers(one, other, rows, "got", typical=1.0)


def test_scores_of_zero_may_differ_by_the_rounding_of_their_rows():
    """That of the row itself, by the largest of its values."""
    one, rows = np.zeros(2), np.array([[1.0, -1e9], [1.0, 1.0]])
    refuse_other_answers(one, np.array([1e-6, 0.0]), rows, "got")
    for other in ([1e-5, 0.0], [0.0, 1e-6]):
        with pytest.raises(ValueError, match="fixed function"):
            refuse_other_answers(one, np.array(other), rows, "got")


def test_an_answer_that_is_not_a_number_is_another_one():
    one = np.array([1.0, np.nan])
    with pytest.raises(ValueError, match="nan and nan"):
        refuse_other_answers(one, one, np.zeros((2, 1)), "got")


def squares(X):
    return (X**2).sum(axis=1)


def wrong_at(*rows):
    """The squares, but at some of the rows, where they are five more."""

    def score(X):
        there = np.isclose(X[:, [0]], ROWS[list(rows), 0], rtol=1e-9, atol=0).any(axis=1)
        return squares(X) + 5.0 * there

    return score


class Library:
    """A library's number, which says when it is asked and with what."""

    def __init__(self, function=squares):
        self.function, self.asked = function, []

    def __call__(self, X):
        self.asked.append(len(X))
        return self.function(X)


def compared(library, **options):
    return Original(library, "the detector", "Pass something else.", **options)


def test_four_rows_are_compared_the_first_and_the_last_among_them():
    library = Library()
    compared(library).ask(Score(squares), ROWS, squares(ROWS))
    assert library.asked == [4]
    for row in (0, 99):
        score = wrong_at(row)
        with pytest.raises(ValueError, match=f"at row {row} it is"):
            compared(Library()).ask(Score(score), ROWS, score(ROWS))


def test_the_number_of_the_row_and_both_scores_are_told():
    score, right = wrong_at(99), squares(ROWS)[-1]
    message = (
        rf"the detector .* at row 99 it is {right + 5:.6g}, the library says {right:.6g}\. Pass"
    )
    with pytest.raises(ValueError, match=message):
        compared(Library()).ask(Score(score), ROWS, score(ROWS))


def test_rows_are_compared_until_there_were_four_and_not_beyond():
    library = Library()
    audit = Audit(compared(library))
    for n in (1, 2, 1, 5):
        audit.look(Score(squares), ROWS[:n], squares(ROWS[:n]))
    assert library.asked == [1, 2, 1]
    assert audit.done


def test_a_library_without_numbers_is_asked_four_times_and_not_beyond():
    library = Library(lambda X: np.full(len(X), np.nan))
    audit = Audit(compared(library))
    for _ in range(6):
        audit.look(Score(squares), ROWS[:2], squares(ROWS[:2]))
    assert library.asked == [2, 2, 2, 2]


def test_rows_that_the_library_has_a_number_for_are_compared_though_others_have_none():
    def some(X):
        return np.where(X[:, 0] == ROWS[0, 0], np.nan, squares(X))

    first, both = wrong_at(0), wrong_at(0, 99)
    compared(Library(some)).ask(Score(first), ROWS, first(ROWS))  # at the first it has none
    with pytest.raises(ValueError, match="at row 99"):
        compared(Library(some)).ask(Score(both), ROWS, both(ROWS))


def test_a_library_may_refuse_rows_and_may_warn():
    def fussy(X):
        warnings.warn("far away", stacklevel=1)
        np.log(np.zeros(1))
        if len(X) > 1:
            raise ValueError("one row at a time")
        return squares(X)

    library, wrong = Library(fussy), wrong_at(0)
    compared(library).ask(Score(wrong), ROWS, wrong(ROWS))  # it has no number
    assert library.asked == [4]
    with pytest.raises(ValueError, match="not the library's"):
        compared(Library(fussy), alone=True).ask(Score(wrong), ROWS, wrong(ROWS))


def test_a_library_that_is_asked_alone_gets_one_row_at_a_time():
    library = Library()
    compared(library, alone=True).ask(Score(squares), ROWS, squares(ROWS))
    assert library.asked == [1, 1, 1, 1]


def cancelling(X):
    """1e8 that cancel: what the rounding of a row makes of it is far more than a millionth."""
    return (1e8 * (X[:, 0] - X[:, 1])) ** 2


@pytest.mark.parametrize("alone", [False, True])
def test_two_ways_may_differ_by_what_they_make_of_the_rounding_of_a_row(alone):
    """Columns that move apart show it. One that is asked alone counts rows, and is exact."""
    rows = np.array([[1.0, 1.0 - 1e-12]] * 3) * [[1.0], [2.0], [3.0]]
    other = (1e8 * rows[:, 0] - 1e8 * rows[:, 1]) ** 2
    values = cancelling(rows)
    assert (np.abs(values - other) > 1e-5 * values).any()
    original = compared(Library(lambda X: (1e8 * X[:, 0] - 1e8 * X[:, 1]) ** 2), alone=alone)
    if alone:
        with pytest.raises(ValueError, match="not the library's"):
            original.ask(Score(cancelling), rows, values)
    else:
        original.ask(Score(cancelling), rows, values)
    with pytest.raises(ValueError, match="not the library's"):
        compared(Library(lambda X: 3 * cancelling(X))).ask(Score(cancelling), rows, values)


@pytest.mark.parametrize(("apart", "refused"), [(1.5e-5, False), (2e-5, True)])
def test_two_ways_may_be_apart_by_100_times_what_moving_a_row_by_4_roundings_does(apart, refused):
    def steep(X):
        return 1e8 * (X[:, 0] - X[:, 1])  # 2 columns · 4 roundings · 1e8 · 100: 1.8e-5

    rows = np.ones((3, 2)) * [[1.0], [1.0 + 1e-13], [1.0 - 1e-13]]
    original = compared(Library(lambda X: steep(X) + apart))
    if refused:
        with pytest.raises(ValueError, match="not the library's"):
            original.ask(Score(steep), rows, steep(rows))
    else:
        original.ask(Score(steep), rows, steep(rows))


def test_the_precision_of_an_answer_is_that_of_its_type():
    single = from_function(lambda X: squares(X).astype(np.float32))
    assert single.precision == np.finfo(np.float64).eps
    single(ROWS)
    assert single.precision == np.finfo(np.float32).eps
    whole = from_function(lambda X: np.arange(len(X)) * 0)
    whole(ROWS)
    assert whole.precision == np.finfo(np.float64).eps


def test_an_audit_takes_a_few_rows_twice_and_a_few_alone_and_happens_once():
    library = Library()
    score = from_function(library)
    score(ROWS)
    assert library.asked == [100, 1, 64, 5 * 8]
    score(ROWS)
    assert library.asked[4:] == [100]


def test_threads_ask_a_question_once():
    """Questions count what they have seen: two that ask at once count it twice."""
    asked = []

    class Slow(Question):
        def ask(self, score, X, values):
            asked.append(1)
            sleep(0.02)
            return True

    score = replace(as_score(lambda X: X[:, 0], n_features=2), audit=Audit(Slow()))
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(score, [np.ones((3, 2))] * 8))
    assert len(asked) == 1
    np.testing.assert_array_equal(found, 1.0)


def np_sum(X):
    return X.sum(axis=1)


def test_a_score_may_ask_another_one_in_a_thread():
    inner = as_score(lambda X: X[:, 0], n_features=2)
    with ThreadPoolExecutor(1) as threads:
        outer = as_score(lambda X: threads.submit(inner, X).result(timeout=20), n_features=2)
        assert outer(np.ones((1, 2))).tolist() == [1.0]


def test_an_audit_survives_pickling_open_or_done():
    score = as_score(np_sum, n_features=2)
    assert not pickle.loads(pickle.dumps(score)).audit.done  # noqa: S301
    score(ROWS)
    again = pickle.loads(pickle.dumps(score))  # noqa: S301
    assert again.audit.done
    assert (again(ROWS) == score(ROWS)).all()
