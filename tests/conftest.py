"""What several tests set."""

import pytest

import whyflag.minimise


@pytest.fixture
def few_evaluations(monkeypatch):
    """So few for each minimisation that a bowl has its minimum, and a curved valley has not."""
    monkeypatch.setattr(whyflag.minimise, "MAX_GRADIENTS", 12)
