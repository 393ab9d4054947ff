"""Compare this version with another one: the same fits, turn by turn, in one run.

``TREERANK_OTHER`` names the Python of an environment in which the other version is installed.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import (
    Figure,
    describe,
    figure_table,
    machine,
    markdown_table,
    publish,
    targets_met,
)
from benchmarks.speed import make_data
from benchmarks.version_worker import MODELS

WORKER = Path(__file__).with_name("version_worker.py")
SLOWER_AT_MOST = 1.03
# Rows, and how often each is fitted: what takes long needs fewer turns.
SIZES, QUICK_SIZES = {200_000: 5, 1_000_000: 2}, {20_000: 7}
SCORED = ("unpruned tree", "forest of merged cells")
Best = dict[str, float]

PAGE = """# This version beside an earlier one

{machine}

Is this version as fast as {old}, and does it take as little memory, where both are asked for the
same model? {verdict}

{table}

## Seconds and memory

{details}

Each version fits in a process of its own. The two take turns, and the least of several runs (five
with 200,000 rows, two with 1,000,000) counts: processor seconds on one thread, elapsed seconds on
several. Memory is the peak of a first fit in a new process, above what the process had before.
Parameters whose defaults have changed are set to the same values for both. The AUC is that of the
training rows: where it is equal, the same model was grown.
"""


class Worker:
    """One version at work, in a process of its own."""

    def __init__(self, python: str, path: str, n_jobs: int):
        command = [python, str(WORKER), path, str(n_jobs)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.version = self._answer()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(
                f"The worker {self.process.args} ended with status {self.process.wait()}; its "
                "error message is above. Is treerank-ml installed for that Python?"
            )
        return json.loads(line)

    def ask(self, request: str) -> Best:
        """Seconds and bytes of one request."""
        assert self.process.stdin is not None
        print(request, file=self.process.stdin, flush=True)
        return self._answer()

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


def measure(
    pythons: list[str], path: str, n_jobs: int, repetitions: int
) -> tuple[list[str], dict[str, list[Best]]]:
    """Versions, and for each request the least of what each of them took."""
    found: dict[str, list[Best]] = {}
    for name in MODELS:  # peaks first, each in a new process
        request = f"fit {name}"
        found[request] = []
        for python in pythons:
            worker = Worker(python, path, n_jobs)
            found[request].append(worker.ask(request))
            worker.close()
    workers = [Worker(python, path, n_jobs) for python in pythons]
    for request in [*found, *(f"score {name}" for name in SCORED)]:
        best = found.setdefault(request, [{"wall": np.inf, "cpu": np.inf} for _ in workers])
        for _ in range(repetitions):
            for of_version, worker in zip(best, workers, strict=True):
                took = worker.ask(request)
                of_version.update({key: min(of_version[key], took[key]) for key in ("wall", "cpu")})
    for worker in workers:
        worker.close()
    return [worker.version for worker in workers], found


def figures_of(n_rows: int, n_jobs: int, found: dict[str, list[Best]]) -> list[Figure]:
    """Ratios of new to old."""
    clock = "cpu" if n_jobs == 1 else "wall"
    threads = f"{n_jobs} thread{'s' if n_jobs > 1 else ''}"
    figures = []
    for request, (old, new) in found.items():
        verb, _, name = request.partition(" ")
        figures.append(
            Figure(f"{name}, {verb}, {n_rows:,} x 20, {threads}: time over the other version's",
                   new[clock] / old[clock], target=SLOWER_AT_MOST)
        )  # fmt: skip
        if verb == "fit" and n_jobs == 1:
            figures.append(
                Figure(f"{name}, fit, {n_rows:,} x 20: peak memory over the other version's",
                       new["bytes"] / old["bytes"], target=SLOWER_AT_MOST)
            )  # fmt: skip
    return figures


def details_of(n_rows: int, n_jobs: int, found: dict[str, list[Best]]) -> list[list[str]]:
    """Rows of the table with seconds, megabytes and AUC."""
    clock = "cpu" if n_jobs == 1 else "wall"
    rows = []
    for request, both in found.items():
        cells = [request, f"{n_rows:,}", str(n_jobs)]
        cells += [f"{of_version[clock]:.3f}" for of_version in both]
        for key, unit in (("bytes", 1e6), ("auc", 1)):
            digits = 0 if key == "bytes" else 4
            cells += [f"{x[key] / unit:,.{digits}f}" if key in x else "" for x in both]
        rows.append(cells)
    return rows


def run(quick: bool) -> None:
    """Measure and publish."""
    other = os.environ.get("TREERANK_OTHER")
    if not other:
        print(
            "versions: left out. Set TREERANK_OTHER to the Python of an environment in which "
            "another version of treerank-ml is installed."
        )
        return
    facts = machine()
    figures: list[Figure] = []
    rows: list[list[str]] = []
    names: list[str] = []
    for n_rows, repetitions in (QUICK_SIZES if quick else SIZES).items():
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/rows.npz"
            X, y = make_data(n_rows)
            np.savez(path, X=X, y=y)
            for n_jobs in (1, 2):
                names, found = measure([other, sys.executable], path, n_jobs, repetitions)
                figures += figures_of(n_rows, n_jobs, found)
                rows += details_of(n_rows, n_jobs, found)
                print(figure_table(figures), flush=True)
    old, new = names
    header = ["request", "rows", "threads"]
    header += [f"{what}, {name}" for what in ("seconds", "MB", "AUC") for name in (old, new)]
    page = PAGE.format(
        machine=describe(facts, "TREERANK_OTHER=… python -m benchmarks versions"),
        old=old, verdict=targets_met(figures), table=figure_table(figures),
        details=markdown_table(header, rows, "lrrrrrrrr"),
    )  # fmt: skip
    if quick:
        print(page)
    else:
        publish("versions", page, figures, {"machine": facts})
