"""Rows as they come: what they are read as, and what numbers can not say of them."""

from whyflag.intake.normal import as_numbers, learn_frames, takes_frames, takes_raw
from whyflag.intake.reader import Intake

__all__ = ["Intake", "as_numbers", "learn_frames", "takes_frames", "takes_raw"]
