import pytest

from whyflag.files.dialect import Dialect, dialect_of


@pytest.mark.parametrize(
    ("text", "separator", "decimal"),
    [
        ("a,b\n1.5,2\n", ",", "."),
        ("a;b\n1,5;2\n", ";", ","),
        ("a;b\n1.5;2\n", ";", "."),
        ("a\tb\n1,5\t2,25\n", "\t", ","),
        ("a|b\n1|2\n", "|", "."),
        ("a;b\n1,5;text, with a comma\n", ";", ","),
        ('a,b\n"1;2",3\n"4;5",6\n', ",", "."),
        ("alone\n1\n2\n", ",", "."),
        ("a;b\n1,5;2.5\n", ";", "."),  # both marks: not a decimal comma
        ("a;b\n-1,5e-3;x\n", ";", ","),
    ],
)
def test_separators_and_decimal_marks_are_recognised(text, separator, decimal):
    assert dialect_of(text.encode()) == Dialect("utf-8", separator, decimal)


@pytest.mark.parametrize(
    ("encoding", "recognised"),
    [("utf-8", "utf-8"), ("utf-8-sig", "utf-8-sig"), ("utf-16", "utf-16"), ("cp1252", "cp1252")],
)
def test_encodings_are_recognised(encoding, recognised):
    assert dialect_of("Größe;Länge\n1;2\n".encode(encoding)).encoding == recognised


def test_a_character_cut_off_at_the_end_is_no_other_encoding():
    assert dialect_of("a;b\n1;ü".encode()[:-1]).encoding == "utf-8"


def test_lines_of_different_lengths_are_divided_as_the_header_is():
    assert dialect_of(b"a;b;c\n1;2\n3;4;5;6\n").separator == ";"
