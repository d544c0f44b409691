"""Detectors, as scikit-learn estimators that are kept without code."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from whyflag.detectors.files import load
from whyflag.detectors.forest import Forest
from whyflag.detectors.gmm import GMM
from whyflag.detectors.lof import LOF
from whyflag.extras import require

if TYPE_CHECKING:
    from whyflag.detectors.dagmm import DAGMM
    from whyflag.detectors.vae import VAE

__all__ = ["DAGMM", "GMM", "LOF", "VAE", "Forest", "load"]


def __getattr__(name: str) -> Any:
    # PyTorch is an extra, and slow to import: only who asks for a network needs it.
    if name in ("DAGMM", "VAE"):
        require("torch", name)
        return getattr(import_module(f"whyflag.detectors.{name.lower()}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
