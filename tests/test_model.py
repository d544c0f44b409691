import json
import pickle

import numpy as np
import pandas as pd
import pytest

import whyflag.model
from whyflag.detectors import GMM
from whyflag.distribution import LEVELS, Distribution
from whyflag.files.documents import write_document
from whyflag.model import Model
from whyflag.table import Table
from whyflag.table.schema import Schema

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "size": RNG.normal(5, 1, 200),
        "weight": RNG.normal(0, 3, 200),
        "colour": RNG.choice(["red", "blue"], 200),
    }
)


def fitted(methods=("ASH",)):
    return Model.fit(GMM(2, reg_covar=0.1), Schema.of(TABLE), TABLE, methods)


@pytest.fixture(scope="module")
def model():
    return fitted()


def odd(model):
    return model.read(
        pd.DataFrame({"size": [5.0, 14.0], "weight": [30.0, 0.0], "colour": ["red", "blue"]})
    ).rows


def test_a_model_explains_rows_of_the_table_by_its_columns(model):
    said = model.explainer()(odd(model))
    assert said.feature_names == ("size", "weight", "colour")
    assert said.top(1)["feature"].tolist() == ["weight", "size"]
    assert said.threshold == pytest.approx(model.threshold)


@pytest.mark.parametrize("network", ["VAE", "DAGMM"])
def test_networks_learn_tables_with_numbers_and_a_category_that_some_rows_lack(network):
    pytest.importorskip("torch")
    from whyflag import detectors

    table = TABLE.assign(kind=["rare", *["usual"] * 199])  # a fold has a column less
    detector = getattr(detectors, network)(max_updates=5)
    model = Model.fit(detector, Schema.of(table), table)
    assert np.isfinite(model.threshold)
    # Copies that calibrate the alarm have the sizes that were chosen, and see for themselves which
    # columns are binary.
    settled = model.detector.settled()
    assert settled.latent == model.detector.latent_
    assert settled.binary == "auto"


def test_a_model_survives_its_folder(model, tmp_path):
    model.save(tmp_path / "m")
    again = Model.load(tmp_path / "m")
    assert again.schema == model.schema
    assert (again.threshold, again.surcharge) == (model.threshold, model.surcharge)
    assert again.normal.quantiles == pytest.approx(model.normal.quantiles)
    one, other = (each.explainer()(odd(model)) for each in (model, again))
    assert one.values == pytest.approx(other.values)
    assert one.threshold == other.threshold


def test_training_rows_are_not_in_the_folder(model, tmp_path):
    model.save(tmp_path / "m")
    files = {path.name for path in (tmp_path / "m").rglob("*") if path.is_file()}
    assert files == {"model.json", "detector.json", "arrays.npz"}


def test_training_rows_are_kept_for_methods_that_need_them(tmp_path):
    model = fitted(("ASH", "wKSH"))
    model.save(tmp_path / "m")
    again = Model.load(tmp_path / "m")
    assert len(again.rows) == 200
    said = again.explainer()(odd(model))
    assert [member.method for member in said.members] == ["ASH", "wKSH"]
    fitted().save(tmp_path / "m")  # the next one has none
    assert not list((tmp_path / "m").rglob("rows.npz"))


def test_a_method_that_needs_rows_is_refused_without_them(model):
    with pytest.raises(ValueError, match="fit it for wKSH"):
        model.explainer(["wKSH"])


def rewritten(folder, change):
    content = json.loads((folder / "model.json").read_text())
    del content["checksum"]
    change(content)
    write_document(folder / "model.json", content)


def parts(folder):
    (found,) = folder.glob("parts-*")
    return found


