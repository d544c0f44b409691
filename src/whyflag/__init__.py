"""whyflag: why did the detector flag this row, and what would have been normal?"""

from whyflag.adapters import as_score
from whyflag.attribution import Attribution
from whyflag.domain import Domain
from whyflag.ensemble import Ensemble, combine
from whyflag.explainer import Explainer

__all__ = ["Attribution", "Domain", "Ensemble", "Explainer", "as_score", "combine"]
__version__ = "0.1.0"
