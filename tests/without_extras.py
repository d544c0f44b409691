"""What must work with the core alone: a script for where no optional package can be imported,
and whyflag-paper is not installed.
"""

import importlib
import tempfile

import numpy as np
from sklearn.ensemble import IsolationForest

EXTRAS = (
    *("torch", "pyod", "shap", "matplotlib", "pooch", "imblearn"),
    *("pyarrow", "numba", "openpyxl"),
)
PAPER = "whyflag_paper"


def refused(action, message):
    said = "nothing"
    try:
        action()
    except ImportError as error:
        said = str(error)
    assert message in said, said


def main():
    for name in (*EXTRAS, PAPER):
        refused(lambda name=name: importlib.import_module(name), name)

    import whyflag.detectors
    import whyflag.plot
    from whyflag import Explainer, as_score

    rng = np.random.default_rng(0)
    normal = rng.multivariate_normal([20, 50], [[4, 9], [9, 25]], size=300)
    flagged = np.array([[20.0, 62.0], [26.0, 50.0]])
    gmm = whyflag.detectors.GMM().fit(normal)
    forest = IsolationForest(random_state=0).fit(normal)
    for detector in (gmm, forest, as_score(gmm.score_samples, higher_is_anomalous=False)):
        attribution = Explainer(detector, normal)(flagged)
        assert attribution.top(1)["feature"].tolist() == ["x1", "x0"], detector
    depths = Explainer(as_score(forest, scale="depth"), normal, "KSH")(flagged)
    assert depths.top(1)["feature"].tolist() == ["x1", "x0"], depths
    with tempfile.TemporaryDirectory() as folder:
        gmm.save(folder)
        whyflag.detectors.load(folder)

    for name in ("VAE", "DAGMM"):
        install = f"{name} needs the torch package: pip install 'whyflag[torch]'."
        refused(lambda name=name: getattr(whyflag.detectors, name), install)
    refused(attribution.to_shap, "to_shap() needs the shap package: pip install 'whyflag[shap]'.")
    from whyflag.adapters import torch_score

    refused(lambda: torch_score(lambda rows: rows, 2), "pip install 'whyflag[torch]'")
    from typer.testing import CliRunner

    from whyflag.cli import app

    for command in ("datasets", "reproduce"):
        assert command in CliRunner().invoke(app, ["--help"]).output
        said = CliRunner().invoke(app, [command])
        assert said.exit_code == 1, said
        install = f"`whyflag {command}` needs the whyflag-paper package: pip install whyflag-paper"
        assert said.output.startswith(install), said.output
        assert said.output.count("\n") == 1, said.output
    refused(lambda: whyflag.plot.bar(attribution), "pip install 'whyflag[plot]'")
    with tempfile.TemporaryDirectory() as folder:
        said = CliRunner().invoke(app, ["demo", "-o", f"{folder}/demo"])
        assert said.exit_code == 0, said.output
        score = ["score", f"{folder}/demo/model", f"{folder}/demo/few.csv"]
        said = CliRunner().invoke(app, [*score, "-o", f"{folder}/scores.parquet"])
        assert "pip install 'whyflag[parquet]'" in " ".join(said.output.split()), said.output
    print("The core works without extras.")  # noqa: T201


if __name__ == "__main__":
    main()
