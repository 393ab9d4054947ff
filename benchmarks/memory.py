"""Peak memory of a fit, each in a process of its own: a peak is reached once."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.common import Figure, resident_bytes
from benchmarks.speed import Data
from treerank import BoostedTreeRank, LeafRank, RankingForest, TreeRank

N_ROUNDS = 10  # buffers are kept from round to round: more of them take no more
MODELS: dict[str, Callable[[int], Any]] = {
    "tree": lambda n_jobs: TreeRank(LeafRank(), n_jobs=n_jobs),
    "forest of 50 trees": lambda n_jobs: RankingForest(n_estimators=50, n_jobs=n_jobs),
    "boosting": lambda n_jobs: BoostedTreeRank(
        N_ROUNDS, max_depth=2, leafrank_depth=4, max_features=None, n_jobs=n_jobs
    ),
}


def peak(name: str, n_jobs: int, path: str) -> int:
    """Growth of the peak of resident memory during one fit, in bytes."""
    with np.load(path) as arrays:
        X, y = arrays["X"], arrays["y"]
    model = MODELS[name](n_jobs)
    before = resident_bytes("VmRSS")
    model.fit(X, y)
    return resident_bytes("VmHWM") - before


def peaks(data: Data, names: list[str], threads: list[int]) -> list[Figure]:
    """Peak memory of fits beyond what the table itself takes."""
    n = len(data[1])
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/data.npz"
        np.savez(path, X=data[0], y=data[1])
        for name in names:
            for n_jobs in threads:
                command = [sys.executable, "-m", "benchmarks.memory", name, str(n_jobs), path]
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
                megabytes = json.loads(done.stdout) / 1e6
                figures.append(
                    Figure(f"{name}, {n:,} x 20, {n_jobs} thread{'s' if n_jobs > 1 else ''}: peak "
                           "memory of a fit beside the table", megabytes, "MB",
                           note=f"the table takes {data[0].nbytes / 1e6:,.0f} MB")
                )  # fmt: skip
    return figures


if __name__ == "__main__":
    print(json.dumps(peak(sys.argv[1], int(sys.argv[2]), sys.argv[3])))
