"""How fast, and in how much memory, the command line scores a file of two gigabytes."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

import treerank
from benchmarks.common import Figure, describe, figure_table, machine, publish, targets_met
from treerank import RankingForest, TreeRank

GIGABYTES, QUICK_GIGABYTES = 2.0, 0.05
BLOCK_ROWS = 50_000
THREADS = 2
NUMBERS = 10
COMMAND = "python -m benchmarks cli"


class Run(NamedTuple):
    """One call of ``treerank score``."""

    rows: int
    seconds: float
    megabytes: float  # most memory at any time


def loans(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows as they come: rounded numbers, some missing, two categories."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, NUMBERS)).round(4)).add_prefix("number_")
    risk = X.iloc[:, :3].sum(axis=1)
    X = X.mask(rng.random(X.shape) < 0.05)
    X["purpose"] = rng.choice(["car", "furniture", "business", "holiday"], n)
    X["home"] = rng.choice(["owns", "rents", "family"], n)
    risk += (X["home"] == "rents") + rng.normal(size=n)
    return X, (risk > 1).to_numpy().astype(int)


def write_large(path: Path, gigabytes: float) -> int:
    """Write the same block of rows again and again; return the number of rows."""
    X, _ = loans(BLOCK_ROWS, 1)
    head, _, block = X.to_csv(index=False).partition("\n")
    raw = block.encode()
    times = max(1, round(gigabytes * 1e9 / len(raw)))
    with path.open("wb") as file:
        file.write(f"{head}\n".encode())
        for _ in range(times):
            file.write(raw)
    return times * BLOCK_ROWS


def score(model: Path, data: Path, out: Path, rows: int) -> Run:
    """Run the command in a process of its own and ask the system what it took."""
    command = [sys.executable, "-m", "treerank", "score", str(model), str(data), "--out", str(out)]
    start = time.perf_counter()
    process = subprocess.Popen([*command, "--threads", str(THREADS)])
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status != 0:
        raise RuntimeError(f"treerank score ended with status {status}")
    return Run(rows, seconds, usage.ru_maxrss / 1024)


def run(quick: bool = False) -> None:
    """Measure a tree and a forest; write the page unless quick."""
    facts = machine()
    gigabytes = QUICK_GIGABYTES if quick else GIGABYTES
    X, y = loans(20_000, 0)
    models = {
        "a tree": TreeRank().fit(X, y),
        "a forest of 20 trees": RankingForest(n_estimators=20, n_jobs=THREADS).fit(X, y),
    }
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = write_large(folder / "large.csv", gigabytes)
        for kind, model in models.items():
            treerank.save(model, folder / "model")
            took = score(folder / "model", folder / "large.csv", folder / "scores.csv", rows)
            note = f"{rows:,} rows, {gigabytes:g} GB, {took.seconds:.0f} s"
            # The targets are those of a tree; a forest is shown beside it.
            is_tree = kind == "a tree"
            speed = Figure(f"rows per second, {kind}", rows / took.seconds, "",
                           200_000 if is_tree else None, "at least", note)  # fmt: skip
            memory = Figure(f"peak memory, {kind}", took.megabytes, "MB", 500)
            figures += [speed, memory]
    print(figure_table(figures))
    if not quick:
        page = (
            "# How fast does the command line score a large file?\n\n"
            f"`treerank score` reads a CSV file of {gigabytes:g} GB in blocks, so that memory does "
            f"not grow with the file. {targets_met(figures)}\n\n"
            f"{describe(facts, COMMAND)}\n\n{figure_table(figures)}\n\n"
            "## How it was measured\n\n"
            f"The file has {NUMBERS} numeric and two categorical columns. Scoring uses {THREADS} "
            "threads, and the time includes the start of Python.\n"
        )
        publish("cli", page, figures, {"machine": facts})
