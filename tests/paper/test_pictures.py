import pytest
from matplotlib.image import imread

from whyflag_paper.pictures import draw
from whyflag_paper.results import Results
from whyflag_paper.settings import FULL
from whyflag_paper.tables import tables


@pytest.fixture
def results():
    cells = [
        {"experiment": "synthetic", "dataset": "Thyroid", "detector": detector, "method": method}
        | {"seed": 0, "seconds": seconds, "rows": {"MRR": [0.5], "AUROC, 3 culprits": [0.7]}}
        for detector in ("GMM", "DAGMM")
        for method, seconds in (("ASH", 0.1), ("wKSH", 0.01))
    ]
    return Results({"settings": FULL.to_json(), "cells": cells})


def test_both_pictures_are_drawn(results, tmp_path):
    paths = draw(results, tables(results), tmp_path / "images")
    assert [path.name for path in paths] == ["methods.png", "time.png"]
    for path in paths:
        assert imread(path).std() > 0.01  # not blank


def test_without_synthetic_anomalies_there_is_nothing_to_draw(tmp_path):
    cell = {"experiment": "gamma", "dataset": "Musk", "detector": "GMM", "seed": 0, "seconds": 1}
    cell |= {"method": "ASH gamma=0.1", "rows": {"MRR": [0.5]}}
    results = Results({"settings": FULL.to_json(), "cells": [cell]})
    assert draw(results, tables(results), tmp_path) == []
