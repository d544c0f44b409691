"""Measure, print, and where all libraries are there put tables and a picture into the page.

`python -m benchmarks.peers`, in an environment of its own, because the newest shap needs Python
3.12 (libraries that are not there are left out, with a word):

    python3.12 -m venv peers && peers/bin/pip install . numba matplotlib
    peers/bin/pip install shap shapiq lightgbm xgboost lightshap woodelf-explainer
    OMP_NUM_THREADS=1 peers/bin/python -m benchmarks.peers ["GMM, d = 30" ...]

With names of games only those are measured; the lines of others stay as they are.
A game is what KSH asks: absent features take the values of eight normal rows, on average. All have
the same rows, the same function, and as many evaluations as KSH has by itself. Times are process
time of one thread, the better of the repeats; errors are ‖φ̂ − φ‖ / ‖φ‖, on average over rows and
repeats, each with a seed of its own.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.peers.games import Game, game, truth
from benchmarks.peers.others import BY_TREES, SAMPLING, Peer, installed, ours
from benchmarks.peers.page import OURS, tables, write_page
from whyflag.arrays import Matrix

CASES = {
    "GMM": (10, 30, 59, 166),
    "forest, score": (10, 30, 59, 166),
    "LOF": (10, 30, 59),
    "OneClassSVM": (10, 30, 59, 166),
    "forest, depth": (10, 30, 59, 166),
}
ROWS = {10: 5, 30: 3, 59: 3, 166: 2}
MANY_ROWS = 100  # where values come without coalitions
# Of the truth, for each reference: so many that its error is small beside ours.
WALKS = {
    "GMM": {30: 10_000, 59: 4_000, 166: 1_000},
    "forest, score": {30: 20_000, 59: 10_000, 166: 2_000},
    "LOF": {30: 1_000, 59: 500},
}
SHARES = (0.5, 1.0, 2.0)  # of KSH's budget: the points of a line
REPEATS = 1
PACKAGES = ("shap", "shapiq", "lightshap", "woodelf-explainer", "scikit-learn", "numpy")
KEPT = Path(__file__).parents[2] / "results" / "peers.json"


def measured(game: Game, peer: Peer, share: float, values: Matrix) -> dict[str, float]:
    """Time and evaluations of a row, and the error."""
    errors, took = [], []
    size = np.linalg.norm(values, axis=1)
    for seed in range(REPEATS):
        explain = peer(game, game.budget(share), seed)
        explain(game.rows[:1])  # what is done at first use
        game.asked[0] = 0
        begin = time.process_time()
        found = explain(game.rows)
        took.append(1e3 * (time.process_time() - begin) / len(game.rows))
        errors.append(float((np.linalg.norm(found - values, axis=1) / size).mean()))
    return {
        "milliseconds": min(took),
        "evaluations": game.asked[0] / len(game.rows),
        "error": float(np.mean(errors)),
    }


def lines(name: str, d: int) -> list[dict[str, Any]]:
    """What each library does with a game, ours first."""
    if name == "forest, depth":
        one = game(name, d, MANY_ROWS)
        peers = installed(BY_TREES)
        if not peers:
            return []
        # All are exact: another library's values, in single precision, are the truth.
        values, own = next(iter(peers.values()))(one, 0, 0)(one.rows), 0.0
        shares: tuple[float, ...] = (1.0,)
    else:
        one = game(name, d, ROWS[d])
        peers = installed(SAMPLING)
        values, own = truth(one, WALKS.get(name, {}).get(d, 0))
        shares = SHARES if d in (30, 59) else (1.0,)
    found = []
    for share in shares:
        for peer, how in {OURS: ours, **peers}.items():
            line = {"game": name, "d": d, "peer": peer, "share": share, "own error": own}
            found.append({**line, **measured(one, how, share, values)})
            print(found[-1], flush=True)
    return found


def main() -> None:
    """Measure games, and keep what was found if all libraries are there."""
    warnings.simplefilter("ignore")
    everyone = {**SAMPLING, **BY_TREES}
    complete = installed(everyone).keys() == everyone.keys()
    games = {f"{name}, d = {d}": (name, d) for name, widths in CASES.items() for d in widths}
    for name in sys.argv[1:] or games:
        with threadpool_limits(1):
            found = lines(*games[name])
        print(tables(found), flush=True)
        if complete:
            kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
            versions = {each: version(each) for each in PACKAGES}
            kept[name] = {"versions": versions, "lines": found}
            content = {name: kept[name] for name in games if name in kept}
            text = json.dumps(content, indent=1, ensure_ascii=False)
            KEPT.write_text(text + "\n", encoding="utf-8")
            write_page(content)


if __name__ == "__main__":
    main()
