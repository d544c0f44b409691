"""The paper's six data sets, and how it splits them."""

from whyflag_paper.datasets.catalogue import DATASETS, Dataset, load
from whyflag_paper.datasets.raw_files import fetch
from whyflag_paper.datasets.split import Split, split

__all__ = ["DATASETS", "Dataset", "Split", "fetch", "load", "split"]
