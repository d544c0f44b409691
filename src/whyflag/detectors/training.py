"""Training of candidates together, each stopped by its own held-out loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from torch import Tensor

from whyflag.detectors.stack import Stack
from whyflag.progress import work

GAIN = 1e-4  # of the held-out loss: less does not count as getting better
CHECK = 50  # updates between two looks at held-out rows
PACE = 2000  # updates over which a network's pace is measured


@final
@dataclass(frozen=True)
class Trained:
    """A network as it was when held-out rows liked it best."""

    arrays: dict[str, np.ndarray]
    held_out_loss: float  # NaN: it diverged
    outcome: str


def train_together(
    stack: Stack,
    rows: Tensor,
    loss: Callable[[Stack, Tensor, torch.Generator], Tensor],
    held_out_loss: Callable[[Stack], Tensor],
    *,
    learning_rate: float,
    batch_size: int,
    max_updates: int,
    patience: int,
    seed: int,
    label: str,
) -> list[Trained]:
    """Train every network of a stack with Adam.

    A network leaves the stack when its held-out loss has not fallen for `patience` updates; when at
    its pace it could not reach the best of the others in the updates that are left; or when it
    diverges. The others go on. Updates are counted, not passes over the rows: a pass over
    a hundred rows is one update, and one over ten thousand is eighty.

    Args:
        stack: The networks, C of them.
        rows: Training rows, (n, d).
        loss: Mean loss of each network on a batch, given noise: (C,).
        held_out_loss: Loss of each network on held-out rows, without noise: (C,).
        learning_rate: Adam's.
        batch_size: Rows in a batch, about.
        max_updates: Most updates of the weights.
        patience: Updates without a gain after which a network is stopped.
        seed: Seed of the order of rows and of the noise.
        label: What the progress bar says.
    """
    generator = torch.Generator().manual_seed(seed)
    batches = _batches(len(rows), batch_size, generator)
    trained: list[Trained | None] = [None] * len(stack.widths)
    state = _State.at_start(stack, learning_rate)
    with work(label, "update", max_updates) as bar:
        for update in range(1, max_updates + 1):
            state.step(loss(state.stack, rows[next(batches)], generator))
            bar.update()
            if update % CHECK and update < max_updates:
                continue
            with torch.no_grad():
                state.note(held_out_loss(state.stack).double().numpy(), update)
            ended = state.ended(update, patience, max_updates)
            for position, outcome in ended.items():
                trained[state.which[position]] = state.result(position, outcome)
            if len(ended) == len(state.which):
                break
            if ended:
                state.drop(ended)
    return [result for result in trained if result is not None]


def _batches(n: int, size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Positions of rows, in batches of about a size, pass after pass."""
    while True:
        order = torch.randperm(n, generator=generator)
        yield from order.tensor_split(max(1, round(n / size)))


@final
class _State:
    """The networks still under way, with their optimiser and the best of each so far."""

    def __init__(self, stack: Stack, optimiser: torch.optim.Adam) -> None:
        self.stack, self.optimiser = stack, optimiser
        self.which = list(range(len(stack.widths)))
        self.best_flat = stack.flat.detach().clone()  # C x P
        self.best_loss = np.full(len(self.which), np.inf)
        self.best_update = np.zeros(len(self.which), dtype=int)
        self.loss = np.full(len(self.which), np.inf)
        self.past: dict[int, np.ndarray] = {}  # best losses by update
        self.leader = np.inf  # the best loss of all, those that have ended too

    @classmethod
    def at_start(cls, stack: Stack, learning_rate: float) -> _State:
        flat = stack.flat.detach().clone().requires_grad_()
        return cls(stack.with_weights(flat), torch.optim.Adam([flat], lr=learning_rate))

    def step(self, losses: Tensor) -> None:
        # Networks share no weight: the gradient of the sum is each one's own.
        flat = self.stack.flat
        (flat.grad,) = torch.autograd.grad(losses.sum(), flat)
        self.optimiser.step()
        # The graph of a split is used up by its gradient.
        self.stack = self.stack.with_weights(flat)

    def note(self, losses: np.ndarray, update: int) -> None:
        """Remember the weights of the networks whose held-out loss is the lowest so far."""
        self.loss = losses
        threshold = self.best_loss - GAIN * np.abs(
            np.where(np.isfinite(self.best_loss), self.best_loss, 0.0)
        )
        better = np.flatnonzero(losses < threshold)
        self.best_flat[better] = self.stack.flat.detach()[better]
        self.best_loss[better], self.best_update[better] = losses[better], update
        self.past[update] = self.best_loss.copy()
        self.leader = min(self.leader, float(self.best_loss.min()))

    def ended(self, update: int, patience: int, max_updates: int) -> dict[int, str]:
        """Positions of the networks that are through, and why."""
        ended = {}
        within_reach = np.ones(len(self.which), dtype=bool)
        if update - PACE in self.past:
            pace = (self.past[update - PACE] - self.best_loss) / PACE
            within_reach = self.best_loss - pace * (max_updates - update) <= self.leader
        for position, loss in enumerate(self.loss):
            best = int(self.best_update[position])
            if not np.isfinite(loss):
                ended[position] = f"diverged by update {update}"
            elif update - best >= patience:
                ended[position] = f"best after {best} updates"
            elif not within_reach[position]:
                ended[position] = f"out of reach of the best after {update} updates"
            elif update == max_updates:
                ended[position] = f"still getting better after {update} updates"
        return ended

    def result(self, position: int, outcome: str) -> Trained:
        best = self.stack.with_weights(self.best_flat)
        loss = self.best_loss[position]
        return Trained(
            best.arrays(position),
            float(loss) if np.isfinite(loss) else np.nan,
            outcome,
        )

    def drop(self, positions: dict[int, str]) -> None:
        kept = [i for i in range(len(self.which)) if i not in positions]
        moments = self.optimiser.state[self.stack.flat]
        smaller = self.stack.select(kept)
        flat = smaller.flat.requires_grad_()
        rate = self.optimiser.param_groups[0]["lr"]
        self.optimiser = torch.optim.Adam([flat], lr=rate)
        self.optimiser.state[flat] = {
            name: value[kept] if value.ndim == 2 else value for name, value in moments.items()
        }
        self.stack = smaller.with_weights(flat)
        self.which = [self.which[i] for i in kept]
        for name in ("best_flat", "best_loss", "best_update", "loss"):
            setattr(self, name, getattr(self, name)[kept])
        self.past = {update: losses[kept] for update, losses in self.past.items()}
