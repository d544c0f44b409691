"""The data sets of the paper's Table 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

import numpy as np

from whyflag.arrays import BoolVector, Matrix
from whyflag_paper.datasets.raw_files import fetch


@final
@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows, some of them anomalous.

    Attributes:
        name: As in the paper.
        X: The rows, (n, d); binary columns hold 0 and 1.
        anomalous: Which rows are anomalous, (n,).
        columns: Names of the columns, d.
        binary: Whether the columns are binary (all of them, or none).
        groups: Columns that are one feature of the source, by its name: those of a category.
    """

    name: str
    X: Matrix
    anomalous: BoolVector
    columns: tuple[str, ...]
    binary: bool = False
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def load(name: str) -> Dataset:
    """Load a data set by its name in the paper, in any case.

    >>> sorted(DATASETS)
    ['Arrhythmia', 'BreastW', 'Lympho', 'Musk', 'Thyroid', 'U2R']
    """
    for known, source in DATASETS.items():
        if isinstance(name, str) and name.casefold() == known.casefold():
            return source.read(*(fetch(file) for file in source.files))
    raise ValueError(f"`name` must be one of {', '.join(DATASETS)}, got {name!r}.")


def _thyroid(path: Path) -> Dataset:
    # The six real-valued columns of UCI's thyroid disease data, in their order there.
    names = ("age", "TSH", "T3", "TT4", "T4U", "FTI")
    return _real("Thyroid", *_npz(path), names)


def _breastw(path: Path) -> Dataset:
    names = (
        "clump thickness",
        "uniformity of cell size",
        "uniformity of cell shape",
        "marginal adhesion",
        "single epithelial cell size",
        "bare nuclei",
        "bland chromatin",
        "normal nucleoli",
        "mitoses",
    )
    return _real("BreastW", *_npz(path), names)


def _u2r(*paths: Path) -> Dataset:
    names = (
        "duration",
        "hot",
        "num_compromised",
        "root_shell",
        "num_root",
        "num_file_creations",
        "srv_count",
        "dst_host_count",
        "dst_host_srv_count",
        "dst_host_same_src_port_rate",
    )
    parts = [_arff(path, names) for path in paths]
    X, y = (np.concatenate(both) for both in zip(*parts, strict=True))
    return _real("U2R", X, y, names)


LYMPHO_FEATURES = (
    "lymphatics",
    "block of afferent",
    "block of lymph c",
    "block of lymph s",
    "by pass",
    "extravasates",
    "regeneration",
    "early uptake",
    "nodes diminished",
    "nodes enlarged",
    "changes in lymph",
    "defect in node",
    "changes in node",
    "changes in structure",
    "special forms",
    "dislocation",
    "exclusion of node",
    "number of nodes",
)


def _lympho(path: Path) -> Dataset:
    codes, y = _mat(path)
    groups = {
        feature: tuple(f"{feature} = {value}" for value in range(1, int(column.max()) + 1))
        for feature, column in zip(LYMPHO_FEATURES, codes.T, strict=True)
    }
    one_hot = [
        column[:, None] == np.arange(1, len(group) + 1)
        for column, group in zip(codes.T, groups.values(), strict=True)
    ]
    return Dataset(
        name="Lympho",
        X=np.hstack(one_hot).astype(np.float64),
        anomalous=y == 1,
        columns=tuple(name for group in groups.values() for name in group),
        binary=True,
        groups=groups,
    )


def _musk(path: Path) -> Dataset:
    return _real("Musk", *_mat(path), tuple(f"f{i}" for i in range(1, 167)))


def _arrhythmia(path: Path) -> Dataset:
    # Which 274 of UCI's 279 columns these are, the source does not say.
    return _real("Arrhythmia", *_mat(path), tuple(f"x{i}" for i in range(274)))


@final
@dataclass(frozen=True)
class Source:
    """The raw files of a data set, and what reads them."""

    files: tuple[str, ...]
    read: Callable[..., Dataset]


DATASETS = {
    "Thyroid": Source(("thyroid.npz",), _thyroid),
    "BreastW": Source(("breastw.npz",), _breastw),
    "U2R": Source(("KDDTrain20U2RFS.arff", "KDDTest21U2RFS.arff"), _u2r),
    "Lympho": Source(("lympho.mat",), _lympho),
    "Musk": Source(("musk.mat",), _musk),
    "Arrhythmia": Source(("arrhythmia.mat",), _arrhythmia),
}


def _real(name: str, X: Matrix, y: Matrix, columns: tuple[str, ...]) -> Dataset:
    return Dataset(name, np.asarray(X, dtype=np.float64), y == 1, columns)


def _npz(path: Path) -> tuple[Matrix, Matrix]:
    with np.load(path, allow_pickle=False) as arrays:
        return arrays["X"], arrays["y"].ravel()


def _mat(path: Path) -> tuple[Matrix, Matrix]:
    from scipy.io import loadmat

    arrays = loadmat(path)
    return arrays["X"], arrays["y"].ravel()


def _arff(path: Path, columns: tuple[str, ...]) -> tuple[Matrix, Matrix]:
    from scipy.io.arff import loadarff

    records, _ = loadarff(str(path))
    X = np.column_stack([records[column] for column in columns])
    return X, records["xAttack"].astype(np.float64)
