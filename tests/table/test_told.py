import io

import pytest

from whyflag.table.reading import read_sheets
from whyflag.table.sheet import Sheet
from whyflag.table.told import Told

ROWS = "r0,1.5,2\nr1,2.5,3\nr2,3.5,5\nr3,3.6,4\n"


def read(tmp_path, content, **told):
    (tmp_path / "t").write_bytes(content if isinstance(content, bytes) else content.encode())
    return Sheet.join(list(read_sheets(tmp_path / "t", told=Told(**told))))


def workbook():
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for record in (["a title\nof two lines"], [], ["x", "a"], ["", "kg"], ["r0", 1], ["r1", 2]):
        book.active.append(record)
    more = book.create_sheet("more")
    for record in (["y", "b"], ["s0", 1], ["s1", 2]):
        more.append(record)
    book.save(buffer := io.BytesIO())
    return buffer.getvalue()


OTHERWISE = {
    "a line of names": ("a,b,c\nx,y,z\n" + ROWS, {"header": 2, "below": 0}, "xyz", 4),
    "no names": ("x,y,z\n" + ROWS, {"header": 0, "below": 0}, None, 5),
    "units are a row": ("x,y,z\n,kg,m\n" + ROWS, {"header": 1, "below": 0}, "xyz", 5),
    "lines below the names": ("x,y,z\nu,v,w\n\n" + ROWS, {"header": 1, "below": 2}, "xyz", 4),
    "names of two lines": ('"x\n",y,z\nu,v,w\n' + ROWS, {"header": 1, "below": 2}, "xyz", 4),
    "a separator": (ROWS.replace(",", "^"), {"separator": "^", "header": 0, "below": 0}, None, 4),
    "an encoding": (b"x,y,z\nK\xe4se,1,2\n" + ROWS.encode(), {"encoding": "cp1252"}, "xyz", 5),
    "a sheet": (workbook, {"sheet": "more"}, "yb", 2),
    "a row of a sheet": (workbook, {"header": 3, "below": 1, "sheet": "Sheet"}, "xa", 2),
}


@pytest.mark.parametrize(("content", "told", "names", "n"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_is_told_holds_and_nothing_is_assumed(tmp_path, content, told, names, n):
    sheet = read(tmp_path, content() if callable(content) else content, **told)
    assert sheet.columns == tuple(names or ("column 1", "column 2", "column 3"))
    assert (len(sheet), sheet.notes) == (n, ())


REFUSED = {
    "beyond the file": (ROWS, {"header": 9}, "line 9 is told .* and it has 4 lines"),
    "an empty line": ("\n" + ROWS, {"header": 1}, "line 1 is told .* and is empty"),
    "an encoding that does not fit": (b"x,y,z\nK\xe4se,1,2\n", {"encoding": "utf-8"}, "no text"),
    "no such sheet": (workbook, {"sheet": "x"}, "no sheet 'x': it has 'Sheet', 'more'"),
    "beyond the sheet": (workbook, {"header": 9}, "row 9 is told .* 'Sheet' has 6"),
    "an empty row": (workbook, {"header": 2}, "row 2 of 'Sheet' is told .* is empty"),
}


@pytest.mark.parametrize(("content", "told", "message"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused(tmp_path, content, told, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, content() if callable(content) else content, **told)


@pytest.mark.parametrize("mark", ["", ";;", "a", "1", '"', "\n", "é"])
def test_a_separator_is_one_mark(mark):
    with pytest.raises(ValueError, match="a separator should be one character"):
        Told(separator=mark)


def test_what_a_file_can_not_have_is_said(tmp_path):
    (note,) = read(tmp_path, "x,y,z\n" + ROWS, sheet="more").notes
    assert note == "it has no sheet: what is told of one does not count"


def test_what_is_assumed_says_what_it_is_about(tmp_path):
    notes = read(tmp_path, "Report\n" + ROWS.replace(",", ";").replace("r0", "x;y;z\nr0")).notes
    assert [note.about for note in notes] == ["separator", "header"]


def test_later_files_find_the_names_by_themselves():
    told = Told(";", 3, 1, "more", "cp1252")
    assert told.kept == Told(";", None, 1, "more", "cp1252")
    assert Told(header=0, below=0).kept == Told(header=0, below=0)
    assert Told(header=2, below=0).over(told.kept) == Told(";", 2, 0, "more", "cp1252")
