"""How fast the linear rivals learn: RankSVM and RankRLS, all pairs of many rows."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_limits

from benchmarks.common import (
    Figure,
    best_times,
    describe,
    figure_table,
    machine,
    markdown_table,
    publish,
    targets_met,
)
from treerank.baselines import RankRLS, RankSVM

N_ROWS, N_FEATURES, N_THREADS, MOST_SECONDS = 200_000, 20, 2, 20
RIVALS = {"RankSVM": RankSVM, "RankRLS": RankRLS}


def make_tables(n: int) -> dict[str, tuple[Any, Any]]:
    """Features by kind of label: overlapping classes with redundant features, and five grades."""
    X, two = make_classification(
        n, N_FEATURES, n_informative=10, n_redundant=4, n_clusters_per_class=6, class_sep=0.7,
        flip_y=0.1, random_state=0,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    score = X[:, :5].sum(axis=1) + 3 * rng.normal(size=n)
    five = np.digitize(score, np.quantile(score, [0.2, 0.4, 0.6, 0.8]))
    return {"two classes": (X, two), "five ordered classes": (X, five)}


def measure(quick: bool) -> dict[str, dict[str, float]]:
    """Seconds on two threads, and how they grow from half of the rows."""
    n = N_ROWS // 20 if quick else N_ROWS
    results = {}
    for kind, (X, y) in make_tables(n).items():
        for name, make in RIVALS.items():
            calls = {
                "all": partial(make().fit, X, y),
                "half": partial(make().fit, X[: n // 2], y[: n // 2]),
            }
            with threadpool_limits(N_THREADS):
                times = best_times(calls, 3)
            results[f"{name}, {kind}"] = {
                "wall": times["all"].wall, "cpu": times["all"].cpu,
                "growth": times["all"].cpu / times["half"].cpu,
            }  # fmt: skip
    return results


PAGE = """# How fast are the linear baselines?

`RankSVM()` and `RankRLS()` of [treerank.baselines](../reference.md) minimise a loss over all pairs
of rows with different labels, {pairs:.0e} pairs for two classes here, without forming any of them.
How long does a fit take? {summary}

{machine}

{targets}

## How it was measured

{rows:,} rows of {features} features, default parameters, two threads for the linear algebra, the
fastest of three fits. "Growth" is the processor time divided by that for half as many rows: forming
the pairs would give 4.

{table}
"""


def run(quick: bool) -> None:
    """Measure, print, and unless `quick` write the page."""
    facts = machine()
    results = measure(quick)
    figures = [
        Figure(f"{name}: fit", found["wall"], "s", MOST_SECONDS) for name, found in results.items()
    ]
    rows = [
        [name, f"{found['wall']:.2f}", f"{found['cpu']:.2f}", f"{found['growth']:.1f}"]
        for name, found in results.items()
    ]
    header = ["baseline", "seconds", "processor seconds", "growth"]
    page = PAGE.format(
        machine=describe(facts, "python -m benchmarks rivals"), rows=N_ROWS, features=N_FEATURES,
        pairs=(N_ROWS / 2) ** 2, targets=figure_table(figures), summary=targets_met(figures),
        table=markdown_table(header, rows, "lrrr"),
    )  # fmt: skip
    print(page)
    if not quick:
        publish("rivals", page, figures, {"machine": facts, "seconds": results})
