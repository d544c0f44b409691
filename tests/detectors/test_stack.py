import numpy as np
import pytest
import torch

from whyflag.detectors.stack import Layer, Stack
from whyflag.detectors.training import CHECK, train_together

LAYERS = (Layer("in", "input", "hidden"), Layer("out", "hidden", "input"))
WIDTHS = [{"input": 3, "hidden": 2}, {"input": 3, "hidden": 7}, {"input": 3, "hidden": 4}]
ROWS = torch.tensor(np.random.default_rng(0).normal(size=(200, 3)))


def forward(stack, rows):
    return stack.linear("out", stack.hidden("in", rows.expand(len(stack.widths), -1, -1)))


def squared_error(stack, rows, generator=None):
    return ((forward(stack, rows) - rows) ** 2).sum(dim=2).mean(dim=1)


def make(widths=WIDTHS):
    seeds = [(0, WIDTHS.index(each)) for each in widths]
    return Stack.random(LAYERS, widths, seeds, torch.float64)


def test_a_network_in_a_stack_is_the_network_alone():
    together = forward(make(), ROWS)
    for i, each in enumerate(WIDTHS):
        torch.testing.assert_close(together[i], forward(make([each]), ROWS)[0])


def test_a_network_equals_pytorchs():
    stack = make([WIDTHS[0]])
    arrays = stack.arrays(0)
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Softplus(), torch.nn.Linear(2, 3))
    module.double()
    for layer, name in ((module[0], "in"), (module[2], "out")):
        layer.weight.data = torch.tensor(arrays[f"{name}.weight"].T)
        layer.bias.data = torch.tensor(arrays[f"{name}.bias"])
    torch.testing.assert_close(forward(stack, ROWS)[0], module(ROWS))


def test_padding_gets_no_gradient():
    stack = make()
    flat = stack.flat.clone().requires_grad_()
    squared_error(stack.with_weights(flat), ROWS).sum().backward()
    real = Stack.of(
        LAYERS,
        WIDTHS,
        [{name: np.ones_like(array) for name, array in make().arrays(i).items()} for i in range(3)],
    ).flat
    assert (flat.grad[real == 0] == 0).all()
    assert (flat.grad[real == 1] != 0).all()


def test_arrays_come_back_as_they_went_in():
    networks = [make().arrays(i) for i in range(3)]
    again = Stack.of(LAYERS, WIDTHS, networks)
    for i, arrays in enumerate(networks):
        for name, array in again.arrays(i).items():
            np.testing.assert_array_equal(array, arrays[name])


TRAINING = {
    "learning_rate": 0.01,
    "batch_size": 50,
    "max_updates": 200,
    "patience": 25,
    "seed": 0,
    "label": "test",
}


def train(stack, loss=squared_error, held_out_loss=None, **settings):
    held_out_loss = held_out_loss or (lambda stack: squared_error(stack, ROWS[:50]))
    return train_together(stack, ROWS, loss, held_out_loss, **(TRAINING | settings))


def test_training_together_equals_training_alone():
    together = train(make())
    for i, each in enumerate(WIDTHS):
        (alone,) = train(make([each]))
        assert together[i].held_out_loss == pytest.approx(alone.held_out_loss, rel=1e-9)
        for name, array in alone.arrays.items():
            np.testing.assert_allclose(together[i].arrays[name], array, rtol=1e-6, atol=1e-9)


def test_training_equals_pytorchs_adam():
    (trained,) = train(make([WIDTHS[1]]), max_updates=1, batch_size=200)
    stack = make([WIDTHS[1]])
    flat = stack.flat.clone().requires_grad_()
    adam = torch.optim.Adam([flat], lr=0.01)
    order = torch.randperm(200, generator=torch.Generator().manual_seed(0))
    squared_error(stack.with_weights(flat), ROWS[order]).sum().backward()
    adam.step()
    expected = stack.with_weights(flat).arrays(0)
    for name, array in trained.arrays.items():
        np.testing.assert_allclose(array, expected[name], atol=1e-12)


def test_the_weights_are_those_that_held_out_rows_liked_best():
    losses = iter([5.0, 3.0, 4.0, 4.0, 4.0])
    seen = []

    def held_out_loss(stack):
        seen.append(stack.flat.detach().clone())
        return torch.tensor([next(losses)])

    (trained,) = train(
        make([WIDTHS[0]]), held_out_loss=held_out_loss, patience=3 * CHECK, max_updates=999
    )
    assert trained.held_out_loss == 3.0
    assert trained.outcome == f"best after {2 * CHECK} updates"
    assert len(seen) == 5  # three looks without a gain
    best = make([WIDTHS[0]]).with_weights(seen[1]).arrays(0)
    np.testing.assert_array_equal(trained.arrays["in.weight"], best["in.weight"])


def test_one_that_diverges_does_not_disturb_the_others():
    def broken(stack, rows, generator=None):
        factor = [torch.nan if each["hidden"] == 7 else 1.0 for each in stack.widths]
        return squared_error(stack, rows) * torch.tensor(factor)

    together = train(make(), broken, lambda stack: broken(stack, ROWS[:50]))
    assert np.isnan(together[1].held_out_loss)
    assert together[1].outcome == f"diverged by update {CHECK}"
    for i in (0, 2):
        (alone,) = train(make([WIDTHS[i]]))
        assert together[i].held_out_loss == pytest.approx(alone.held_out_loss, rel=1e-9)


def test_one_that_could_not_catch_up_is_let_go(monkeypatch):
    monkeypatch.setattr("whyflag.detectors.training.PACE", 2 * CHECK)
    losses = iter([[9.0, 5.0], [8.9, 4.0], [8.8, 3.0], [2.0], [1.0]])
    slow, fast = train(
        make(WIDTHS[:2]),
        held_out_loss=lambda stack: torch.tensor(next(losses)),
        max_updates=5 * CHECK,
    )
    # 0.1 for each look, two looks left: it would end at 8.6, where the other already has 3.
    assert slow.outcome == f"out of reach of the best after {3 * CHECK} updates"
    assert slow.held_out_loss == pytest.approx(8.8)
    assert fast.held_out_loss == 1.0


def test_the_limit_of_updates_is_said():
    (trained,) = train(make([WIDTHS[0]]), max_updates=7)
    assert trained.outcome == "still getting better after 7 updates"
