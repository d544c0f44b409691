from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import nn

from planted import HELD_OUT, NORMAL, PLANTED, assert_gradient_equals_differences, found
from whyflag import Explainer, as_score
from whyflag.adapters import torch_score
from whyflag.score import Gradient, Marginals

D = 8
MEAN = torch.tensor(NORMAL.mean(axis=0))
STD = torch.tensor(NORMAL.std(axis=0))


class Standardised(nn.Module):
    """A module that takes rows in their own units."""

    def __init__(self, inner, last=None, dtype=torch.float64):
        super().__init__()
        torch.manual_seed(0)
        self.inner = inner.to(dtype)
        self.last = last
        self.register_buffer("mean", MEAN.to(dtype))
        self.register_buffer("std", STD.to(dtype))

    def forward(self, rows):
        out = self.inner((rows - self.mean) / self.std)
        return out if self.last is None else self.last(out)


class Reconstruction(Standardised):
    def forward(self, rows):
        return super().forward(rows) * self.std + self.mean


def network(**settings):
    torch.manual_seed(0)
    layers = [nn.Linear(D, 16), nn.BatchNorm1d(16), nn.Softplus(), nn.Dropout(0.5)]
    return Standardised(nn.Sequential(*layers, nn.Linear(16, 1)), **settings)


def principal_components(dtype=torch.float64):
    """The projection on three directions, which a trained linear autoencoder would find."""
    Z = (NORMAL - NORMAL.mean(axis=0)) / NORMAL.std(axis=0)
    directions = torch.tensor(np.linalg.svd(Z)[2][:3])
    inner = nn.Linear(D, D, bias=False)
    inner.weight.data = directions.T @ directions
    return Reconstruction(inner, dtype=dtype)


@pytest.mark.parametrize("shape", ["(n,)", "(n, 1)"])
def test_a_module_is_the_score_itself(shape):
    module = network(last=None if shape == "(n, 1)" else lambda out: out[:, 0])
    score = as_score(module, n_features=D)
    assert score.find(Gradient) is not None
    assert score.find(Marginals) is None
    module.eval()
    with torch.no_grad():
        expected = module(torch.tensor(PLANTED)).reshape(-1).numpy()
    np.testing.assert_allclose(score(PLANTED), expected, rtol=0, atol=1e-10)
    assert_gradient_equals_differences(score, PLANTED[:10])


def test_low_values_can_be_the_anomalous_ones():
    module = network()
    score = as_score(module, n_features=D, higher_is_anomalous=False, threshold=-2.0)
    np.testing.assert_array_equal(score(PLANTED), -as_score(module, n_features=D)(PLANTED))
    assert score.threshold == 2.0
    assert_gradient_equals_differences(score, PLANTED[:10])


def test_a_reconstruction_is_scored_by_its_squared_error():
    module = principal_components()
    score = as_score(module, n_features=D)
    assert score.find(Marginals) is not None
    with torch.no_grad():
        errors = (PLANTED - module(torch.tensor(PLANTED)).numpy()) ** 2
    np.testing.assert_allclose(score(PLANTED), errors.sum(axis=1), rtol=1e-10)
    np.testing.assert_allclose(
        score.need(Marginals).marginal(PLANTED, np.eye(D, dtype=bool)), errors, rtol=1e-10
    )
    assert_gradient_equals_differences(score, PLANTED[:10])


def test_a_reconstruction_has_one_direction():
    with pytest.raises(TypeError, match="always high for anomalous rows"):
        as_score(principal_components(), n_features=D, higher_is_anomalous=False)


def standardised_error(rows):
    return (((rows - principal(rows)) / STD) ** 2).sum(dim=1)


principal = principal_components()


def test_a_function_of_tensors():
    score = torch_score(standardised_error, D, threshold=10.0)
    expected = standardised_error(torch.tensor(PLANTED)).detach().numpy()
    np.testing.assert_allclose(score(PLANTED), expected, rtol=1e-12)
    assert_gradient_equals_differences(score, PLANTED[:10])
    assert score.threshold == 10.0
    assert found(score) >= 0.9


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_any_dtype(dtype):
    module = network(dtype=dtype)
    score = as_score(module, n_features=D)
    module.eval()
    with torch.no_grad():
        expected = module(torch.tensor(PLANTED, dtype=dtype))[:, 0].double().numpy()
    np.testing.assert_allclose(score(PLANTED), expected, atol=10 * torch.finfo(dtype).eps)
    value, gradient = score.value_and_grad(PLANTED)
    assert value.dtype == gradient.dtype == np.float64
    attribution = Explainer(score, NORMAL)(PLANTED[:5])
    assert np.isfinite(attribution.values).all()


def test_a_module_of_single_precision_is_scored_in_double_by_a_copy():
    module = network(dtype=torch.float32)
    score = as_score(module, n_features=D)
    np.testing.assert_array_equal(
        score(PLANTED), as_score(network(dtype=torch.float32).double(), n_features=D)(PLANTED)
    )
    assert score.precision == np.finfo(np.float64).eps
    assert {parameter.dtype for parameter in module.parameters()} == {torch.float32}


