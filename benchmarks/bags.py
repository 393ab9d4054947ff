"""What boosting gains by averaging several models, and what that costs."""

import os
import time
import warnings
from collections.abc import Callable
from functools import partial
from statistics import mean, stdev
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import roc_auc_score

from benchmarks.common import (
    Figure,
    describe,
    figure_table,
    fingerprint,
    machine,
    markdown_table,
    publish,
    remember,
)
from benchmarks.many_levels_sets import SETS as MANY_LEVELS
from benchmarks.many_levels_sets import load_many_levels
from benchmarks.noisy_sets import NAMES, load_noisy
from treerank import BoostedTreeRank

SIZES = (2_000, 10_000, 20_000)
BAGS = (1, 5, 10, 20)
USUAL = 10
LEAST_SHARE = 0.6  # of a size, that a table must have for training
LARGEST_TEST = 20_000
SEED = 32_609

Found = dict[int, dict[str, float]]  # number of bags -> measures
T = TypeVar("T")


def load(name: str) -> tuple[Any, Any]:
    """Table by name."""
    return load_noisy(name) if name in NAMES else load_many_levels(name)


def evaluate(n_bags: int, X: Any, y: Any, train: Any, test: Any) -> dict[str, float]:
    """AUC on other rows, and processor seconds of fit and scoring."""
    start = time.process_time()
    model = BoostedTreeRank(n_bags=n_bags).fit(X.iloc[train], y[train])
    fitted = time.process_time()
    scores = model.score_samples(X.iloc[test])
    seconds = {"fit": fitted - start, "score": time.process_time() - fitted}
    return {"auc": float(roc_auc_score(y[test], scores)), **seconds}


def divide(y: Any, size: int, seed: int) -> tuple[Any, Any] | None:
    """Rows to learn from and to judge by; None if there are too few."""
    mixed = np.random.RandomState([seed, size]).permutation(len(y))
    n_train = min(size, int(0.7 * len(y)))
    if n_train < LEAST_SHARE * size:
        return None
    return mixed[:n_train], mixed[n_train:][:LARGEST_TEST]


def measure(name: str, size: int) -> Found | None:
    """All numbers of bags on one table; None if it has too few rows."""
    X, y = load(name)
    divided = divide(y, size, SEED)
    if divided is None:
        return None
    return {
        n_bags: remember(
            f"bags-{name}-{size}-{n_bags}-{fingerprint()}",
            partial(evaluate, n_bags, X, y, *divided),
        )
        for n_bags in BAGS
    }


def measure_all(
    measure: Callable[[str, int], T | None], names: list[str], size: int
) -> dict[str, T]:
    """Measure all tables that have enough rows, each on one thread."""

    def alone(name: str) -> T | None:
        os.environ["OMP_NUM_THREADS"] = "1"
        warnings.simplefilter("ignore")
        return measure(name, size)

    found = Parallel(n_jobs=-1)(delayed(alone)(name) for name in names)
    return {name: of for name, of in zip(names, found, strict=True) if of is not None}


def measure_kinds(measure: Callable[[str, int], T | None], quick: bool) -> dict[str, dict[str, T]]:
    """Measure noisy tables and tables with many levels, by size; `quick`: a few of the smallest."""
    kinds = {"noisy tables": NAMES, "many levels": list(MANY_LEVELS)}
    return {
        f"{kind}, {size:,} rows": measure_all(measure, names[: 8 if quick else None], size)
        for kind, names in kinds.items()
        for size in (SIZES[:1] if quick else SIZES)
    }


def sections(results: dict[str, dict[str, T]], table_of: Callable[[dict[str, T]], str]) -> str:
    """A section of the page for each kind and size."""
    return "\n\n".join(
        f"## {title[0].upper()}{title[1:]}\n\n{len(found)} tables.\n\n{table_of(found)}"
        for title, found in results.items()
    )


def gains(found: dict[str, Found], n_bags: int) -> list[float]:
    """AUC above that of one model, table by table."""
    return [of[n_bags]["auc"] - of[1]["auc"] for of in found.values()]


def table_of(found: dict[str, Found]) -> str:
    """Means over the tables, by number of bags."""
    rows = []
    for n_bags in BAGS:
        gain = gains(found, n_bags)
        error = stdev(gain) / len(gain) ** 0.5
        rows.append(
            [
                str(n_bags), f"{mean(of[n_bags]['auc'] for of in found.values()):.4f}",
                "" if n_bags == 1 else f"{mean(gain):+.4f} ± {error:.4f}",
                "" if n_bags == 1 else f"{sum(g > 0 for g in gain)} : {sum(g < 0 for g in gain)}",
                "" if n_bags == 1 else f"{min(gain):+.4f}",
                *(f"{mean(of[n_bags][what] for of in found.values()):.3f}"
                  for what in ("fit", "score")),
            ]
        )  # fmt: skip
    head = ["bags", "AUC", "over one model", "won : lost", "lowest", "fit, seconds",
            "scores, seconds"]  # fmt: skip
    return markdown_table(head, rows, "rrrrrrr")


def judge(results: dict[str, dict[str, Found]]) -> list[Figure]:
    """Gain of the default over one model."""
    return [
        Figure(
            f"{title}: mean AUC of {USUAL} bags minus that of one model",
            mean(gains(found, USUAL)),
            target=0.0,
            bound="at least",
        )
        for title, found in results.items()
    ]


PAGE = """# Bags of boosting

With two classes and fewer than 50,000 rows, `BoostedTreeRank()` averages {usual} models
([how](../guide/boosting.md)). How much do bags gain, and how long do they take? On noisy tables
from R packages, and on the tables with [text columns of many levels](many_levels.md), whose levels
each bag puts in order by other folds. One draw of each table that has enough rows, with up to
{test:,} other rows for testing; one thread, processor seconds. ± is the standard error over the
tables. A fit includes the choice of the trees, which is the same for any number of bags.

The number was chosen on another draw of the noisy tables, and on the tables with many levels, so
that the gains on the latter are slightly too good.

{figures}

{parts}

{machine}
"""


def run(quick: bool) -> None:
    """Measure, print, and unless `quick` write the page."""
    facts = machine()
    results = measure_kinds(measure, quick)
    figures = judge(results)
    page = PAGE.format(
        usual=USUAL, test=LARGEST_TEST, figures=figure_table(figures),
        parts=sections(results, table_of), machine=describe(facts, "python -m benchmarks bags"),
    )  # fmt: skip
    print(page)
    if not quick:
        publish("bags", page, figures, {"machine": facts, "results": results})
