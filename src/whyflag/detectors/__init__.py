"""The paper's detectors, as scikit-learn estimators."""

from whyflag.detectors.gmm import GMM

__all__ = ["GMM"]
