"""Which values would have been normal, with the rest of the row as it is."""

from whyflag.repair.context import Context
from whyflag.repair.record import Alternative, Doubt, Repair
from whyflag.repair.repairer import Repairer

__all__ = ["Alternative", "Context", "Doubt", "Repair", "Repairer"]
