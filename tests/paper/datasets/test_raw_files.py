import threading
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pooch
import pytest

from whyflag_paper.datasets import fetch
from whyflag_paper.datasets.raw_files import FOLDER, RAW_FILES, RawFile, find

CONTENT = b"not a data set, but it will do"


@pytest.fixture
def made_up(monkeypatch):
    """A file of the catalogue that tests can make themselves."""
    file = RawFile(
        "some/where", "c0ffee", "a folder/made.up", "made.up", sha256(CONTENT).hexdigest()
    )
    monkeypatch.setitem(RAW_FILES, "made.up", file)
    return file


def test_addresses_name_a_commit_and_have_no_spaces():
    for file in RAW_FILES.values():
        assert len(file.commit) == 40
        assert file.commit in file.url
        assert " " not in file.url
        assert len(file.hash) == 64


def test_a_folder_that_has_the_file_serves(made_up, tmp_path, monkeypatch):
    (tmp_path / "made.up").write_bytes(CONTENT)
    monkeypatch.setenv(FOLDER, str(tmp_path))
    assert fetch("made.up").read_bytes() == CONTENT


def test_a_folder_without_the_file_is_said_with_its_source(made_up, tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER, str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"no file 'made.up'.*of some/where at commit c0ff"):
        fetch("made.up")


def test_another_file_of_that_name_is_refused(made_up, tmp_path, monkeypatch):
    (tmp_path / "made.up").write_bytes(CONTENT + b"!")
    monkeypatch.setenv(FOLDER, str(tmp_path))
    with pytest.raises(ValueError, match=r"must have SHA-256 \w{64}, got \w{64}"):
        fetch("made.up")


@pytest.fixture
def served(made_up, tmp_path, monkeypatch):
    """The file on a server of this machine, and an empty cache."""
    (tmp_path / "served").mkdir()
    source = tmp_path / "served" / "made.up"
    source.write_bytes(CONTENT)
    handler = partial(QuietHandler, directory=source.parent)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/made.up"
    monkeypatch.setattr(RawFile, "url", property(lambda self: url))
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache")
    monkeypatch.delenv(FOLDER, raising=False)
    yield source
    server.shutdown()
    server.server_close()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        """Say nothing."""


def test_a_file_is_downloaded_once(served):
    path = fetch("made.up")
    assert path.read_bytes() == CONTENT
    served.unlink()
    assert fetch("made.up") == path


def test_a_download_with_another_hash_is_refused_and_not_kept(served, tmp_path):
    served.write_bytes(b"tampered with")
    with pytest.raises(ValueError, match="hash"):
        fetch("made.up")
    assert not (tmp_path / "cache" / "made.up").exists()


def test_a_download_that_fails_says_what_to_do(served):
    served.unlink()
    with pytest.raises(OSError, match=rf"cannot be downloaded \(HTTPError\).*{FOLDER}"):
        fetch("made.up")


def test_a_file_is_found_without_being_fetched(served, tmp_path, monkeypatch):
    assert find("made.up") is None
    fetch("made.up")
    assert find("made.up") == tmp_path / "cache" / "made.up"
    monkeypatch.setenv(FOLDER, str(tmp_path / "served"))
    assert find("made.up") == served
