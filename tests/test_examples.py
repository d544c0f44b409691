import re
import runpy
from pathlib import Path

import matplotlib.image

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_the_demo_names_culprits_and_normal_values(capsys):
    runpy.run_path(str(EXAMPLES / "breast_cancer.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert "malignant rows flagged" in out
    assert out.count("Contribute most") == 3
    assert "area error" in out
    assert "all converged: yes" in out


def test_a_broken_bond_is_seen_by_ash_and_not_by_marginals(capsys, tmp_path):
    example = runpy.run_path(str(EXAMPLES / "broken_bond.py"))
    example["main"](tmp_path / "picture.png")
    out = capsys.readouterr().out
    found = {name: int(share) for name, share in re.findall(r"(\w+) +(\d+)%", out)}
    assert found["ASH"] >= 95
    assert found["marg"] <= 40
    height, width, _ = matplotlib.image.imread(tmp_path / "picture.png").shape
    assert height > 300
    assert width > 1000


def test_in_the_broken_bond_each_value_by_itself_is_normal():
    example = runpy.run_path(str(EXAMPLES / "broken_bond.py"))
    normal = example["pump"](1000, seed=0)
    rows = example["break_bond"](example["pump"](1000, seed=1))
    away = (rows - normal.mean()).abs() / normal.std()
    assert (away[["pressure", "flow"]] < 2.5).all(axis=None)
