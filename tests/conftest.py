"""How all tests run."""

from hypothesis import settings

# A test that fails on a loaded machine tells nothing.
settings.register_profile("without a clock", deadline=None)
settings.load_profile("without a clock")
