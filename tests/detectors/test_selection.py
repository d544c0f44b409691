import json

import numpy as np
import pytest

from whyflag.detectors.selection import Candidate, Selection, choose

CANDIDATES = [
    Candidate({"latent": 1}, 3.5, "best after 100 updates"),
    Candidate({"latent": 2}, np.nan, "diverged by update 25"),
    Candidate({"latent": 3}, 1.5, "best after 125 updates"),
]


def test_the_lowest_held_out_loss_wins_and_a_failure_does_not():
    assert choose("loss", CANDIDATES).best is CANDIDATES[2]


def test_it_is_a_table():
    frame = choose("loss", CANDIDATES).to_frame()
    assert frame.columns.tolist() == ["latent", "held-out loss", "outcome", "chosen"]
    assert frame["chosen"].tolist() == [False, False, True]
    shown = repr(choose("mean energy", CANDIDATES))
    assert shown.startswith("mean energy, the lowest wins:")
    assert "diverged by update 25" in shown


def test_no_candidate_left_is_an_error_that_tells_what_became_of_each():
    with pytest.raises(ValueError, match=r"None of the 1 candidates.*'latent': 2.*diverged"):
        choose("loss", CANDIDATES[1:2])


def test_it_survives_json():
    selection = choose("loss", CANDIDATES)
    back = Selection.from_json(json.loads(json.dumps(selection.to_json(), allow_nan=False)))
    assert repr(back) == repr(selection)
