"""Parts of the comparison with other libraries, none of which need be there."""

import numpy as np
import pytest

from benchmarks.peers import __main__ as peers
from benchmarks.peers.games import enumerated, game, integrated, truth, walked
from benchmarks.peers.others import installed, ours
from benchmarks.peers.page import picture, tables


def small(name):
    return game(name, 4, n_rows=2, n_normal=100)


def test_truths_agree():
    kernels = small("OneClassSVM")
    counted = enumerated(kernels, kernels.rows[0])
    np.testing.assert_allclose(integrated(kernels, kernels.rows[0]), counted, atol=1e-12)
    values, errors = walked(kernels, kernels.rows[0], 300)
    assert (np.abs(values - counted) <= 4 * errors).all()
    assert 0 < errors.max() < 0.01 * np.abs(counted).max()


@pytest.mark.parametrize("name", ["GMM", "forest, score", "forest, depth", "LOF", "OneClassSVM"])
def test_all_coalitions_of_a_small_game_are_exact(name):
    of_four = small(name)
    values, own = truth(of_four, 0)
    assert own == 0
    line = peers.measured(of_four, ours, 1, values)
    assert line["error"] < 1e-10
    assert line["evaluations"] <= 8 * 2**4 + 20  # and ends of secants, and scores before and after


def test_a_library_that_is_not_there_is_named(capsys):
    assert installed({"nobody": ("no-such-library", ours), "ours": ("numpy", ours)}) == {
        "ours": ours
    }
    assert capsys.readouterr().err == "nobody is left out: no-such-library is not installed.\n"


def line(peer, milliseconds, error, share=1):
    return {"game": "GMM", "d": 30, "peer": peer, "share": share, "own error": 0.001,
            "milliseconds": milliseconds, "error": error}  # fmt: skip


def test_tables_divide_by_ours():
    errors, times, to_error = tables([line("KSH", 2, 0.01), line("other", 1, 0.03)]).split("###")[
        1:
    ]
    assert "| GMM, d = 30 | 1 % (truth 0.1 %) | 3 |" in errors
    assert "| GMM, d = 30 | 2 ms | **0.5** |" in times
    assert "| GMM, d = 30 | 2 ms | 4.5 |" in to_error


def test_a_picture_is_drawn(tmp_path):
    lines = [line(peer, 1 + share, 1e-9, share) for peer in ("KSH", "other") for share in (0.5, 1)]
    picture(lines, tmp_path / "peers.png")
    assert (tmp_path / "peers.png").stat().st_size > 10_000
