"""Training from Parquet files: rows a second beside memory, and the memory that it takes."""

import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.common import Figure, describe, figure_table, machine, publish
from treerank import LeafRank, TreeRank

ROWS, QUICK_ROWS = 20_000_000, 400_000
MEMORY_ROWS, QUICK_MEMORY_ROWS = 2_000_000, 200_000
FEATURES = 20
BLOCK_ROWS = 1_000_000  # one file, of two row groups
MEGABYTES_ALLOWED = 1_500
SLOWER_ALLOWED = 2.0
COMMAND = "python -m benchmarks parquet"

MODELS: dict[str, dict[str, Any]] = {
    "one tree": {
        "splitter": LeafRank(max_depth=6), "max_depth": 8, "pruning": None, "shrinkage": None,
        "random_state": 0,
    },
    "default": {"random_state": 0},
}  # fmt: skip


class Run(NamedTuple):
    """One fit in a process of its own."""

    rows: int
    seconds: float
    cpu_seconds: float
    megabytes: float  # most anonymous memory at any time, that of Python and libraries included
    cells: int


def write_rows(folder: Path, n_rows: int) -> int:
    """Write files of numbers, some missing, one block at a time; return their size in bytes."""
    block = min(BLOCK_ROWS, n_rows)
    for number in range(n_rows // block):
        rng = np.random.default_rng([7, number])
        x = rng.standard_normal((FEATURES, block), dtype=np.float32)
        risk = x[:4].sum(axis=0) + x[4] * x[5] + 2 * rng.standard_normal(block, dtype=np.float32)
        x[6, rng.random(block) < 0.1] = np.nan
        columns = {f"x{j}": pa.array(x[j], from_pandas=True) for j in range(FEATURES)}
        table = pa.table({**columns, "bad": (risk > 2).astype(np.int8)})
        pq.write_table(table, folder / f"{number:03}.parquet", row_group_size=block // 2)
    return sum(path.stat().st_size for path in folder.iterdir())


class AnonymousMemory(threading.Thread):
    """Most anonymous memory of this process (RssAnon), looked at every 10 ms."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most, self.is_over = 0.0, False

    def run(self) -> None:
        """Look until it is over."""
        while not self.is_over:
            lines = Path("/proc/self/status").read_text().splitlines()
            kilobytes = next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))
            self.most = max(self.most, kilobytes / 1024)
            time.sleep(0.01)


def child(folder: str, model: str, memory_rows: int) -> None:
    """Fit once and print what it took; `memory_rows` is 0 for Parquet."""
    estimator = TreeRank(**MODELS[model])
    frame = None
    if memory_rows:
        files = sorted(Path(folder).glob("*.parquet"))
        frame = pd.concat([pd.read_parquet(f) for f in files[: 1 + memory_rows // BLOCK_ROWS]])
        frame = frame[:memory_rows]
    memory = AnonymousMemory()
    memory.start()
    start, cpu = time.perf_counter(), time.process_time()
    if frame is None:
        estimator.fit_parquet(folder, "bad")
    else:
        estimator.fit(frame.drop(columns="bad"), frame["bad"])
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    memory.is_over = True
    rows = int(estimator.unpruned_tree_.counts[0].sum())
    print(json.dumps([rows, seconds, cpu, memory.most, estimator.unpruned_tree_.n_cells]))


def measure(folder: Path, model: str, memory_rows: int) -> Run:
    """Fit in a process of its own."""
    code = f"from benchmarks.parquet import child; child({str(folder)!r}, {model!r}, {memory_rows})"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
    run = Run(*json.loads(done.stdout))
    print(model, "in memory" if memory_rows else "from Parquet", run, flush=True)
    return run


def figures_of(model: str, large: Run, small: Run) -> list[Figure]:
    """Speed and memory; processor seconds, as others use the machine."""
    rates = [run.rows / run.cpu_seconds for run in (large, small)]
    slower = rates[1] / rates[0]
    return [
        Figure(f"{model}: rows a second, from Parquet", rates[0], "", None, "at least",
               f"{large.rows:,} rows, {large.seconds:.0f} s by the clock, {large.cells} cells"),
        Figure(f"{model}: rows a second, in memory", rates[1], "", None, "at least",
               f"{small.rows:,} rows, {small.seconds:.0f} s by the clock, {small.cells} cells"),
        Figure(f"{model}: times slower than in memory", slower, "", SLOWER_ALLOWED),
        Figure(f"{model}: most memory beyond the codes' page cache", large.megabytes, "MB",
               MEGABYTES_ALLOWED, note="Python and its libraries included"),
    ]  # fmt: skip


def run(quick: bool = False) -> None:
    """Measure one tree and the default; write the page unless quick."""
    facts = machine()
    n_rows, memory_rows = (QUICK_ROWS, QUICK_MEMORY_ROWS) if quick else (ROWS, MEMORY_ROWS)
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="treerank-benchmark-") as name:
        n_bytes = write_rows(Path(name), n_rows)
        for model in MODELS:
            small = measure(Path(name), model, memory_rows)
            figures += figures_of(model, measure(Path(name), model, 0), small)
    print(figure_table(figures))
    if not quick:
        page = (
            "# Training from Parquet files\n\n"
            f"`TreeRank.fit_parquet` on {n_rows:,} rows of {FEATURES} numbers "
            f"({n_bytes / 1e9:.1f} GB of Parquet), one thread, reading and coding included, beside "
            f"`TreeRank.fit` on {memory_rows:,} of the rows in memory, reading not included. Rows "
            "a second are by processor seconds. *One tree* has depth 8 and LeafRank depth 6, "
            "without pruning and shrinkage; *default* is `TreeRank()`: six trees, for pruning by "
            "cross-validation. Memory is anonymous memory (RssAnon), looked at every 10 ms; the "
            f"codes ({n_rows * FEATURES / 1e6:,.0f} MB) are a mapped file, which the system drops "
            "from memory when it needs the room.\n\n"
            f"{describe(facts, COMMAND)}\n\n{figure_table(figures)}\n"
        )
        publish("parquet", page, figures, {"machine": facts})
