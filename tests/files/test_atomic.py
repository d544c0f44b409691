import pytest

from whyflag.files.atomic import atomically


def test_an_interrupted_file_leaves_the_old_one(tmp_path):
    path = tmp_path / "t"
    path.write_text("old")

    def interrupted():
        with atomically(path) as beside:
            beside.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
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