class Insists(nn.Module):
    """A module with something inside that knows one type only."""

    def __init__(self, kind):
        super().__init__()
        self.inner, self.kind = nn.Linear(D, 1), kind
        torch.manual_seed(0)
        self.weight = torch.randn(D, 1)  # neither a parameter nor a buffer
        self.own = (torch.randn(1) + nn.Parameter(torch.ones(1))) if kind == "graph" else None

    def forward(self, rows):
        return self.inner(rows) + (rows @ self.weight if self.kind == "type" else 0.0)


@pytest.mark.parametrize("kind", ["type", "graph"])
def test_one_that_cannot_be_made_double_is_scored_as_it_is(kind):
    module = Insists(kind)
    score = as_score(module, n_features=D)
    with torch.no_grad():
        expected = module(torch.tensor(PLANTED, dtype=torch.float32))[:, 0].numpy()
    np.testing.assert_allclose(score(PLANTED), expected, rtol=1e-6)
    assert score.precision == np.finfo(np.float32).eps


def test_a_module_that_scores_otherwise_in_double_is_refused():
    class Otherwise(nn.Linear):
        def forward(self, rows):
            return super().forward(rows) + (rows.dtype == torch.float64)

    with pytest.raises(ValueError, match=r"Otherwise .* Pass it as a function: .*torch_score"):
        as_score(Otherwise(D, 1), n_features=D)(PLANTED)


def test_half_precision_is_a_staircase_but_no_error():
    score = as_score(principal_components(torch.bfloat16), n_features=D)
    assert np.isfinite(Explainer(score, NORMAL)(PLANTED[:2]).values).all()


def test_nothing_is_left_behind_in_the_module():
    module = network()
    module.inner[0].eval()  # a mixture of modes
    modes = [part.training for part in module.modules()]
    state = {name: value.clone() for name, value in module.state_dict().items()}
    with torch.inference_mode():  # whatever the caller has switched off
        Explainer(module, NORMAL)(PLANTED[:3])
    assert [part.training for part in module.modules()] == modes
    assert all(parameter.grad is None for parameter in module.parameters())
    assert all(parameter.requires_grad for parameter in module.parameters())
    for name, value in module.state_dict().items():
        assert torch.equal(value, state[name]), name


def test_a_module_that_writes_to_itself_is_not_changed_either():
    class Counting(nn.Linear):
        def __init__(self):
            super().__init__(D, 1)
            self.register_buffer("calls", torch.zeros(1))

        def forward(self, rows):
            self.calls += 1
            return super().forward(rows)

    module = Counting()
    Explainer(module, NORMAL)(PLANTED[:2])
    assert module.calls == 0


def test_a_module_that_is_scored_as_it_is_gets_the_mode_of_each_part_back():
    module = network()
    module.inner[0].eval()
    modes = [part.training for part in module.modules()]
    score = torch_score(module, D)
    score(PLANTED)
    score.value_and_grad(PLANTED)
    assert [part.training for part in module.modules()] == modes


def test_modes_come_back_after_an_error():
    module = network()
    with pytest.raises(RuntimeError):
        as_score(module, n_features=D + 1)
    assert module.training


def test_rows_are_scored_in_chunks():
    from whyflag.score.autograd import Runner, from_tensors

    sizes = []

    def function(rows):
        sizes.append(len(rows))
        return (rows**2).sum(dim=1)

    score = from_tensors(function, D, Runner(chunk=7 * D))
    value, gradient = score.value_and_grad(HELD_OUT[:20])
    assert sizes == [7, 7, 6]
    np.testing.assert_allclose(value, (HELD_OUT[:20] ** 2).sum(axis=1))
    np.testing.assert_allclose(gradient, 2 * HELD_OUT[:20])


def test_a_module_with_dropout_on_is_seen_through_a_function():
    module = network()  # in training mode
    score = torch_score(lambda rows: module(rows)[:, 0], D)
    with pytest.raises(ValueError, match="is random"):
        score(PLANTED)


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda rows: rows[:, :3], ValueError, r"to scores \(n,\).*got \(2, 3\)"),
        (lambda rows: (rows, rows), TypeError, "must return one tensor, got tuple"),
    ],
)
def test_what_is_no_score_is_refused(function, error, message):
    with pytest.raises(error, match=message):
        torch_score(function, D)


def test_a_score_that_leaves_pytorch_has_no_gradient():
    score = torch_score(lambda rows: (rows.detach() ** 2).sum(dim=1), D)
    with pytest.raises(ValueError, match="does not depend on the rows by differentiable"):
        score.value_and_grad(PLANTED)


def test_a_module_needs_the_number_of_columns_and_no_gradient():
    with pytest.raises(ValueError, match="as_score\\(module, n_features="):
        as_score(network())
    with pytest.raises(TypeError, match="gradient of its own"):
        as_score(network(), gradient=lambda X: X, n_features=D)


def test_threads_do_not_switch_a_module_to_training_under_one_another():
    """One that gave the module its mode back turned dropout on for all that were not done."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 16), nn.Dropout(0.5), nn.Tanh(), nn.Linear(16, 3)).train()
    score = as_score(module, n_features=3)
    rows = np.random.default_rng(0).normal(size=(5, 3))
    alone = score(rows)
    with ThreadPoolExecutor(8) as threads:
        for together in threads.map(score, [rows] * 400):
            np.testing.assert_allclose(together, alone, rtol=1e-9)
    assert module.training
