import json

import numpy as np
import pytest

from whyflag_paper.results import Results
from whyflag_paper.store import Store


@pytest.fixture
def folder(tmp_path):
    store = Store(tmp_path / "cells")
    store.write(("settings",), {"settings": {"seeds": [0, 1]}, "versions": {"numpy": "2"}})
    store.write(("fit", "Musk", "GMM", "seed 0"), {"seconds": 2.0})
    store.write(("supervised", "Musk", "seed 0"), {"clear": [1], "culprits": [3], "of": 9})
    for seed, rows in ((0, [1.0, 0.5]), (1, [0.25])):
        key = ("synthetic", "Musk", "GMM", "ASH", f"seed {seed}")
        store.write(key, {"rows": {"MRR": rows}, "seconds": 0.1 * (seed + 1)})
    return tmp_path


def test_records_are_collected_with_their_names(folder):
    content = Results.collect(folder).content
    assert content["settings"] == {"seeds": [0, 1]}
    assert content["fits"] == [{"dataset": "Musk", "family": "GMM", "seed": 0, "seconds": 2.0}]
    assert [cell["seed"] for cell in content["cells"]] == [0, 1]


def test_one_file_holds_them_all(folder, tmp_path):
    results = Results.collect(folder)
    results.write(tmp_path / "some" / "results.json")
    assert Results.read(tmp_path / "some" / "results.json") == results


def test_a_figure_is_the_average_over_the_rows_of_all_seeds(folder):
    figure = Results.collect(folder).figure("synthetic", "Musk", "GMM", "ASH", "MRR")
    assert figure.value == pytest.approx((1 + 0.5 + 0.25) / 3)
    assert figure.n_rows == 3
    low, high = figure.interval
    assert 0.25 <= low < figure.value < high <= 1


def test_the_interval_knows_that_splits_differ():
    def width(rows):
        cells = [
            {"experiment": "e", "dataset": "d", "detector": "x", "method": "m", "seed": i}
            | {"rows": {"MRR": list(part)}}
            for i, part in enumerate(rows)
        ]
        low, high = Results({"cells": cells}).figure("e", "d", "x", "m", "MRR").interval
        return high - low

    rows = np.random.default_rng(0).random((3, 50))
    apart = rows + np.array([[-0.5], [0], [0.5]])
    assert width(apart) > 2 * width(rows)


def test_what_was_not_computed_has_no_figure(folder):
    results = Results.collect(folder)
    assert results.figure("synthetic", "Musk", "GMM", "KSH", "MRR") is None
    assert results.seconds("synthetic", "Musk", "GMM", "KSH") is None
    assert results.seconds("synthetic", "Musk", "GMM", "ASH") == pytest.approx(0.15)


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(ValueError, match="has no results"):
        Results.collect(tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", json.dumps({"cells": []})])
def test_another_file_is_refused(tmp_path, text):
    (tmp_path / "other.json").write_text(text)
    with pytest.raises(ValueError, match="has no results"):
        Results.read(tmp_path / "other.json")