@pytest.mark.parametrize(
    "where", [(GMM, "save"), (np, "savez"), (whyflag.model, "write_document")], ids=str
)
def test_an_interrupted_model_leaves_the_old_one(model, tmp_path, monkeypatch, where):
    model.save(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    other = fitted(("wKSH",))

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(*where, interrupt)
    with pytest.raises(KeyboardInterrupt):
        other.save(tmp_path)
    assert sorted(tmp_path.rglob("*")) == before
    assert Model.load(tmp_path).methods == ("ASH",)


def test_what_an_end_by_force_left_behind_goes_with_the_next_model(model, tmp_path):
    model.save(tmp_path)
    (tmp_path / "parts-0123456789abcdef").mkdir()
    model.save(tmp_path)
    assert Model.load(tmp_path)
    assert parts(tmp_path).name != "parts-0123456789abcdef"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(format="else"), "is not of a whyflag model"),
        (lambda c: c.update(version=99), "is of version 99"),
        (lambda c: c.pop("schema"), "does not fit together"),
        (lambda c: c["domain"].update(columns=["a", "b", "c", "d"]), "different columns"),
        (lambda c: c.update(methods=["magic"]), "magic"),
        (lambda c: c["sha256"].update({"../else": "0"}), "is no file of a model"),
        (lambda c: c.update(parts="../elsewhere"), "is no folder of a model's parts"),
        (lambda c: c["normal"].update(mean=[1.0]), "quantiles have shape"),
    ],
)
def test_a_folder_that_does_not_fit_together_is_refused(model, tmp_path, change, message):
    model.save(tmp_path)
    rewritten(tmp_path, change)
    with pytest.raises(ValueError, match=message):
        Model.load(tmp_path)


def test_a_damaged_folder_is_refused(model, tmp_path):
    with pytest.raises(FileNotFoundError, match="no whyflag model"):
        Model.load(tmp_path)
    model.save(tmp_path)
    (parts(tmp_path) / "detector" / "detector.json").write_text("{}")
    with pytest.raises(ValueError, match="missing or damaged"):
        Model.load(tmp_path)
    (tmp_path / "model.json").write_text("{")
    with pytest.raises(ValueError, match="damaged, or no JSON"):
        Model.load(tmp_path)


class _Bomb:
    def __reduce__(self):
        return (print, ("run",))


def test_code_in_a_strangers_folder_is_not_run(tmp_path, capsys):
    model = fitted(("wKSH",))
    model.save(tmp_path)
    np.savez(
        parts(tmp_path) / "rows.npz", rows=np.array([_Bomb()], dtype=object), allow_pickle=True
    )
    import hashlib

    digest = hashlib.sha256((parts(tmp_path) / "rows.npz").read_bytes()).hexdigest()
    rewritten(tmp_path, lambda c: c["sha256"].update({"rows.npz": digest}))
    with pytest.raises(ValueError, match="does not fit together"):
        Model.load(tmp_path)
    assert "run" not in capsys.readouterr().out
    assert pickle.dumps(_Bomb())  # it would have


