"""Tests that need PyTorch are skipped, and say so, where it is not installed.

It is in the development environment; a new Python may be out before a PyTorch for it is.
"""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from importlib.util import find_spec
from typing import Any

import pytest


class Lacking(MetaPathFinder):
    """Whoever asks for PyTorch is left out."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        """Skip the test, or the file of tests."""
        if fullname == "torch":
            pytest.skip("PyTorch is not installed", allow_module_level=True)


if find_spec("torch") is None:
    sys.meta_path.append(Lacking())
