"""Training from Parquet files: rows a second beside memory, and the memory that it takes."""

import hashlib
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

import treerank
from benchmarks.common import Figure, describe, figure_table, machine, publish, targets_met
from treerank import LeafRank, TreeRank

ROWS, QUICK_ROWS = 20_000_000, 400_000
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
    digest: str  # of the model


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


def child(folder: str, model: str, in_memory: bool) -> None:
    """Fit once and print what it took."""
    estimator = TreeRank(**MODELS[model])
    frame = pd.read_parquet(folder) if in_memory else None
    memory = AnonymousMemory()
    memory.start()
    start, cpu = time.perf_counter(), time.process_time()
    if frame is None:
        estimator.fit_parquet(folder, "bad")
    else:
        estimator.fit(frame.drop(columns="bad"), frame["bad"])
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    memory.is_over = True
    tree = estimator.unpruned_tree_
    with tempfile.NamedTemporaryFile() as file:
        treerank.save(estimator, file.name)
        digest = hashlib.sha256(Path(file.name).read_bytes()).hexdigest()
    rows = int(tree.counts[0].sum())
    print(json.dumps([rows, seconds, cpu, memory.most, tree.n_cells, digest]))


def measure(folder: Path, model: str, in_memory: bool) -> Run:
    """Fit in a process of its own."""
    code = f"from benchmarks.parquet import child; child({str(folder)!r}, {model!r}, {in_memory})"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
    run = Run(*json.loads(done.stdout))
    print(model, "in memory" if in_memory else "from Parquet", run, flush=True)
    return run


def figures_of(model: str, parquet: Run, memory: Run) -> list[Figure]:
    """Speed and memory; processor seconds, as others use the machine."""
    if parquet.digest != memory.digest:
        raise RuntimeError(f"{model}: the model from Parquet is not the one in memory")
    rates = [run.rows / run.cpu_seconds for run in (parquet, memory)]
    notes = [f"{run.cpu_seconds:.0f} s, {run.seconds:.0f} s elapsed; {run.cells:,} cells"
             for run in (parquet, memory)]  # fmt: skip
    return [
        Figure(f"{model}: rows per second, from Parquet", rates[0], note=notes[0]),
        Figure(f"{model}: rows per second, in memory", rates[1], note=notes[1]),
        Figure(f"{model}: times slower than in memory", rates[1] / rates[0], "", SLOWER_ALLOWED),
        Figure(f"{model}: peak memory without the mapped codes", parquet.megabytes, "MB",
               MEGABYTES_ALLOWED, note="Python and its libraries included"),
        Figure(f"{model}: peak memory, in memory", memory.megabytes, "MB"),
    ]  # fmt: skip


def run(quick: bool = False) -> None:
    """Measure one tree and the default; write the page unless quick."""
    facts = machine()
    n_rows = QUICK_ROWS if quick else ROWS
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="treerank-benchmark-") as name:
        n_bytes = write_rows(Path(name), n_rows)
        for model in MODELS:
            parquet, memory = (measure(Path(name), model, way) for way in (False, True))
            figures += figures_of(model, parquet, memory)
    print(figure_table(figures))
    if not quick:
        page = (
            "# How fast is training from Parquet files?\n\n"
            "Compared with a table in memory, how long does `TreeRank.fit_parquet` take, and how "
            f"much memory does it need? {targets_met(figures)} Both give the same model, bit for "
            "bit; this page is only written when they do.\n\n"
            f"{describe(facts, COMMAND)}\n\n{figure_table(figures)}\n\n"
            "## How it was measured\n\n"
            f"{n_rows:,} rows of {FEATURES} numbers ({n_bytes / 1e9:.1f} GB of Parquet), one "
            "thread. Times from Parquet include reading and binning; those in memory start from a "
            "data frame. Rows per second are per processor second. *One tree* has depth 8 and "
            "LeafRank depth 6, without pruning and shrinkage; *default* is `TreeRank()`, which "
            "grows six trees to prune by cross-validation. Memory is anonymous memory (RssAnon), "
            f"read every 10 ms. The codes ({n_rows * FEATURES / 1e6:,.0f} MB) are a memory-mapped "
            "file, which the system can drop when memory is short.\n"
        )
        publish("parquet", page, figures, {"machine": facts})
