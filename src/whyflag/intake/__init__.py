"""Rows as they come: what they are read as, and what numbers can not say of them."""

from whyflag.intake.normal import as_numbers, comes_raw, learn_frames
from whyflag.intake.reader import Intake

__all__ = ["Intake", "as_numbers", "comes_raw", "learn_frames"]
