import io
import json
import zipfile
from dataclasses import fields, replace
from datetime import date, datetime
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from whyflag import Attribution, Domain, Ensemble, Explainer
from whyflag.attribution.archive import HEAD, SHAPES
from whyflag.calibration import Calibration
from whyflag.detectors import GMM
from whyflag.methods import METHODS
from whyflag.outcome import Outcome
from whyflag.table.forms import Form
from whyflag.table.numbers import Numbers

NORMAL = np.random.default_rng(0).normal(size=(100, 3))
ROWS = NORMAL[:2] + 5 * np.eye(3)[:2]
DETECTOR = GMM(1, random_state=0).fit(NORMAL)


@cache
def found(name):
    if name == "Ensemble":
        return Ensemble.of(DETECTOR, NORMAL)(ROWS)
    return Explainer(DETECTOR, NORMAL, name)(ROWS)


def every_field():
    """An attribution that has something in each of its fields."""
    alone = Attribution(
        values=np.array([[1.0, np.nan], [-np.inf, 0.5]]),
        base_values=np.array([0.5, np.inf]),
        scores=np.array([3.0, 4.0]),
        evaluations=np.array([10, 20]),
        reference=np.zeros((2, 3)),
        standard_errors=np.array([[np.inf, 0.1], [0.0, np.nan]]),
        refit_spread=np.array([[0.5, 0.1], [0.2, 0.3]]),
        refit_first=np.array([[0.8, 0.2], [0.4, 0.6]]),
        ended=np.array([Outcome.ARRIVED, Outcome.NO_BOTTOM]),
        fallback=np.array([False, True]),
        additive=False,
        scored_base=False,
        data=np.array([[1.0, 0.0, 5.5], [0.0, 0.0, 6.5]]),
        row_names=("B004", 7),
        feature_names=("Größe <b>", "温度"),
        column_names=("Größe=a", "Größe=ß", "温度"),
        membership=np.array([[True, True, False], [False, False, True]]),
        categories={"Größe <b>": ("a", "ß")},
        shown=({}, {"Größe <b>": "ç (not seen before)"}),
        codecs={"温度": Numbers(Form("", ",", "", " °C"), (), 1.0, 0.0, 9.0, 1)},
        added=np.array([[0.0, 0.0], [3.5, 0.0]]),
        states=np.array([[0, 1], [2, 0]], dtype=np.int8),
        method="own",
        settings={"most": 3, "limit": np.inf, "name": "ö"},
        unit=2.0,
        threshold=3.5,
        calibration=Calibration.of(np.array([0.5, 3.5]), 0.4),
    )
    return replace(alone, members=(alone, replace(alone, reference=None, method="other")))


def assert_same(one, other, but=()):
    for each in fields(Attribution):
        a, b = getattr(one, each.name), getattr(other, each.name)
        if each.name in ("repairer", "repaired"):
            continue  # the repair comes back, what made it does not
        if each.name == "members":
            assert len(a) == len(b)
            for one_member, other_member in zip(a, b, strict=True):
                assert_same(one_member, other_member, but)
        elif isinstance(a, np.ndarray):
            np.testing.assert_array_equal(b, a, err_msg=each.name)
            assert a.dtype == b.dtype, each.name
        elif each.name not in but:
            assert b == a, each.name


def saved(attribution, path):
    attribution.save(path)
    return Attribution.load(path)


def test_every_field_comes_back(tmp_path):
    assert_same(every_field(), saved(every_field(), tmp_path / "a"))


@pytest.mark.parametrize("method", [*METHODS, "Ensemble"])
def test_what_each_method_finds_comes_back(method, tmp_path):
    """Settings come back as numbers and texts."""
    assert_same(found(method), saved(found(method), tmp_path / "a"), but=("settings",))


def test_groups_come_back(tmp_path):
    domain = Domain(3, players={"pair": [0, 2]})
    attribution = Explainer(DETECTOR, domain=domain)(ROWS)
    assert_same(attribution, saved(attribution, tmp_path / "a"), but=("settings",))


def test_no_rows_come_back(tmp_path):
    assert_same(every_field()[:0], saved(every_field()[:0], tmp_path / "a"))


NAMES = [
    "B004",
    "",
    7,
    2.5,
    None,
    True,
    10**30,
    (1, "a"),
    (date(2024, 2, 29), (None, 2)),
    date(2024, 2, 29),
    datetime(2024, 2, 29, 12, 30),
    pd.Timestamp("2024-02-29 12:30:00.123456789"),
    pd.Timestamp("2024-02-29 12:30", tz="Europe/Berlin"),
    np.datetime64("2024-02-29T12:30:00.123456789"),
    np.int64(3),
    np.float64(0.5),
    np.str_("text"),
    np.bool_(True),
]


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_the_name_of_a_row_comes_back(name, tmp_path):
    attribution = replace(found("comp"), row_names=("other", name))
    again = saved(attribution, tmp_path / "a")
    assert again.row_names == ("other", name)
    assert len(again.row(name)) == 1


