"""Damaged, absurd and made-up files: an answer or one line that says why, and no value changed.

`make fuzz` runs two hundred times as many cases and says how many they were.
"""

import csv
import io
import json
import os
import resource
import shutil
import sys
import time
from collections import Counter
from contextlib import contextmanager
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from test_small_files import READ, REFUSED

from whyflag.attribution import Attribution
from whyflag.detectors import GMM
from whyflag.files.documents import CHECKSUM, write_document
from whyflag.model import JSON, Model
from whyflag.table.reading import read_sheets
from whyflag.table.schema import Schema
from whyflag.table.sheet import Sheet

CASES = int(os.environ.get("WHYFLAG_FUZZ_CASES", "100"))  # of each test
SECONDS = 20.0  # of the processor, for files of a few thousand bytes
GROWTH = 2**30  # bytes
BEFORE = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
FILES = [
    content.encode() if isinstance(content, str) else content
    for content, *_ in (*READ.values(), *REFUSED.values())
]
SMALL = [content for content in FILES if len(content) < 20_000]
COUNTED = Counter()

many = settings(
    max_examples=CASES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
fewer = settings(many, max_examples=max(20, CASES // 10))  # of what takes longer


@pytest.fixture(scope="module", autouse=True)
def count():
    yield
    sys.stdout.write(f"\n{sum(COUNTED.values())} cases: {dict(COUNTED)}\n")


@contextmanager
def bounded(name):
    """A case, which may take neither long nor much memory."""
    COUNTED[name] += 1
    begin = time.process_time()
    yield
    assert time.process_time() - begin < SECONDS
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - BEFORE < GROWTH


def answer(path):
    """The rows of a file, or the line that says why there are none."""
    try:
        return Sheet.join(list(read_sheets(path)))
    except ValueError as error:
        said = str(error)
    assert said.startswith(str(path))
    assert "\n" not in said
    assert len(said) > len(str(path)) + 20
    return None


def refused(function):
    """What a function returns, or None if it refuses its argument in one line."""
    try:
        return function()
    except (ValueError, FileNotFoundError) as error:
        said = str(error)
    assert said
    assert "\n" not in said
    return None


@st.composite
def damaged(draw, files):
    """A file with some bytes changed, cut out or put in."""
    content = bytearray(draw(st.sampled_from(files)))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(content)))
        kind = draw(st.sampled_from(["change", "cut", "end", "put", "repeat", "swap"]))
        if kind == "change" and at < len(content):
            content[at] = draw(st.integers(0, 255))
        elif kind == "cut":
            del content[at : at + draw(st.integers(1, 40))]
        elif kind == "end":
            del content[at:]
        elif kind == "put":
            content[at:at] = draw(st.binary(min_size=1, max_size=8))
        elif kind == "repeat":
            part = content[at : at + draw(st.integers(1, 60))]
            content[at:at] = part * draw(st.integers(1, 20))
        elif kind == "swap":
            content[at:at] = draw(
                st.sampled_from([b'"', b",", b"\n", b"\r\n", b"\x00", b"{", b"[", b"1e999", b"NaN"])
            )
    return bytes(content)


@many
@given(content=damaged(SMALL))
def test_a_damaged_file_is_read_or_refused_in_a_line(content, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "damaged"
    path.write_bytes(content)
    with bounded("damaged files"):
        sheet = answer(path)
        if sheet is not None:
            schema = refused(lambda: Schema.of(sheet))
            if schema is not None:
                encoded = schema.encode(sheet)
                assert np.isfinite(encoded.rows.values).all()
                assert len(schema.shown(sheet)) == len(sheet)


@many
@given(content=st.binary(max_size=300))
def test_any_bytes_are_read_or_refused_in_a_line(content, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "bytes"
    path.write_bytes(content)
    with bounded("bytes"):
        answer(path)


CELLS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t"), max_size=12
) | st.sampled_from(["007", "1.10", "1e400", "9007199254740993", "NA", "true", "-0", "=1+1", '"'])


@st.composite
def tables(draw):
    """A table of texts: names, and rows as wide, none of which is empty."""
    width = draw(st.integers(2, 5))
    names = [f"name {i}" for i in range(width)]
    row = st.lists(CELLS, min_size=width, max_size=width).filter(lambda r: any(map(str.strip, r)))
    return names, draw(st.lists(row, min_size=1, max_size=20))


@many
@given(
    table=tables(),
    separator=st.sampled_from([",", ";", "\t", "|"]),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_cells_of_lines_come_back_to_the_letter(
    table, separator, quoting, encoding, end, tmp_path_factory
):
    names, rows = table
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=separator, quoting=quoting, lineterminator=end)
    writer.writerows([names, *rows])
    path = tmp_path_factory.getbasetemp() / "lines"
    path.write_bytes(text.getvalue().encode(encoding))
    with bounded("cells of lines"):
        sheet = Sheet.join(list(read_sheets(path, expected=names)))
    assert sheet.columns == tuple(names)
    if sheet.notes:  # a line is left out, and that is said
        assert "taken for units below the names" in sheet.notes[0]
        rows = rows[1:]
    assert [list(row) for row in zip(*sheet.cells.values(), strict=True)] == rows


VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=10)
)


