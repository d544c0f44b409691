"""The paper's six data sets, and how it splits them."""

from whyflag.datasets.catalogue import DATASETS, Dataset, load
from whyflag.datasets.raw_files import fetch
from whyflag.datasets.split import Split, split

__all__ = ["DATASETS", "Dataset", "Split", "fetch", "load", "split"]
