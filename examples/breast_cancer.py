"""Which measurements make a tumour look unlike the benign ones?

The Wisconsin diagnostic breast-cancer data come with scikit-learn: 30 measurements of 357 benign
and 212 malignant tumours. The detector sees benign ones only.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer

from whyflag import Explainer
from whyflag.detectors import GMM
from whyflag.games import LocalMinimum
from whyflag.methods import ASH

N_SHOWN = 3


def main() -> None:
    """Fit to benign rows, find the malignant ones that stand out most, and say why."""
    data, benign = load_breast_cancer(return_X_y=True, as_frame=True)
    normal, suspicious = data[benign == 1], data[benign == 0]

    detector = GMM(reg_covar=1e-2).fit(normal)
    flagged = suspicious[detector.predict(suspicious) == -1]
    print(f"{len(normal)} benign rows to learn from, {detector.n_components_} components.")
    print(f"{len(flagged)} of {len(suspicious)} malignant rows flagged.\n")

    strangest = flagged.iloc[np.argsort(detector.score_samples(flagged))[:N_SHOWN]]
    # Measurements of one nucleus go together (radius, perimeter, area), so every coalition gets a
    # minimisation of its own; the default averages a few, which is faster.
    attribution = Explainer(detector, normal, method=ASH(LocalMinimum()))(strangest)

    for row in range(len(attribution)):
        one = attribution[row]
        print(
            f"Row {one.row_names[0]}: score {one.scores[0]:.0f}, "
            f"of the nearest normal row {one.base_values[0]:.0f}. Contribute most:"
        )
        table = one.top(5).drop(columns="row")
        print(table.to_string(index=False, float_format="{:.4g}".format), "\n")
    print(f"{attribution.n_evaluations:,} score evaluations, all converged: ", end="")
    print("yes" if attribution.converged is not None and attribution.converged.all() else "no")


if __name__ == "__main__":
    main()