@many
@given(
    rows=st.lists(
        st.dictionaries(st.sampled_from("abc"), VALUES, min_size=1), min_size=1, max_size=15
    ),
    as_array=st.booleans(),
)
def test_values_of_json_come_back_to_the_letter(rows, as_array, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "objects"
    path.write_text(json.dumps(rows) if as_array else "\n".join(map(json.dumps, rows)))
    with bounded("values of JSON"):
        sheet = Sheet.join(list(read_sheets(path)))
    for i, row in enumerate(rows):
        for name, cells in sheet.cells.items():
            value = row.get(name)
            written = value if isinstance(value, str) else json.dumps(value)
            told = {"null": "", "true": "True", "false": "False"}.get(written, written)
            assert cells[i] == ("" if value is None else value if isinstance(value, str) else told)


@fewer
@given(
    rows=st.lists(
        st.tuples(*[CELLS | st.integers(-5, 10**6).map(str) | st.floats().map(str)] * 3),
        min_size=2,
        max_size=40,
    )
)
def test_what_is_learnt_of_any_texts_is_kept_and_shows_them(rows):
    sheet = Sheet.of(pd.DataFrame(rows, columns=["a", "b", "c"], dtype=str))
    with bounded("texts"):
        schema = refused(lambda: Schema.of(sheet))
        assume(schema is not None)
        encoded, shown = schema.encode(sheet), schema.shown(sheet)
        again = Schema.from_json(json.loads(json.dumps(schema.to_json())))
    assert again.to_json() == schema.to_json()
    assert (again.encode(sheet).rows.values == encoded.rows.values).all()
    assert np.isfinite(encoded.rows.values).all()
    for row, said in zip(rows, shown, strict=True):
        for name, text in zip("abc", row, strict=True):
            usual = said.get(name, "no value") in ("no value", "yes", "no")
            # A cell that can not be read is shown with its marks.
            assert usual or text.strip() in said[name] or repr(text) in said[name]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "a": rng.normal(size=60),
            "kind": rng.choice(["x", "y"], 60),
            "day": pd.date_range("2024-01-01", periods=60).astype(str),
        }
    )
    whole = Model.fit(GMM(1, n_init=1, random_state=0), Schema.of(table), table)
    folder = tmp_path_factory.mktemp("models") / "whole"
    whole.save(folder)
    return folder, table, whole.score(whole.read(table).rows)


@many
@given(data=st.data())
def test_a_damaged_model_is_refused_in_a_line(model, data):
    folder, table, scores = model
    copy = folder.parent / "damaged"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    files = sorted(file for file in copy.rglob("*") if file.is_file())
    file = data.draw(st.sampled_from(files))
    file.write_bytes(data.draw(damaged([file.read_bytes()])))
    with bounded("damaged models"):
        found = refused(lambda: Model.load(copy))
    if found is not None:  # what was damaged says nothing: spaces, or what was put back
        assert (found.score(found.read(table).rows) == scores).all()


ODD = st.sampled_from([None, -1, 0, 1e308, "", "x", [], {}, [[1]], True, "nan", 2**70, [None] * 3])


def places(value, path=()):
    """All places in a JSON document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in inner:
        yield (*path, key)
        if isinstance(each, (dict, list)):
            yield from places(each, (*path, key))


@fewer
@given(data=st.data())
def test_an_absurd_model_is_refused_in_a_line(model, data):
    folder, table, _ = model
    copy = folder.parent / "absurd"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    content = json.loads((copy / JSON).read_text())
    del content[CHECKSUM]
    for _ in range(data.draw(st.integers(1, 3))):
        *path, key = data.draw(st.sampled_from(list(places(content))))
        inner = content
        for step in path:
            inner = inner[step]
        if data.draw(st.booleans()):
            # A copy: one that was changed inside, or put into itself, would come again.
            inner[key] = deepcopy(data.draw(ODD))
        else:
            del inner[key]
    write_document(copy / JSON, content)
    with bounded("absurd models"):
        found = refused(lambda: Model.load(copy))
        if found is not None:
            rows = refused(lambda: found.read(table[:3]).rows)
            assert rows is None or np.isfinite(rows.values).all()


@pytest.fixture(scope="module")
def archive(model, tmp_path_factory):
    folder, table, _ = model
    whole = Model.load(folder)
    found = whole.explainer()(whole.read(table[:4]).rows)
    path = tmp_path_factory.mktemp("archives") / "whole"
    found.save(path)
    return path, found


@many
@given(data=st.data())
def test_a_damaged_attribution_is_refused_in_a_line(archive, data):
    path, whole = archive
    copy = path.with_name("damaged")
    copy.write_bytes(data.draw(damaged([path.read_bytes()])))
    with bounded("damaged attributions"):
        found = refused(lambda: Attribution.load(copy))
    assert found is None or (found.values == whole.values).all()
