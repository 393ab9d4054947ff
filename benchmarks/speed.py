"""How fast a tree is grown and used, as ratios within one run, against the targets."""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from benchmarks.common import (
    Figure,
    best_times,
    describe,
    figure_table,
    machine,
    publish,
    resident_bytes,
    targets_met,
)
from treerank import LeafRank, TreeRank, _core
from treerank._growth import local, trees

INSTRUCTION_SETS = ("avx512", "avx2", "base")
Data = tuple[NDArray[np.float64], NDArray[np.int64]]


def make_data(n_rows: int) -> Data:
    """Draw the 20 features that all figures are measured on."""
    X, y = make_classification(
        n_rows, 20, n_informative=10, n_redundant=4, n_clusters_per_class=6, class_sep=0.7,
        flip_y=0.1, random_state=0,
    )  # fmt: skip
    return X, y


def one_tree(**changes: Any) -> TreeRank:
    """Depth 8 with LeafRank depth 6, unpruned, one thread."""
    settings = {"pruning": None, "shrinkage": None, "n_jobs": 1} | changes
    return TreeRank(LeafRank(max_depth=6), max_depth=8, min_samples_leaf=1, **settings)


def fit(data: Data, **changes: Any) -> Callable[[], TreeRank]:
    """Return a call that fits the tree of all figures."""
    return lambda: one_tree(**changes).fit(*data)


# What needs a process of its own: an instruction set is chosen, a package imported and a peak of
# memory reached once. A job prints its answer as JSON.


def job_fit(repetitions: str, path: str) -> dict[str, Any]:
    """Time the tree on saved data; its digest tells whether the tree is the same elsewhere."""
    data = _read(path)
    seconds = best_times({"fit": fit(data)}, int(repetitions))["fit"].cpu
    tree = one_tree().fit(*data).tree_
    digest = hashlib.sha256(tree.cells.tobytes() + tree.tests.tobytes()).hexdigest()
    return {"isa": _core.instruction_set(), "seconds": seconds, "tree": digest}


def job_memory(path: str) -> dict[str, Any]:
    """Growth of the peak of resident memory during one fit, in bytes."""
    data = _read(path)
    before = resident_bytes("VmRSS")
    one_tree().fit(*data)
    return {"bytes": resident_bytes("VmHWM") - before}


JOBS: dict[str, Callable[..., dict[str, Any]]] = {"fit": job_fit, "memory": job_memory}


