import pytest

from whyflag.files.documents import read_document, write_document

CONTENT = {"format": "a thing", "version": 1, "numbers": [1.5, 2]}


def read(path):
    return read_document(path, "a thing", 1, with_checksum=True)


def test_a_document_comes_back_as_it_was(tmp_path):
    write_document(tmp_path / "d", CONTENT)
    assert read(tmp_path / "d") == CONTENT


def test_any_other_number_in_it_is_noticed(tmp_path):
    write_document(tmp_path / "d", CONTENT)
    text = (tmp_path / "d").read_text()
    (tmp_path / "d").write_text(text.replace("1.5", "2.5"))
    with pytest.raises(ValueError, match="d is damaged: its checksum differs"):
        read(tmp_path / "d")


@pytest.mark.parametrize("content", ["[" * 100_000, "{", "", "\udcff"])
def test_what_is_no_json_is_said_in_one_line(tmp_path, content):
    (tmp_path / "d").write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match="d is damaged, or no JSON"):
        read(tmp_path / "d")
