"""What a forest gains by choosing its plan on out-of-bag rows, and what the choice costs."""

import time
from collections.abc import Callable
from functools import partial
from statistics import mean
from typing import Any

import numpy as np
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
from benchmarks.noisy_sets import SETS, load_noisy
from treerank import LeafRank, RankingForest

SIZES = (10_000, 20_000)
LARGEST_TEST = 20_000
SEED = 15_487
CHOSEN = "chosen by out-of-bag rows"
MERGED = "merged cells, a square root of the features"
DEEP = "deep trees, a square root of the features"
MOST = "deep trees, 0.8 of the features, half of them with random cuts"
HALF = "merged cells, half of the features"


def planned(share: Any = "auto", **splitter: Any) -> RankingForest:
    """Forest of a given plan, which then chooses nothing."""
    return RankingForest(LeafRank(**splitter), random_cut_share=share)


def models(size: int) -> dict[str, Callable[[], RankingForest]]:
    """The default forest and its plans, the usual one first."""
    usual = {
        MERGED: partial(planned, max_depth=3, min_samples_leaf=3, max_features="sqrt"),
        DEEP: partial(planned, max_depth=None, min_samples_leaf=3, max_features="sqrt"),
    }
    name = MERGED if size < SIZES[1] else DEEP
    return {
        name: usual[name],
        MOST: partial(planned, 0.5, max_depth=None, min_samples_leaf=1, max_features=0.8),
        HALF: partial(planned, max_depth=3, min_samples_leaf=3, max_features=0.5),
        CHOSEN: RankingForest,
    }


def evaluate(make: Callable[[], RankingForest], X: Any, y: Any, size: int) -> dict[str, Any]:
    """AUC on other rows, the plan, and the least processor seconds of two fits."""
    mixed = np.random.RandomState([SEED, size]).permutation(len(y))
    train, test = mixed[:size], mixed[size:][:LARGEST_TEST]
    seconds = []
    for _ in range(2):
        start = time.process_time()
        model = make().fit(X.iloc[train], y[train])
        seconds.append(time.process_time() - start)
    auc = roc_auc_score(y[test], model.score_samples(X.iloc[test]))
    return {"auc": float(auc), "fit": min(seconds), "plan": model.plan_.name}


Measured = dict[str, dict[str, dict[str, Any]]]  # set -> model -> measures


def measure(size: int, quick: bool) -> Measured:
    """All plans on the tables that have enough rows."""
    results: Measured = {}
    for name in list(SETS)[: 8 if quick else None]:
        X, y = load_noisy(name)
        if len(y) < 1.3 * size:
            continue
        results[name] = {
            model: remember(
                f"plan-race-{size}-{name}-{model.replace(' ', '_')}-{fingerprint()}",
                partial(evaluate, make, X, y, size),
            )
            for model, make in models(size).items()
        }
        print(name, {model: round(of["auc"], 4) for model, of in results[name].items()}, flush=True)
    return results


def judge(size: int, results: Measured) -> list[Figure]:
    """Gain over the usual plan, and time over that of the plan that was chosen."""
    usual = next(iter(models(size)))
    gains = [found[CHOSEN]["auc"] - found[usual]["auc"] for found in results.values()]
    best = [
        max(found[plan]["auc"] for plan in found if plan != CHOSEN) - found[CHOSEN]["auc"]
        for found in results.values()
    ]
    times = [
        found[CHOSEN]["fit"] / found[found[CHOSEN]["plan"]]["fit"] for found in results.values()
    ]
    note = f"{sum(g > 0 for g in gains)} of {len(gains)} tables better, lowest {min(gains):+.4f}"
    rows = f"{size:,} rows"
    return [
        Figure(f"{rows}: mean AUC minus that of the usual plan", mean(gains), target=0.0,
               bound="at least", note=note),
        Figure(f"{rows}: mean AUC below the best plan of each table", mean(best)),
        Figure(f"{rows}: fit, times that of the chosen plan alone", mean(times), target=1.4,
               note=f"at most {max(times):.2f}"),
    ]  # fmt: skip


def table(size: int, results: Measured) -> str:
    """AUC of each plan, table by table; the chosen one in bold."""
    plans = [model for model in models(size) if model != CHOSEN]
    rows = [
        [name, *[f"**{found[p]['auc']:.4f}**" if p == found[CHOSEN]["plan"]
                 else f"{found[p]['auc']:.4f}" for p in plans]]
        for name, found in results.items()
    ]  # fmt: skip
    rows.append(["mean", *[f"{mean(f[p]['auc'] for f in results.values()):.4f}" for p in plans]])
    return markdown_table(["table", *plans], rows, "l" + "r" * len(plans))


PAGE = """# The plan of a forest

From 10,000 rows on, `RankingForest()` compares three kinds of trees by their out-of-bag AUC, and
grows the best ([how](../guide/forests.md)). How much does it gain, and how long does it take? On
the noisy tables from R packages that have enough rows, with up to {test:,} others for testing; one
draw, one thread, processor seconds.

{figures}

AUC of each plan; the plan that was chosen is in bold.

{tables}

{machine}
"""


def run(quick: bool) -> None:
    """Measure, print, and unless `quick` write the page."""
    facts = machine()
    results = {size: measure(size, quick) for size in (SIZES[:1] if quick else SIZES)}
    figures = [figure for size, found in results.items() for figure in judge(size, found)]
    tables = "\n\n".join(
        f"## {size:,} training rows\n\n{table(size, found)}" for size, found in results.items()
    )
    page = PAGE.format(
        test=LARGEST_TEST, figures=figure_table(figures), tables=tables,
        machine=describe(facts, "python -m benchmarks plan_race"),
    )  # fmt: skip
    print(page)
    if not quick:
        publish("plan_race", page, figures, {"machine": facts, "results": results})
