import os
import stat

import pytest

from whyflag.files.atomic import atomically, to_standard_output


def write(path, text):
    with atomically(path) as beside:
        beside.write_text(text)


def interrupted(path):
    with atomically(path) as beside:
        beside.write_text("half")
        raise KeyboardInterrupt


def test_an_interrupted_file_leaves_the_old_one(tmp_path):
    path = tmp_path / "t"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        interrupted(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_can_not_be_written_to_is_said(tmp_path):
    with (
        pytest.raises(FileNotFoundError, match="is not a folder"),
        atomically(tmp_path / "a" / "b"),
    ):
        pass
    with pytest.raises(IsADirectoryError, match="name a file"), atomically(tmp_path):
        pass


def test_a_new_file_has_the_rights_of_the_one_that_it_replaces(tmp_path):
    path = tmp_path / "t"
    path.write_text("old")
    path.chmod(0o640)
    write(path, "new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o640)


@pytest.mark.parametrize("content", ["old", None])
def test_a_link_is_followed(tmp_path, content):
    target, link = tmp_path / "target", tmp_path / "link"
    if content is not None:
        target.write_text(content)
    link.symlink_to(target)
    write(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_pipe_is_written_into(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write(pipe, "new")
    assert os.read(read, 100) == b"new"
    os.close(read)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_pipe_gets_nothing_of_what_was_interrupted(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(KeyboardInterrupt):
        interrupted(pipe)
    assert os.read(read, 100) == b""
    os.close(read)


def test_standard_output_gets_all_or_nothing(capsys):
    with to_standard_output() as whole:
        whole.write_text("new", encoding="utf-8")
        assert capsys.readouterr().out == ""
    assert capsys.readouterr().out == "new"
    with pytest.raises(KeyboardInterrupt), to_standard_output() as whole:
        raise KeyboardInterrupt
    assert capsys.readouterr().out == ""
