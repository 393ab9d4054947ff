"""Fits on request, in whichever version of treerank this interpreter has.

Imports nothing of the benchmarks, which an older version could not import: it is run as a script,
reads the name of a case from each line of standard input, and answers with a line of JSON.
"""

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from treerank import BoostedTreeRank, LeafRank, RankingForest, TreeRank

AUC_ROWS = 20_000


def unpruned(n_jobs: int) -> Any:
    """Return the tree that the page on speed measures."""
    return TreeRank(LeafRank(max_depth=6), max_depth=8, min_samples_leaf=1, pruning=None,
                    shrinkage=None, n_jobs=n_jobs)  # fmt: skip


# All that may be said by defaults is said here, as far as it changed from version to version.
MODELS: dict[str, Callable[[int], Any]] = {
    "unpruned tree": unpruned,
    "pruned and shrunk tree": lambda n_jobs: TreeRank(LeafRank(max_depth=1), n_jobs=n_jobs),
    "forest of merged cells": lambda n_jobs: RankingForest(
        LeafRank(max_depth=4, max_features="sqrt"), n_estimators=50, max_depth=8,
        min_samples_leaf=5, random_cut_share=0, random_state=0, n_jobs=n_jobs
    ),
    "forest of deep trees": lambda n_jobs: RankingForest(
        LeafRank(max_depth=30, max_features="sqrt"), n_estimators=50, max_depth=1,
        min_samples_leaf=5, random_cut_share=0, random_state=0, n_jobs=n_jobs
    ),
    "boosting": lambda n_jobs: BoostedTreeRank(
        50, learning_rate=0.1, max_depth=2, leafrank_depth=4, max_features=None,
        l2_regularization=5.0, early_stopping=False, random_state=0, n_jobs=n_jobs
    ),
}  # fmt: skip


def resident_bytes(field: str) -> int:
    """Memory of this process, now (VmRSS) or at its peak (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(x.split()[1]) * 1024 for x in lines if x.startswith(field))


def fit(name: str, n_jobs: int, X: Any, y: Any) -> dict[str, float]:
    """Seconds of a fit, and by how much the memory's peak rose above what was there before."""
    before = resident_bytes("VmRSS")
    wall, cpu = time.perf_counter(), time.process_time()
    model = MODELS[name](n_jobs).fit(X, y)
    took = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    rise = resident_bytes("VmHWM") - before
    return took | {"bytes": rise, "auc": float(model.score(X[:AUC_ROWS], y[:AUC_ROWS]))}


def score(model: Any, X: Any) -> dict[str, float]:
    """Seconds that the scores of all rows take."""
    wall, cpu = time.perf_counter(), time.process_time()
    model.score_samples(X)
    return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def main(path: str, n_jobs: int) -> None:
    """Answer until standard input ends."""
    with np.load(path) as arrays:
        X, y = arrays["X"], arrays["y"]
    few = slice(0, len(y) // 10)
    fitted: dict[str, Any] = {}
    print(json.dumps(version("treerank-ml")), flush=True)
    for line in sys.stdin:
        verb, _, name = line.strip().partition(" ")
        if verb == "score" and name not in fitted:
            fitted[name] = MODELS[name](n_jobs).fit(X[few], y[few])
        found = fit(name, n_jobs, X, y) if verb == "fit" else score(fitted[name], X)
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
