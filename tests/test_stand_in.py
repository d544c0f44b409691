import numpy as np
import pandas as pd
import pytest

from whyflag import Domain, Explainer
from whyflag.detectors import GMM
from whyflag.model import Model
from whyflag.stand_in import stand_in
from whyflag.table.schema import Schema

RNG = np.random.default_rng(0)
KINDS = RNG.integers(2, size=500)
AMOUNTS = np.where(KINDS == 1, 3000.0, 20.0) + np.round(RNG.normal(size=500))
ROWS = np.column_stack([np.eye(2)[KINDS], AMOUNTS])
DOMAIN = Domain.infer(
    ROWS, bounded=True, players={"kind": [0, 1]}, categories={"kind": ["card", "wage"]}
)


def test_values_fit_the_rest_of_the_row_and_are_values_that_columns_have():
    X = np.array([[0.0, 1.0, 20.0], [1.0, 0.0, 20.0], [1.0, 0.0, 2998.0]])
    unknown = np.array([[False, False, True], [False, False, True], [True, True, False]])
    found = stand_in(X, unknown, ROWS, DOMAIN)
    assert found[0, 2] == pytest.approx(3000, rel=0.1)
    assert found[1, 2] == pytest.approx(20, abs=150)
    assert (found[:, 2] == np.round(found[:, 2])).all()
    assert found[2].tolist() == [0.0, 1.0, 2998.0]


def test_what_is_known_stays():
    unknown = np.eye(3, dtype=bool)
    found = stand_in(ROWS[:3], unknown, ROWS, DOMAIN)
    np.testing.assert_array_equal(found[~unknown], ROWS[:3][~unknown])
    np.testing.assert_array_equal(stand_in(ROWS[:3], ~unknown & unknown, ROWS, DOMAIN), ROWS[:3])


@pytest.mark.parametrize("method", ["near", "ASH", "KSH"])
def test_a_gap_does_not_blame_the_column_that_goes_with_it(method):
    hidden = RNG.normal(size=(500, 1))
    rows = np.hstack([hidden + 0.05 * RNG.normal(size=(500, 2)), RNG.normal(size=(500, 2))])
    explain = Explainer(GMM(1, random_state=0).fit(rows), rows, method, threshold=8.0)
    found = explain([[2.0, np.nan, 0.0, 0.0]])
    assert found.order[0, 0] == 1
    assert found.shares[0, 1] > 0.75
    assert found.data[0, 1] == pytest.approx(2.0, abs=0.2)


@pytest.mark.parametrize("cells", [("wage", ""), ("wage", "ERR"), ("loan", "2998")])
def test_nor_does_a_cell_that_a_model_can_not_read(cells):
    table = pd.DataFrame(
        {"kind": np.where(KINDS == 1, "wage", "card"), "amount": AMOUNTS, "x": RNG.normal(size=500)}
    )
    model = Model.fit(GMM(2, random_state=0), Schema.of(table), table)
    odd = pd.DataFrame({"kind": cells[:1], "amount": cells[1:], "x": ["0.1"]})
    found = model.explainer()(odd)
    expected = "kind" if cells[0] == "loan" else "amount"
    assert found.top(1)["feature"].tolist() == [expected]
    assert found.shares.max() > 0.9
    assert (model.score(odd) == found.scores).all()
