"""A page that an operator can read: which rows, which features, what would have been normal."""

from whyflag.report.page import write_report

__all__ = ["write_report"]
