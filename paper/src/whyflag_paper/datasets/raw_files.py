"""The raw files: where they come from, and how one is sure of having them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import final

import pooch

FOLDER = "WHYFLAG_DATA"  # names a folder that has the files already


@final
@dataclass(frozen=True)
class RawFile:
    """A file of a public repository at a fixed commit."""

    repository: str
    commit: str
    path: str
    name: str  # what it is called here
    hash: str  # SHA-256

    @property
    def url(self) -> str:
        """Where it can be had."""
        path = self.path.replace(" ", "%20")
        return f"https://raw.githubusercontent.com/{self.repository}/{self.commit}/{path}"


def _adbench(path: str, name: str, known: str) -> RawFile:
    commit = "3dac8221081e190f157d78e93bfa8867f90d0965"
    return RawFile("Minqi824/ADBench", commit, f"adbench/datasets/Classical/{path}", name, known)


def _pyod(name: str, known: str) -> RawFile:
    commit = "34f7996effac700a5166d882d5e94c6e6078fae3"
    return RawFile("yzhao062/pyod", commit, f"notebooks/data/{name}", name, known)


def _nsl_kdd(name: str, known: str) -> RawFile:
    commit = "9923ba54559e66dbae363c4ed06794b00e83dffe"
    return RawFile("InitRoot/NSLKDD-Dataset", commit, f"U2R -d/{name}", name, known)


RAW_FILES = {
    file.name: file
    for file in (
        _adbench(
            "38_thyroid.npz",
            "thyroid.npz",
            "8de161b3f235b7647bb0b39a836d983ff61d67bf234edac461da2d71e889cb87",
        ),
        _adbench(
            "4_breastw.npz",
            "breastw.npz",
            "4f37ce07dbc25ddad8178fdc6d664ab46d2d0000ee28c2787c3c7ff3c03ef9f6",
        ),
        _pyod("lympho.mat", "031b907ecb50347720b08b38f8139d05635adeca9335a064d89d5569c27a5834"),
        _pyod("musk.mat", "50bbf414caceb66cfe6f6b1eb7c1ff7c6eb1e6d87173f7bb597ba55cd3dc5493"),
        _pyod("arrhythmia.mat", "e4d47e499591ae31e5d7f0cd983367092353eac240f48e14c9b36457edb3460d"),
        _nsl_kdd(
            "KDDTrain20U2RFS.arff",
            "b5fb28f36d1ff32ed5db0935387413dbddacf6eb11c8a9aa8b0ff11561c2493a",
        ),
        _nsl_kdd(
            "KDDTest21U2RFS.arff",
            "a8b577f494ee1c36f7fab1695285e63bc09f1f5e769d526ab20f4ad7b4c84732",
        ),
    )
}


def find(name: str) -> Path | None:
    """Where a raw file is on this machine, its hash unchecked; None if it must be fetched."""
    folder = os.environ.get(FOLDER)
    if not folder:
        folder = pooch.os_cache("whyflag")
    path = Path(folder) / name
    return path if path.is_file() else None


def fetch(name: str) -> Path:
    """The path of a raw file whose hash is right.

    From the folder that the environment variable WHYFLAG_DATA names, if there is one; else from
    the repository, once, into the user's cache.
    """
    file = RAW_FILES[name]
    folder = os.environ.get(FOLDER)
    if folder:
        path = Path(folder) / name
        if not path.is_file():
            raise FileNotFoundError(
                f"{FOLDER} names {folder!r}, which has no file {name!r}. It is {file.path!r} of "
                f"{file.repository} at commit {file.commit}."
            )
        found = sha256(path.read_bytes()).hexdigest()
        if found != file.hash:
            raise ValueError(f"{path} must have SHA-256 {file.hash}, got {found}.")
        return path
    try:
        path = pooch.retrieve(
            url=file.url,
            known_hash=f"sha256:{file.hash}",
            fname=name,
            path=pooch.os_cache("whyflag"),
        )
    except OSError as error:
        raise OSError(
            f"{file.url} cannot be downloaded ({type(error).__name__}). A folder that has the file "
            f"as {name!r} can be named by the environment variable {FOLDER}."
        ) from error
    return Path(path)
