"""Detectors on disk: they come back as they were, and nothing else comes back."""

import json
import pickle
import sys

import numpy as np
import pandas as pd
import pytest

from whyflag.detectors import DAGMM, GMM, VAE, load
from whyflag.detectors.files import ARRAYS, JSON

RNG = np.random.default_rng(0)
ROWS = np.column_stack([RNG.normal(size=(100, 3)), RNG.integers(2, size=100)])
FRAME = pd.DataFrame(ROWS, columns=["a", "b", "c", "on"])
DETECTORS = {
    "GMM": GMM(np.array([1, 2])),
    "VAE": VAE(2, 4, max_updates=10),
    "VAE elbo": VAE((1, 2), 4, kind="elbo", binary=[3], max_updates=10),
    "DAGMM": DAGMM((2, 3), 2, 4, max_updates=10),
}


@pytest.fixture(scope="module", params=DETECTORS)
def fitted(request):
    return DETECTORS[request.param].fit(FRAME)


@pytest.fixture
def saved(tmp_path):
    GMM(2).fit(ROWS).save(tmp_path)
    return tmp_path


def test_a_detector_comes_back_as_it_was(fitted, tmp_path):
    fitted.save(tmp_path / "new" / "folder")
    back = load(tmp_path / "new" / "folder")
    assert type(back) is type(fitted)
    assert repr(back.selection_) == repr(fitted.selection_)
    np.testing.assert_array_equal(back.score_samples(FRAME), fitted.score_samples(FRAME))
    np.testing.assert_array_equal(back.predict(FRAME), fitted.predict(FRAME))
    score, again = fitted.to_score(), back.to_score()
    assert again.feature_names == score.feature_names == ("a", "b", "c", "on")
    assert again.threshold == score.threshold
    back.save(tmp_path / "twice")
    assert (tmp_path / "twice" / JSON).read_text() == (tmp_path / "new/folder" / JSON).read_text()
    assert back.fit(FRAME).score_samples(FRAME).shape == (100,)  # settings came back too


def test_both_scores_of_a_vae_come_back(tmp_path):
    fitted = VAE(2, 4, max_updates=10).fit(ROWS)
    fitted.save(tmp_path)
    back = load(tmp_path)
    for kind in ("reconstruction", "elbo"):
        np.testing.assert_array_equal(back.to_score(kind)(ROWS), fitted.to_score(kind)(ROWS))
        assert back.to_score(kind).threshold == fitted.to_score(kind).threshold


def test_the_folder_holds_data_and_no_leftovers(saved):
    assert sorted(path.name for path in saved.iterdir()) == [ARRAYS, JSON]
    assert set(json.loads((saved / JSON).read_text())) == {
        "format",
        "version",
        "detector",
        "settings",
        "fitted",
        "sha256",
    }


def test_a_detector_of_before_the_floor_had_a_rule_comes_back_as_it_was(tmp_path):
    fitted = GMM(2, reg_covar=1e-6).fit(ROWS)
    del fitted.reg_covar_  # what was added to the variances stood in the settings only
    fitted.save(tmp_path)
    back = load(tmp_path)
    np.testing.assert_array_equal(back.score_samples(ROWS), fitted.score_samples(ROWS))
    np.testing.assert_array_equal(back.fit(ROWS).score_samples(ROWS), fitted.score_samples(ROWS))


def test_saving_again_replaces(saved):
    other = GMM(3).fit(ROWS)
    other.save(saved)
    assert load(saved).n_components_ == 3


def test_an_unfitted_detector_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        GMM().save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_setting_that_json_does_not_have_is_refused(tmp_path):
    detector = GMM(2).fit(ROWS)
    detector.random_state = {1, 2}
    with pytest.raises(TypeError, match="can not be saved"):
        detector.save(tmp_path)


@pytest.mark.parametrize("name", [JSON, ARRAYS])
@pytest.mark.parametrize("keep", [0, 1, 50, 400])
def test_a_truncated_file_is_refused(saved, name, keep):
    (saved / name).write_bytes((saved / name).read_bytes()[:keep])
    with pytest.raises(ValueError, match="damaged"):
        load(saved)


def test_every_flipped_byte_of_the_arrays_is_noticed(saved):
    content = (saved / ARRAYS).read_bytes()
    for position in range(0, len(content), 97):
        changed = bytearray(content)
        changed[position] ^= 1
        (saved / ARRAYS).write_bytes(changed)
        with pytest.raises(ValueError, match="damaged"):
            load(saved)


@pytest.mark.parametrize("name", [JSON, ARRAYS])
def test_a_missing_file_is_named(saved, name):
    (saved / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"{name} is missing"):
        load(saved)


def rewrite(folder, **changes):
    content = json.loads((folder / JSON).read_text())
    (folder / JSON).write_text(json.dumps(content | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "something else"}, "not of a whyflag detector"),
        ({"version": 1}, "version 1, this whyflag reads 2"),
        ({"detector": "os"}, "must name one of GMM, VAE, DAGMM, Forest, LOF, got 'os'"),
        ({"settings": {"n_clusters": 2}}, "does not fit together"),
        ({"fitted": {}}, "does not fit together"),
        ({"fitted": {"__class__": 1}}, "does not fit together: '__class__' is no fitted attribute"),
        ({"fitted": {"fit": 1}}, "'fit' is no fitted attribute"),
    ],
)
def test_a_foreign_file_is_refused(saved, changes, message):
    rewrite(saved, **changes)
    with pytest.raises(ValueError, match=message):
        load(saved)


def test_a_list_is_not_a_detector(saved):
    (saved / JSON).write_text("[1, 2]")
    with pytest.raises(ValueError, match="not of a whyflag detector"):
        load(saved)


class Bomb:
    def __reduce__(self):
        return (sys.exit, ("a file ran code",))


def test_a_pickle_in_the_arrays_is_not_run(saved):
    import hashlib
    import io

    buffer = io.BytesIO()
    np.savez(buffer, weights_=np.array([Bomb()], dtype=object))
    (saved / ARRAYS).write_bytes(buffer.getvalue())
    rewrite(saved, sha256=hashlib.sha256(buffer.getvalue()).hexdigest())
    with pytest.raises(ValueError, match="does not fit together"):
        load(saved)
    (saved / ARRAYS).write_bytes(pickle.dumps(Bomb()))
    rewrite(saved, sha256=hashlib.sha256(pickle.dumps(Bomb())).hexdigest())
    with pytest.raises(ValueError, match="does not fit together"):
        load(saved)
