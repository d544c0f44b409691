"""A score that turns random while it is being explained is found, by every method."""

import numpy as np
import pytest

from whyflag import Ensemble, Explainer, as_score
from whyflag.methods import METHODS
from whyflag.score import Gradient, Score
from whyflag.score.additive import of_parts

ROWS = np.random.default_rng(0).normal(size=(60, 4))
QUERIES = ROWS[:6] + 3 * np.eye(4)[[0, 1, 2, 3, 0, 1]]


class Turning:
    """Σ x², with noise from its k-th call on."""

    def __init__(self, after, size=1.0):
        self.calls, self.after, self.size = 0, after, size
        self.rng = np.random.default_rng(0)

    def to_score(self):
        abilities = (Gradient(self.value_and_grad), *of_parts(self.parts))
        return Score(self, abilities, n_features=4)

    def parts(self, X):
        self.calls += 1
        noise = self.rng.normal(size=X.shape) if self.calls > self.after else 0.0
        return self.size * (X**2 + noise)

    def __call__(self, X):
        return self.parts(X).sum(axis=1)

    def value_and_grad(self, X):
        return self(X), 2 * self.size * X


def calls_of(method, **settings):
    """Calls that making the explainer takes, and all of them."""
    score = Turning(np.inf)
    explain = Explainer(score, ROWS, method, **settings)
    begin = explain.score.function.calls
    explain(QUERIES)
    return begin, explain.score.function.calls


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [1e-6, 1.0])
def test_from_any_call_on(method, size):
    begin, end = calls_of(method)
    for after in np.unique(np.linspace(begin, end - 1, 8).astype(int)):
        explain = Explainer(Turning(np.inf, size), ROWS, method)
        explain.score.function.after = after
        with pytest.raises(ValueError, match="is random: scored twice"):
            explain(QUERIES)


@pytest.mark.parametrize("chunk_size", [1, 4])
def test_in_any_chunk(chunk_size):
    begin, end = calls_of("KSH", chunk_size=chunk_size)
    for after in range(begin, end):
        explain = Explainer(Turning(np.inf), ROWS, "KSH", chunk_size=chunk_size)
        explain.score.function.after = after
        with pytest.raises(ValueError, match="is random: scored twice"):
            explain(QUERIES)


def test_in_an_ensemble():
    score = Turning(np.inf)
    explain = Ensemble([Explainer(score, ROWS, method) for method in ("marg", "KSH")])
    explain(QUERIES)
    for member in explain.explainers:
        member.score.function.calls, member.score.function.after = 0, 4
    with pytest.raises(ValueError, match="is random: scored twice"):
        explain(QUERIES)


def test_in_one_of_several_processes(monkeypatch):
    monkeypatch.setattr("whyflag.explainer.WORTH_PROCESSES", 0.0)
    begin, end = calls_of("KSH", chunk_size=1)
    each = (end - begin - 1) // len(QUERIES)
    explain = Explainer(Turning(np.inf), ROWS, "KSH", n_jobs=2, chunk_size=1)
    explain.score.function.after = begin + 1 + each  # when the first row has been explained, here
    with pytest.raises(ValueError, match="is random: scored twice"):
        explain(QUERIES)


def test_the_evaluations_before_and_after_are_counted():
    seen = []

    def function(X):
        seen.append(len(X))
        return (X**2).sum(axis=1)

    explain = Explainer(as_score(function), ROWS, "KSH")
    seen.clear()
    assert explain(QUERIES).n_evaluations == sum(seen)
