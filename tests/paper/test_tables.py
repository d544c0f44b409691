from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from whyflag_paper.cells import COLUMNS
from whyflag_paper.published import printed
from whyflag_paper.render import markdown, page, terminal
from whyflag_paper.results import Results
from whyflag_paper.settings import FULL
from whyflag_paper.tables import tables


def cell(experiment, dataset, detector, method, rows, seed=0):
    names = {"experiment": experiment, "dataset": dataset, "detector": detector, "method": method}
    return names | {"seed": seed, "rows": rows, "seconds": 0.5}


@pytest.fixture(scope="module")
def made():
    synthetic = {
        "MRR": [1.0, 0.5],
        "Hits@3": [1, 0],
        "AUROC, 2 culprits": [1, 1],
        "AUROC, 3 culprits": [0.9, 0.8],
    }
    pairs = [("Thyroid", "GMM"), ("Thyroid", "DAGMM"), ("Lympho, 18 features", "GMM")]
    cells = [cell("synthetic", *pair, "ASH", synthetic) for pair in pairs]
    cells.append(cell("synthetic", "Musk", "GMM", "ASH", synthetic | {"MRR": [0.1, 0.1]}))
    cells.append(cell("real", "Thyroid", "GMM", "ASH", {"MRR": [0.5] * 12}))
    cells.append(cell("synthetic", "BreastW", "GMM", "marg", synthetic))
    cells.append(cell("real", "Lympho", "GMM", "ASH", {"MRR": [0.5] * 2}))
    cells += [
        cell("relaxation", "Thyroid", "GMM", game, {"MRR": [1.0]}) for game in ("vhat", "vrelaxed")
    ]
    cells.append(cell("gamma", "BreastW", "GMM", "ASH gamma=0.1", {"MRR": [0.9]}))
    content = {"settings": FULL.to_json(), "cells": cells}
    return {table.name: table for table in tables(Results(content))}


def test_every_table_of_the_paper_is_made(made):
    assert list(made) == [
        "synthanom_mrr",
        "synthanom_hitsat3",
        "synthanom_auc_na2",
        "synthanom_auc_na3",
        "realanom_mrr",
        "synthanom_relax_mrr",
        "synthanom_gamma_mrr",
    ]


def test_a_cell_stands_beside_the_papers(made):
    entry = made["synthanom_mrr"].entry("Thyroid", "GMM", "ASH")
    assert entry.value == 0.75
    assert entry.paper == printed("synthanom_mrr", "Thyroid", "GMM", "ASH") == 0.78
    assert entry.gain == pytest.approx(-0.03)
    assert entry.n_rows == 2


def test_percentiles_are_over_the_papers_pairs_alone(made):
    entry = made["synthanom_mrr"].entry("all pairs", "percentile 25", "ASH")
    assert entry.value == pytest.approx(np.percentile([0.75, 0.75, 0.1], 25))
    assert entry.paper == 0.67
    assert made["synthanom_mrr"].entry("Lympho, 18 features", "GMM", "ASH").paper is None


def test_real_anomalies_need_enough_rows(made):
    assert [row.dataset for row in made["realanom_mrr"].rows][:2] == ["Thyroid", "all pairs"]


def test_less_time_is_a_gain(made):
    entry = made["synthanom_relax_mrr"].entry("Thyroid", "GMM", "seconds vhat")
    assert (entry.value, entry.paper) == (0.5, 26.4)
    assert entry.gain > 0


def test_names_of_data_sets_are_matched_in_any_case(made):
    assert made["synthanom_gamma_mrr"].entry("BreastW", "GMM", "ASH gamma=0.1").paper == 0.78


def test_a_row_that_is_not_there_is_said(made):
    with pytest.raises(KeyError, match="has no row Musk, VAE-r"):
        made["synthanom_mrr"].entry("Musk", "VAE-r", "ASH")


def test_markdown_marks_what_is_better_and_worse(made):
    text = markdown(made.values())
    assert text.count("### ") == len(made)
    assert "| Thyroid | GMM | – | 0.75 ±0.25 · 0.78 ▼ |" in text
    assert "| Thyroid | DAGMM | – | 0.75 ±0.25 · 0.51 ▲ |" in text


def test_the_terminal_shows_the_methods_that_were_run(made):
    written = StringIO()
    Console(width=200, file=written).print(terminal(made["synthanom_mrr"]))
    text = written.getvalue()
    assert [method for method in COLUMNS if f" {method} " in text] == ["marg", "ASH"]
    assert "0.75·0.78" in text


def test_a_page_colours_cells_and_needs_nothing_else(made):
    text = page(made.values())
    assert '<td class=better style="--gain:0.48"' in text
    assert "95 %: 0.50 to 1.00, 2 rows" in text
    assert "http" not in text
