"""whyflag: why did the detector flag this row, and what would have been normal?"""

from whyflag.adapters import as_score
from whyflag.attribution import Attribution
from whyflag.domain import Domain
from whyflag.explainer import Explainer

__all__ = ["Attribution", "Domain", "Explainer", "as_score"]
__version__ = "0.1.0"
