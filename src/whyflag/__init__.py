"""whyflag: why did the detector flag this row, and what would have been normal?"""

from whyflag.adapters import as_score
from whyflag.attribution import Attribution
from whyflag.domain import Domain
from whyflag.ensemble import Ensemble, combine
from whyflag.explainer import Explainer
from whyflag.held_out import calibrate

__all__ = ["Attribution", "Domain", "Ensemble", "Explainer", "as_score", "calibrate", "combine"]
__version__ = "0.1.0"