def test_a_name_that_is_no_moment_comes_back_as_none(tmp_path):
    attribution = replace(found("comp"), row_names=(pd.NaT, "b"))
    assert saved(attribution, tmp_path / "a").row_names[0] is pd.NaT


def test_another_name_of_a_row_comes_back_as_text(tmp_path):
    names = (pd.Period("2024-02"), pd.Timedelta("1s"))
    again = saved(replace(found("comp"), row_names=names), tmp_path / "a")
    assert again.row_names == ("2024-02", "0 days 00:00:01")


def test_the_path_is_taken_as_it_is(tmp_path):
    every_field().save(tmp_path / "a.anything")
    every_field().save(str(tmp_path / "text"))
    assert {each.name for each in tmp_path.iterdir()} == {"a.anything", "text"}
    assert len(Attribution.load(str(tmp_path / "text"))) == 2


def test_an_interrupted_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a"
    every_field().save(path)
    before = path.read_bytes()

    def interrupted(file, **arrays):
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        found("comp").save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def content_of(attribution, path, changes):
    """An archive with other arrays, or without those that are None."""
    file = io.BytesIO()
    attribution.save(path)
    with np.load(path) as arrays:
        parts = {**arrays, **changes}
    np.savez(file, **{name: part for name, part in parts.items() if part is not None})
    return file.getvalue()


def refused(path, content=None):
    """What is said of a file that is refused; the same in all cases: its name, in one line."""
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match="is no attribution that whyflag wrote: ") as caught:
        Attribution.load(path)
    said = str(caught.value)
    assert said.startswith(str(path))
    assert "\n" not in said
    return said.removeprefix(f"{path} is no attribution that whyflag wrote: ")


def other_zip():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("letter.txt", "Dear reader")
    return file.getvalue()


def one_array():
    file = io.BytesIO()
    np.save(file, np.zeros(3))
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is no archive"),
        (b"row,feature\n1,2\n", "it is no archive"),
        (b"\x80\x04N.", "it is no archive"),  # None, pickled
        (one_array(), "it is no archive"),
        (other_zip(), "attribution is not a file in the archive"),
    ],
    ids=["empty", "text", "pickle", "array", "zip"],
)
def test_another_file_is_refused(content, reason, tmp_path):
    assert reason in refused(tmp_path / "a", content)


def test_a_folder_is_refused(tmp_path):
    assert refused(tmp_path) == "it is a folder."


def test_a_file_that_is_not_there_is_not_found(tmp_path):
    with pytest.raises(FileNotFoundError):
        Attribution.load(tmp_path / "a")


def test_a_part_of_a_file_is_refused(tmp_path):
    every_field().save(tmp_path / "whole")
    whole = (tmp_path / "whole").read_bytes()
    for size in range(0, len(whole), 211):
        assert "only a part" in refused(tmp_path / "a", whole[:size])


def test_a_damaged_file_is_refused_or_nothing_is_lost(tmp_path):
    found("comp").save(tmp_path / "whole")
    whole, path = (tmp_path / "whole").read_bytes(), tmp_path / "a"
    n_refused = 0
    for place in range(0, len(whole), 9):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        path.write_bytes(damaged)
        try:
            again = Attribution.load(path)
        except ValueError:
            n_refused += 1
        else:
            assert_same(found("comp"), again, but=("settings",))
    assert n_refused > 50


class Bomb:
    """What a pickle runs when it is read."""

    def __init__(self, touched):
        self.touched = touched

    def __reduce__(self):
        return (Path.touch, (self.touched,))


@pytest.mark.parametrize("name", ["values", HEAD])
def test_a_pickle_is_never_run(name, tmp_path):
    touched = tmp_path / "touched"
    bomb = np.array([[Bomb(touched)]], dtype=object)
    content = content_of(found("comp"), tmp_path / "good", {name: bomb})
    assert "allow_pickle=False" in refused(tmp_path / "a", content)
    assert not touched.exists()
    with np.load(tmp_path / "a", allow_pickle=True) as arrays:
        assert arrays[name].size  # it was a bomb
    assert touched.exists()


def head_of(attribution, path, **changes):
    attribution.save(path)
    with np.load(path) as arrays:
        return np.array(json.dumps(json.loads(str(arrays[HEAD])) | changes))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"version": 2}, "it is of version 2, not 1"),
        ({"format": "a letter"}, "it is 'a letter'"),
        ({"told": {}}, "is not a file in the archive"),
        ({"members": [{}]}, "told"),
    ],
)
def test_another_head_is_refused(changes, reason, tmp_path):
    head = head_of(found("comp"), tmp_path / "good", **changes)
    content = content_of(found("comp"), tmp_path / "good", {HEAD: head})
    assert reason in refused(tmp_path / "a", content)


@pytest.mark.parametrize("name", SHAPES)
def test_an_array_of_another_shape_is_refused(name, tmp_path):
    for other in (np.zeros((5, 7)), np.zeros(9), np.zeros(())):
        content = content_of(every_field(), tmp_path / "good", {name: other})
        assert f"`{name}` must be numbers of shape" in refused(tmp_path / "a", content)