def test_distributions_are_quantiles_and_means():
    rows = np.column_stack([np.arange(101.0), np.r_[np.zeros(76), np.ones(25)]])
    normal = Distribution.of(rows)
    assert normal.quantiles[len(LEVELS) // 2, 0] == 50
    assert normal.quantiles[[0, -1], 0].tolist() == [0, 100]
    assert normal.mean[1] == pytest.approx(25 / 101)
    again = Distribution.from_json(json.loads(json.dumps(normal.to_json())))
    assert again.quantiles == pytest.approx(normal.quantiles)


FOREIGN = {
    "a word": ({"size": "n/a"}, "size"),
    "a gap": ({"weight": None}, "weight"),
    "infinity": ({"weight": "inf"}, "weight"),
    "a new category": ({"colour": "mauve"}, "colour"),
}


@pytest.mark.parametrize(("change", "culprit"), FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("method", ["near", "ASH", "KSH", "marg"])
def test_a_foreign_cell_raises_the_alarm_and_is_its_culprit(change, culprit, method):
    model = fitted(("ASH", "KSH", "near"))
    row = {"size": "5", "weight": "0.5", "colour": "red"}
    rows = model.read(pd.DataFrame([row | change, row])).rows
    said = model.explainer([method])(rows)
    assert said.flagged.tolist() == [True, False]
    assert said.feature_names[said.order[0, 0]] == culprit
    assert said.scores == pytest.approx(model.score(rows))
    # What the cell adds is its own: the rest is explained as if the cell was a usual one.
    without = model.explainer([method])(rows.values)
    j = said.feature_names.index(culprit)
    assert said.values[0, j] - without.values[0, j] == pytest.approx(model.surcharge)
    assert np.delete(said.values[0], j) == pytest.approx(np.delete(without.values[0], j))


def test_a_new_category_is_at_least_as_odd_as_the_rarest():
    table = TABLE.assign(colour=["red"] * 150 + ["blue"] * 47 + ["green"] * 3)
    model = Model.fit(GMM(2, reg_covar=0.1), Schema.of(table), table)
    rare, new = model.score(
        model.read(
            pd.DataFrame({"size": [5.0] * 2, "weight": [0.0] * 2, "colour": ["green", "mauve"]})
        ).rows
    )
    assert new > max(rare, model.threshold)


def test_a_foreign_cell_is_repaired_whatever_else_is():
    model = fitted(("near",))
    row = {"size": "5", "weight": "0.5", "colour": "red"}
    rows = [row | {"size": "n/a"}, row | {"size": "n/a", "weight": "99"}, row]
    said = model.explainer()(model.read(pd.DataFrame(rows)).rows)
    names = [[said.feature_names[j] for j in np.flatnonzero(each)] for each in said.repair.changed]
    assert names == [["size"], ["size", "weight"], []]
    assert said.repair.silenced.all()
    assert said.repair.before == pytest.approx(said.scores)
    assert model.score(Table(said.repair.rows)) == pytest.approx(said.repair.scores)
    assert said.repair.alternatives == ((), (), ())


def test_what_else_is_in_the_folder_is_left_alone(model, tmp_path):
    mine = tmp_path / "m" / "parts-catalogue" / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    (tmp_path / "m" / "parts-list.csv").write_text("a,b")
    model.save(tmp_path / "m")
    model.save(tmp_path / "m")
    assert mine.read_text() == "mine"
    assert len([each for each in (tmp_path / "m").iterdir() if each.is_dir()]) == 2
    assert Model.load(tmp_path / "m").threshold == model.threshold


@pytest.mark.parametrize("refits", [0, 2])
def test_tables_are_read_by_the_schema_wherever_they_are_given(refits):
    model = fitted(("near",))
    table = pd.DataFrame({"size": [5.0, 5.0], "weight": [0.0, 30.0], "colour": ["green", "red"]})
    read = model.read(table)
    explain = model.explainer(refits=refits)
    for given in (table, read, read.rows):
        assert (model.score(given) == model.score(read.rows)).all()
        assert (explain(given).scores == model.score(read.rows)).all()
    assert explain(table).top(1)["observed"].tolist() == ["green (not seen before)", "30"]
    # Numbers alone do not know what was written; they say what stands in for no number.
    assert explain(read).top(1)["observed"].tolist() == ["not seen before", 30.0]
    assert "colour is not seen before" in explain(read).sentences()[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda domain: domain["players"]["colour"].__setitem__(0, True), "one by one"),
        (lambda domain: domain.update(columns=2**70), "numbers for each of its columns"),
        (lambda domain: domain["kinds"]["step"].pop(), "as many columns in each of their parts"),
        (lambda domain: domain["kinds"]["step"].__setitem__(0, -1), "steps must not be negative"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused_when_they_are_read(
    model, tmp_path, change, message
):
    model.save(tmp_path / "m")
    content = json.loads((tmp_path / "m" / "model.json").read_text())
    del content["checksum"]
    change(content["domain"])
    write_document(tmp_path / "m" / "model.json", content)
    with pytest.raises(ValueError, match=message):
        Model.load(tmp_path / "m")
