"""Attributions: seconds to explain rows, beside those of shap."""

import importlib
from typing import Any

import numpy as np

from benchmarks.common import (
    Figure,
    best_times,
    describe,
    figure_table,
    machine,
    publish,
    targets_met,
)
from treerank import BoostedTreeRank, LeafRank, RankingForest
from treerank.export import to_dict, to_matrix
from treerank.inspection import attributions

ROWS, FEATURES, TREES = 20_000, 20, 200
MERGED_ROWS, FEW = 5_000, 8  # below 10,000 rows a default forest merges cells
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


def seconds(
    what: str, model: Any, x: Any, n: int, target: float | None = None, times: int = 1,
    **options: Any,
) -> Figure:  # fmt: skip
    """Half of the processor seconds on two threads: the least of several runs.

    The threads share the rows equally, so that this is the elapsed time on an idle machine.
    """
    model.set_params(n_jobs=2)
    best = best_times({what: lambda: attributions(model, x[:n], **options)}, times)[what]
    found = attributions(model, x[:1], **options)
    note = f"{best.wall:.3g} s elapsed"
    if not found.exact:
        note += "; estimated"
    return Figure(f"{n:,} rows, {what}", best.cpu / 2, "s", target, note=note)


def deep_forest(n_trees: int) -> RankingForest:
    """Trees that are grown to the end, as a default forest has them from 50,000 rows on."""
    splitter = LeafRank(max_depth=None, min_samples_leaf=3, max_features="sqrt")
    return RankingForest(splitter, n_estimators=n_trees, max_depth=1, n_jobs=2)


def measure(quick: bool) -> list[Figure]:
    """Fit the models and explain rows."""
    n_trees = 10 if quick else TREES
    n = 200 if quick else EXPLAINED
    x, y = table(ROWS)
    against = {"baseline": x[-BASELINE:]}
    deep = deep_forest(n_trees).fit(x, y)
    figures = [
        *beside_shap(deep, x, quick),
        seconds("deep trees", deep, x, n, SECONDS, 1 if quick else 3),
        seconds(f"the same against {BASELINE} rows", deep, x, n // 20, **against),
        seconds("interactions of the same", deep, x, n // 200, interactions=True),
        seconds("boosting", BoostedTreeRank(n_trees).fit(x, y), x, n),
    ]
    default = RankingForest(n_estimators=n_trees, n_jobs=2).fit(x, y)
    narrow = RankingForest(n_estimators=n_trees, n_jobs=2).fit(
        x[:MERGED_ROWS, :FEW], y[:MERGED_ROWS]
    )
    return [
        *figures,
        seconds(f"the default forest ({default.plan_.name})", default, x, n, SECONDS),
        seconds(f"the same against {BASELINE} rows", default, x, max(n // 500, 1), **against),
        seconds(
            f"merged cells of {MERGED_ROWS:,} rows and {FEW} columns", narrow, x[:, :FEW], n // 50
        ),
    ]


PAGE = """# How long does it take to explain a score?

`treerank.inspection.attributions` divides the score of a row among the columns. The table shows how
long that takes with models of {trees} trees, beside the `shap` package. {summary}

{machine}

{figures}

## How it was measured

The models are fitted to {rows:,} rows and {features} numeric columns, and every tree contributes to
the explanation of a row. "Deep trees" are grown until no split is left, to about 2,600 leaves each.
"Merged cells" belong to ranking trees whose cells are merged and split again, which gives each tree
billions of paths; below 50,000 rows a default forest chooses between the two kinds by its
out-of-bag AUC. Without a baseline, attributions of merged trees on more than ten columns are
estimated by sampling.

The comparison with `shap` uses processor seconds on one thread. All other times are half of the
processor seconds on two threads, which is the elapsed time on an idle machine; the remarks give the
elapsed time of this run.
"""


def run(quick: bool) -> None:
    """Measure, print, and unless `quick` write the page."""
    facts = machine()
    figures = measure(quick)
    page = PAGE.format(
        trees=TREES, rows=ROWS, features=FEATURES, machine=describe(facts, COMMAND),
        figures=figure_table(figures), summary=targets_met(figures),
    )  # fmt: skip
    print(page)
    if not quick:
        publish("attributions", page, figures, {"machine": facts})