@pytest.mark.parametrize("name", SHAPES)
def test_an_array_that_is_lost_is_missed(name, tmp_path):
    content = content_of(every_field(), tmp_path / "good", {name: None})
    assert name in refused(tmp_path / "a", content)


def test_every_array_has_its_shape():
    own = every_field()
    arrays = {each.name for each in fields(own) if isinstance(getattr(own, each.name), np.ndarray)}
    assert arrays == set(SHAPES)


def test_an_array_of_texts_is_refused(tmp_path):
    texts = every_field().values.astype(str)
    content = content_of(every_field(), tmp_path / "good", {"values": texts})
    assert "`values` must be numbers" in refused(tmp_path / "a", content)


def test_an_array_that_there_should_not_be_is_refused(tmp_path):
    without = replace(found("comp"), ended=None)
    content = content_of(without, tmp_path / "good", {"ended": np.zeros(2, int)})
    assert refused(tmp_path / "a", content) == "`ended` is there twice"


def test_shown_values_of_other_rows_are_refused(tmp_path):
    replace(every_field(), members=(), shown=({},)).save(tmp_path / "a")
    assert "`shown` must be of 2 rows, got 1" in refused(tmp_path / "a")


@pytest.mark.parametrize("change", [{"rows": 1}, {"feature_names": ("a", "b")}])
def test_members_that_do_not_fit_are_refused(change, tmp_path):
    whole = every_field()
    member = replace(whole, members=())
    other = member[:1] if "rows" in change else replace(member, **change)
    replace(whole, members=(member, other)).save(tmp_path / "a")
    assert "its members must have its rows and its features" in refused(tmp_path / "a")


def strictly(attribution):
    return json.loads(json.dumps(attribution.to_json(), allow_nan=False))


@pytest.mark.parametrize("method", [*METHODS, "Ensemble"])
def test_json_says_what_was_found(method):
    attribution = found(method)
    content = strictly(attribution)
    assert content["method"] == attribution.method
    assert content["threshold"] == attribution.threshold
    assert content["additive"] == attribution.additive
    assert set(content["settings"]) == set(attribution.settings)
    for i, row in enumerate(content["rows"]):
        assert row["row"] == attribution.row_names[i]
        assert row["score"] == attribution.scores[i]
        assert row["base_value"] == attribution.base_values[i]
        assert row["flagged"] is bool(attribution.flagged[i])
        order = attribution.order[i]
        assert [each["feature"] for each in row["features"]] == [f"x{j}" for j in order]
        assert [each["attribution"] for each in row["features"]] == [
            attribution.values[i, j] for j in order
        ]


def test_json_has_null_for_what_is_not_finite():
    attribution = replace(
        every_field(),
        threshold=np.inf,
        settings={"limit": np.inf, "both": (np.nan, np.float32(1.0)), "deep": {"a": -np.inf}},
    )
    content = strictly(attribution)
    assert content["settings"] == {"limit": None, "both": [None, 1.0], "deep": {"a": None}}
    assert content["threshold"] is None
    first, second = content["rows"]
    assert second["base_value"] is None
    assert [each["attribution"] for each in first["features"]] == [1.0, None]
    assert [each["error"] for each in first["features"]] == [None, 0.1]


def test_json_shows_values_as_people_see_them():
    first, second = strictly(every_field())["rows"]
    assert {each["feature"]: each["observed"] for each in first["features"]} == {
        "Größe <b>": "a",
        "温度": "no value",  # a gap, for which 5.5 stands in
    }
    assert {each["feature"]: each["observed"] for each in second["features"]} == {
        "Größe <b>": "ç (not seen before)",
        "温度": "6,5 °C",
    }
    assert [each["normal"] for each in first["features"]] == ["none of the known", "0,0 °C"]


def test_json_has_the_remarks():
    first, second = strictly(replace(every_field(), members=()))["rows"]
    assert first["remark"] is None
    assert "falls without end" in second["remark"]


def test_json_without_a_threshold_says_nothing_of_alarms():
    content = strictly(replace(every_field(), members=(), threshold=None))
    assert content["threshold"] is None
    assert [row["flagged"] for row in content["rows"]] == [None, None]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (float("nan"), None),
        (pd.Timestamp("2024-02-29"), "2024-02-29 00:00:00"),
        (date(2024, 2, 29), "2024-02-29"),
        (np.datetime64("2024-02-29T00:00:00.000000000"), "2024-02-29T00:00:00.000000000"),
        (np.timedelta64(5, "ns"), "5 nanoseconds"),
        (("a", np.int64(1)), ["a", 1]),
        (b"x", "b'x'"),
        (None, None),
    ],
    ids=repr,
)
def test_json_has_names_that_it_can_not_hold_in_words(name, told):
    content = strictly(replace(every_field(), row_names=("other", name)))
    assert content["rows"][1]["row"] == told


def test_rows_are_put_in_order_once(monkeypatch):
    """Else JSON of n rows takes n times as long as it should."""
    sorted_ = []
    order = Attribution.order.fget
    monkeypatch.setattr(
        Attribution, "order", property(lambda self: sorted_.append(1) or order(self))
    )
    assert len(every_field().to_json()["rows"]) == 2
    assert len(sorted_) == 1
