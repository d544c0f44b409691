"""Where the incidents of PetShop are found, without a network."""

from pathlib import Path

import pytest

from whyflag_paper.datasets import petshop as module
from whyflag_paper.datasets.petshop import COMMIT, FILES, FOLDER, petshop


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache of our own, and what is asked of the network."""
    asked = []

    def retrieve(url, known_hash, fname, path):
        asked.append(url)
        Path(path).mkdir(parents=True, exist_ok=True)
        (Path(path) / fname).write_text(url)

    monkeypatch.delenv(FOLDER, raising=False)
    monkeypatch.setattr(module.pooch, "os_cache", lambda name: tmp_path / name)
    monkeypatch.setattr(module.pooch, "retrieve", retrieve)
    return asked


def test_there_are_26_incidents_and_each_file_is_named_once():
    assert sum(name.endswith("target.json") for name in FILES) == 26
    assert len(set(FILES)) == len(FILES) == 54


def test_files_are_fetched_once_at_the_commit(cache):
    folder = petshop()
    assert len(cache) == len(FILES)
    assert all(f"/{COMMIT}/dataset/low_traffic/" in url for url in cache)
    assert (folder / "test" / "issue_17" / "target.json").read_text() == cache[-1]
    assert petshop() == folder
    assert len(cache) == len(FILES)


def test_a_folder_that_is_named_is_used_and_nothing_is_fetched(cache, tmp_path, monkeypatch):
    for file in FILES:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    monkeypatch.setenv(FOLDER, str(tmp_path))
    assert petshop() == tmp_path
    assert cache == []


def test_a_folder_that_lacks_a_file_is_refused(cache, tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER, str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"has no file 'graph\.csv'.*at commit 1c5992d"):
        petshop()


def test_without_a_network_the_error_says_what_to_do(cache, monkeypatch):
    def fail(**asked):
        raise OSError("no route")

    monkeypatch.setattr(module.pooch, "retrieve", fail)
    with pytest.raises(OSError, match=r"graph\.csv cannot be downloaded.*WHYFLAG_PETSHOP"):
        petshop()
