import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from whyflag_paper.store import Store

KEY = ("synthetic", "Thyroid", "GMM", "ASH")


def test_what_is_written_can_be_read(tmp_path):
    store = Store(tmp_path / "new" / "folder")
    assert KEY not in store
    store.write(KEY, {"mrr": 0.78})
    assert KEY in store
    assert store.read(KEY) == {"key": list(KEY), "mrr": 0.78}


def test_records_come_in_the_order_of_their_keys(tmp_path):
    store = Store(tmp_path)
    for method in ("marg", "ASH", "KSH"):
        store.write((*KEY[:3], method), {"value": 1})
    assert [record["key"][3] for record in store] == ["ASH", "KSH", "marg"]


def test_a_record_replaces_the_one_before(tmp_path):
    store = Store(tmp_path)
    store.write(KEY, {"value": 1})
    store.write(KEY, {"value": 2})
    assert [record["value"] for record in store] == [2]


def test_numbers_that_json_does_not_have_are_refused_and_leave_nothing(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(ValueError, match="not JSON compliant"):
        store.write(KEY, {"value": float("nan")})
    assert KEY not in store
    assert list(store) == []


@pytest.mark.parametrize("part", ["", "..", ".hidden", "a/b"])
def test_keys_stay_in_the_folder(tmp_path, part):
    with pytest.raises(ValueError, match="plain names"):
        Store(tmp_path).write(("synthetic", part), {})


def test_a_file_that_is_no_record_is_named(tmp_path):
    (tmp_path / "broken.json").write_text('{"key": ["half')
    with pytest.raises(ValueError, match=r"broken\.json is no record"):
        list(Store(tmp_path))
    (tmp_path / "broken.json").write_text("[]")
    with pytest.raises(ValueError, match=r"broken\.json is no record .* no key"):
        list(Store(tmp_path))


def test_many_may_write_the_same_record(tmp_path):
    store = Store(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: store.write(KEY, {"value": [i] * 1000}), range(100)))
    (record,) = store
    assert len(set(record["value"])) == 1


WRITER = """
import sys
from pathlib import Path
from whyflag_paper.store import Store
store = Store(Path(sys.argv[1]))
for i in range(10**6):
    store.write(("cell", str(i % 50)), {"value": [i] * 20000})
    print(i, flush=True)
"""


def test_whatever_interrupts_a_record_that_is_there_is_whole(tmp_path):
    """Kill a program that writes, as often as it takes to hit it while it does."""
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    for n_written in range(1, 7):
        with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:  # noqa: S603
            for _ in range(n_written):
                assert writer.stdout.readline()
            writer.kill()
        for record in Store(tmp_path):
            assert len(set(record["value"])) == 1
            assert len(record["value"]) == 20000
    assert len(list(Store(tmp_path))) >= 6
