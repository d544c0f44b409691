import re

import pytest

from whyflag.table.layout import layout_of


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("a,b\n1.5,2\n", ","),
        ("a;b\n1,5;2\n", ";"),
        ("a\tb\n1,5\t2,25\n", "\t"),
        ("a|b\n1|2\n", "|"),
        ("a;b\n1,5;text, with a comma\n", ";"),
        ('a,b\n"1;2",3\n"4;5",6\n', ","),
        ("alone\n1\n2\n", ","),
    ],
)
def test_separators_are_recognised(text, separator):
    assert layout_of(text.encode()).separator == separator


@pytest.mark.parametrize(
    ("encoding", "recognised"),
    [
        *(("utf-8", "utf-8"), ("utf-8-sig", "utf-8-sig"), ("utf-16", "utf-16")),
        *(("cp1252", "cp1252"), ("utf-16-le", "utf-16-le"), ("utf-16-be", "utf-16-be")),
    ],
)
def test_encodings_are_recognised(encoding, recognised):
    text = "Größe;Länge\n1;2\n3;4\n"
    assert layout_of(text.encode(encoding)).encoding == recognised


def test_a_character_cut_off_at_the_end_is_no_other_encoding():
    assert layout_of("a;b\n1;ü".encode()[:-1], whole=False).encoding == "utf-8"


ROWS = "p,1.5,2\nq,2.5,3\nr,3.5,5\ns,3.6,4\n"
LAYOUTS = {
    "names": ("name,a,b\n", ("name", "a", "b"), 1, ""),
    "no names": ("", ("column 1", "column 2", "column 3"), 0, "no names of columns"),
    "a title": ("Report\n\nname,a,b\n", ("name", "a", "b"), 3, "titles above .*'Report'"),
    "a title with a separator": ("Line 3, today\n\nname,a,b\n", ("name", "a", "b"), 3, "titles"),
    "a title with empty fields": ("Report,,\nname,a,b\n", ("name", "a", "b"), 2, "titles"),
    "units": ("name,a,b\n,kg,m\n", ("name", "a", "b"), 2, "units .*'kg', 'm'"),
    "no name of the first": ("a,b\n", ("column 1", "a", "b"), 1, ""),
    "an empty name of the first": (",a,b\n", ("column 1", "a", "b"), 1, ""),
    "spaces": ("name, a, b\n", ("name", "a", "b"), 1, ""),
    "years for names": ("name,2019,2020\n", ("name", "2019", "2020"), 1, ""),
}


@pytest.mark.parametrize(("above", "names", "skip", "note"), LAYOUTS.values(), ids=LAYOUTS)
def test_where_rows_begin_is_recognised(above, names, skip, note):
    layout = layout_of((above + ROWS).encode())
    assert (layout.names, layout.skip, layout.width) == (names, skip, 3)
    assert len(layout.notes) == bool(note)
    assert re.search(note, " ".join(layout.notes))


def test_a_separator_at_the_end_of_each_line_does_not_count():
    for names in ("a,b\n", "a,b,\n"):
        layout = layout_of((names + "1,2,\n3,4,\n5,7,\n").encode())
        assert (layout.names, layout.width) == (("a", "b"), 3)
        assert layout.notes == ("each line ends with a separator, which does not count",)


def test_names_that_are_expected_tell_their_line():
    text = "1,2,3\nx,y,z\n" + ROWS
    assert layout_of(text.encode(), ["z", "x"]).skip == 2


def test_a_line_of_numbers_below_a_shorter_one_is_no_header():
    with pytest.raises(
        ValueError, match=r"first line has 1 field, and rows have 2: .* \(a header\)"
    ):
        layout_of(b"Report\n1,2\n3,4\n5,6\n")