def start_job(name: str, *arguments: str, **environment: str) -> dict[str, Any]:
    """Run a job in a new process."""
    command = [sys.executable, "-m", "benchmarks.speed", name, *arguments]
    done = subprocess.run(
        command, env=os.environ | environment, stdout=subprocess.PIPE, text=True, check=True
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _read(path: str) -> Data:
    with np.load(path) as arrays:
        return arrays["X"], arrays["y"]


def against_cart(data: Data, folder: Path, repetitions: int) -> list[Figure]:
    """One tree beside scikit-learn's with 256 leaves, for each instruction set."""
    path = str(folder / "train.npz")
    np.savez(path, X=data[0], y=data[1])
    best: dict[str, float] = {}
    trees = set()
    cart = DecisionTreeClassifier(max_leaf_nodes=256, random_state=0)
    cart_seconds = float("inf")
    for _ in range(repetitions):
        took = best_times({"cart": lambda: cart.fit(*data)}, 1)["cart"].cpu
        cart_seconds = min(cart_seconds, took)
        for isa in INSTRUCTION_SETS:
            answer = start_job("fit", "5", path, TREERANK_ISA=isa)
            if answer["isa"] != isa:
                continue  # this machine does not have it
            best[isa] = min(best.get(isa, float("inf")), answer["seconds"])
            trees.add(answer["tree"])
    figures = []
    for isa, seconds in best.items():
        note = f"{cart_seconds:.2f} s against {seconds:.3f} s"
        if isa == _core.instruction_set():
            reached = "reached" if cart_seconds / seconds >= 40 else "not reached"
            note += f"; long-term goal of 40 {reached}"
        figures.append(
            Figure(f"one tree, {isa}: times faster than CART", cart_seconds / seconds,
                   target=20, bound="at least", note=note)
        )  # fmt: skip
    absent = [isa for isa in INSTRUCTION_SETS if isa not in best]
    note = f"not on this machine: {', '.join(absent)}" if absent else ""
    return [
        *figures,
        Figure("different trees among the instruction sets", len(trees), target=1, note=note),
    ]


def share_of_limit(data: Data, repetitions: int) -> list[Figure]:
    """(row, feature) updates of bare histograms a second, beside those that growth gets through."""
    seconds = {"growth": float("inf"), "fit": float("inf"), "bare": float("inf")}
    seen: dict[str, Any] = {}
    grow = trees.grow_trees

    def timed_grow(coded: Any, training: Any, *rest: Any) -> Any:
        seen.update(codes=coded.codes, labels=training.labels, n_codes=coded.binning.n_codes)
        start = time.process_time()
        trees = grow(coded, training, *rest)
        seconds["growth"] = min(seconds["growth"], time.process_time() - start)
        return trees

    rows, passes = np.arange(len(data[1]), dtype=np.uint32), 20
    with mock.patch.object(local, "grow_trees", timed_grow):
        for _ in range(repetitions):
            start = time.process_time()
            model = one_tree().fit(*data)
            seconds["fit"] = min(seconds["fit"], time.process_time() - start)
            start = time.process_time()
            _core.histogram(seen["codes"], seen["labels"], rows, seen["n_codes"], passes)
            seconds["bare"] = min(seconds["bare"], time.process_time() - start)
    tests = model.tree_.tests
    split = tests["left"] >= 0  # each row is counted once in each of these, for each feature
    updates = (tests["negative"] + tests["positive"])[split].sum() * data[0].shape[1]
    bare = rows.size * data[0].shape[1] * passes / seconds["bare"]
    return [
        Figure("bare histogram", bare / 1e9, "billion updates/s"),
        Figure("growth", updates / seconds["growth"] / 1e9, "billion updates/s",
               note=f"{100 * updates / seconds['growth'] / bare:.0f} % of the bare histogram"),
        Figure("fit, binning included", updates / seconds["fit"] / 1e9, "billion updates/s",
               note=f"{100 * updates / seconds['fit'] / bare:.0f} % of the bare histogram"),
    ]  # fmt: skip


def pruning_and_threads(data: Data, repetitions: int) -> list[Figure]:
    """Cost of cross-validation, and gain by a second thread."""
    seconds = best_times(
        {
            "plain": fit(data),
            "threads": fit(data, n_jobs=2),
            "pruned": fit(data, pruning="cv"),
            "shrunk": fit(data, pruning="cv", shrinkage="cv"),
            "both": fit(data, pruning="cv", shrinkage="cv", n_jobs=2),
        },
        repetitions,
    )
    plain, pruned, shrunk = seconds["plain"], seconds["pruned"], seconds["shrunk"]
    threads, both = seconds["threads"], seconds["both"]
    return [
        Figure("pruned by 5 folds, times the unpruned fit", pruned.cpu / plain.cpu, target=6,
               note=f"{pruned.cpu:.3f} s against {plain.cpu:.3f} s"),
        Figure("pruned and shrunk by 5 folds, times the unpruned fit", shrunk.cpu / plain.cpu,
               target=6, note=f"{shrunk.cpu:.3f} s"),
        Figure("two threads, unpruned: times faster", plain.wall / threads.wall,
               target=1.6, bound="at least",
               note=f"{plain.wall:.3f} s against {threads.wall:.3f} s"),
        Figure("two threads, pruned and shrunk: times faster", shrunk.wall / both.wall,
               target=1.6, bound="at least",
               note=f"{shrunk.wall:.3f} s against {both.wall:.3f} s"),
    ]  # fmt: skip


def large(data: Data, folder: Path, repetitions: int) -> list[Figure]:
    """Time and memory of all rows beside those of a tenth; scoring of all rows."""
    X, y = data
    n = len(y)
    tenth = (X[: n // 10], y[: n // 10])
    seconds = best_times({"tenth": fit(tenth), "all": fit(data)}, repetitions)
    part, whole = seconds["tenth"].cpu, seconds["all"].cpu
    model = one_tree(n_jobs=2).fit(X[: n // 5], y[: n // 5])
    use = best_times(
        {"apply": lambda: model.apply(X), "score": lambda: model.score_samples(X)},
        3 * repetitions,
    )
    path = str(folder / "large.npz")
    np.savez(path, X=X, y=y)
    extra = start_job("memory", path)["bytes"]
    allowed = X.size + 40 * n + 100e6  # one byte a code
    return [
        Figure(f"{n:,} rows, times {n // 10:,} rows", whole / part, target=12,
               note=f"{whole:.2f} s against {part:.3f} s"),
        Figure(f"peak extra memory of a fit, {n:,} rows", extra / 1e6, "MB", target=allowed / 1e6,
               note="codes + 40 bytes per row + 100 MB"),
        Figure(f"`apply`, {n:,} rows, two threads", 1e3 * use["apply"].wall, "ms",
               target=150, note=f"tree fitted to {n // 5:,} of them"),
        Figure(f"`score_samples`, {n:,} rows, two threads", 1e3 * use["score"].wall, "ms",
               target=150, note=f"tree fitted to {n // 5:,} of them"),
    ]  # fmt: skip


def small(repetitions: int) -> list[Figure]:
    """Fit of a small table, and import of the package."""
    data = load_breast_cancer(return_X_y=True)
    seconds = best_times(
        {
            "plain": lambda: TreeRank(pruning=None, shrinkage=None).fit(*data),
            "shrunk": lambda: TreeRank(pruning=None).fit(*data),
            "default": lambda: TreeRank(soft_labels=False).fit(*data),
        },
        10 * repetitions,
    )
    code = (
        "import time, sklearn.tree, sklearn.metrics; start = time.perf_counter(); "
        "from treerank import TreeRank; print(time.perf_counter() - start)"
    )
    imports = [
        float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(repetitions)
    ]
    return [
        Figure("569 x 30, neither pruned nor shrunk", 1e3 * seconds["plain"].cpu, "ms", target=15),
        Figure("569 x 30, shrunk by 5 folds", 1e3 * seconds["shrunk"].cpu, "ms", target=15,
               note="`TreeRank(pruning=None)`"),
        Figure("569 x 30, pruned and shrunk by 5 folds", 1e3 * seconds["default"].cpu, "ms",
               note="`TreeRank(soft_labels=False)`"),
        Figure("`from treerank import TreeRank`", 1e3 * min(imports), "ms", target=200,
               note="scikit-learn's trees and metrics already imported"),
    ]  # fmt: skip


PAGE = """# Speed

How fast is one ranking tree grown and applied, beside a CART tree of scikit-learn? {summary} On
{n_test:,} test rows the AUC of this unpruned tree is {auc:.4f}, that of CART {cart_auc:.4f}.

{machine}

{figures}

An update is one row counted in the histogram of one feature, at one level of a LeafRank tree.
Growth also searches splits, partitions rows and merges cells; on the other hand it gets half of
the histograms by subtraction.

## How it was measured

The rows come from `make_classification({n_all:_}, 20, n_informative=10, n_redundant=4,
n_clusters_per_class=6, class_sep=0.7, flip_y=0.1, random_state=0)`: {n_train:,} are used for
fitting, and the {n_large:,} rows come from a separate call. The tree is
`TreeRank(LeafRank(max_depth=6), max_depth=8, min_samples_leaf=1, pruning=None, shrinkage=None)`,
fitted to a NumPy array on one thread unless stated otherwise, binning included. CART is
`DecisionTreeClassifier(max_leaf_nodes=256)`. Calls that are compared take turns, and the table
shows the fastest run of each: processor seconds on one thread; elapsed seconds for two threads,
scoring and the import.
"""


def test_aucs(data: Data, test: Data) -> dict[str, float]:
    """AUC of both trees on rows that were not fitted."""
    cart = DecisionTreeClassifier(max_leaf_nodes=256, random_state=0).fit(*data)
    return {
        "auc": one_tree().fit(*data).score(*test),
        "cart_auc": float(roc_auc_score(test[1], cart.predict_proba(test[0])[:, 1])),
    }


def run(quick: bool) -> None:
    """Measure, print, and unless `quick` write the page."""
    facts = machine()
    scale, repetitions = (10, 1) if quick else (1, 3)
    n_train = 200_000 // scale
    X, y = make_data(250_000 // scale)
    data, test = (X[:n_train], y[:n_train]), (X[n_train:], y[n_train:])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures = against_cart(data, folder, repetitions)
        figures += share_of_limit(data, 3 * repetitions)
        figures += pruning_and_threads(data, 2 * repetitions)
        figures += large(make_data(1_000_000 // scale), folder, repetitions)
    figures += small(repetitions)
    page = PAGE.format(
        machine=describe(facts, "python -m benchmarks speed"), figures=figure_table(figures),
        summary=targets_met(figures),
        n_all=len(y), n_train=n_train, n_test=len(test[1]), n_large=1_000_000 // scale,
        **test_aucs(data, test),
    )  # fmt: skip
    print(page)
    if not quick:
        publish("speed", page, figures, {"machine": facts})


if __name__ == "__main__":
    print(json.dumps(JOBS[sys.argv[1]](*sys.argv[2:])))
