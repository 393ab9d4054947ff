"""Attributions: seconds to explain rows, beside those of shap."""

import importlib
import time
from typing import Any

import numpy as np

from benchmarks.common import Figure, best_times, describe, figure_table, machine, publish
from treerank import BoostedTreeRank, RankingForest
from treerank.export import to_dict, to_matrix
from treerank.inspection import attributions

ROWS, FEATURES, TREES = 20_000, 20, 200
MERGED_ROWS = 5_000  # below 20,000 rows a default forest merges cells
EXPLAINED = 10_000
BESIDE_SHAP = 1_024  # rows that are explained here, ...
SHAP_ROWS = 8  # ... and by shap, which takes its time
BASELINE = 64
TIMES_SHAP = 50
SECONDS = 10
COMMAND = "python -m benchmarks attributions"


def table(n_rows: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Rows of numbers whose label depends on half of them."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n_rows, FEATURES))
    risk = x[:, :8].sum(axis=1) / 2 + x[:, 8] * x[:, 9] + 2 * rng.normal(size=n_rows)
    return x, (risk > 0).astype(int)


def beside_shap(forest: RankingForest, x: Any, quick: bool) -> list[Figure]:
    """One thread, processor seconds a row, on the same trees."""
    rows = to_matrix(forest, x[:SHAP_ROWS])
    forest.set_params(n_jobs=1)
    n_ours = 64 if quick else BESIDE_SHAP
    calls = {"ours": lambda: attributions(forest, x[:n_ours])}
    try:
        shap = importlib.import_module("shap")
        explainer = shap.TreeExplainer(to_dict(forest, x, max_nodes=10_000_000))
        calls["shap"] = lambda: explainer.shap_values(rows, check_additivity=False)
    except ImportError:
        print("shap is not installed: its time is left out")
    took = best_times(calls, 1 if quick else 3)
    ours = took["ours"].cpu / n_ours * 1000
    figures = [Figure("a row, one thread", ours, "ms")]
    if "shap" in took:
        theirs = took["shap"].cpu / SHAP_ROWS * 1000
        note = f"shap {shap.__version__}, the same trees"
        figures += [
            Figure("a row, shap", theirs, "ms", note=note),
            Figure("times faster than shap", theirs / ours, "", TIMES_SHAP, "at least"),
        ]
    return figures


def seconds(what: str, model: Any, x: Any, n: int, target: float | None = None, **options: Any):
    """Wall seconds of explaining so many rows on two threads."""
    model.set_params(n_jobs=2)
    wall, cpu = time.perf_counter(), time.process_time()
    found = attributions(model, x[:n], **options)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    note = f"{cpu:.3g} processor seconds"
    if not found.exact:
        note += "; trees with more than 20,000 paths are estimated"
    return Figure(f"{n:,} rows, {what}", wall, "s", target, note=note)


def measure(quick: bool) -> list[Figure]:
    """Fit the models and explain rows."""
    n_trees = 10 if quick else TREES
    n = 200 if quick else EXPLAINED
    x, y = table(ROWS)
    forest = RankingForest(n_estimators=n_trees, n_jobs=2).fit(x, y)
    figures = [
        *beside_shap(forest, x, quick),
        seconds("a forest of 20,000 rows", forest, x, n, SECONDS),
        seconds(f"the same against {BASELINE} rows", forest, x, n // 20, baseline=x[-BASELINE:]),
        seconds("interactions of the same", forest, x, n // 200, interactions=True),
        seconds("boosting", BoostedTreeRank(n_trees).fit(x, y), x, n),
    ]
    merged = RankingForest(n_estimators=n_trees, n_jobs=2).fit(x[:MERGED_ROWS], y[:MERGED_ROWS])
    what = f"a forest of {MERGED_ROWS:,} rows, whose cells are merged"
    return [
        *figures,
        seconds(what, merged, x, n // 100),
        seconds(f"the same against {BASELINE} rows", merged, x, n // 200, baseline=x[-BASELINE:]),
    ]


PAGE = """# Why this score: the time it takes

Attributions of default models of {trees} trees, fitted to a table of {features} numbers. A row is
explained by all trees; forests of 20,000 rows and more have some 4,500 slots a tree. Processor
seconds on one thread beside shap, wall seconds on two threads below; where others use the machine,
half of the processor seconds say more.

{machine}

{figures}
"""


def run(quick: bool) -> None:
    """Measure, print, and unless `quick` write the page."""
    facts = machine()
    figures = measure(quick)
    page = PAGE.format(
        trees=TREES, features=FEATURES, machine=describe(facts, COMMAND),
        figures=figure_table(figures),
    )  # fmt: skip
    print(page)
    if not quick:
        publish("attributions", page, figures, {"machine": facts})
