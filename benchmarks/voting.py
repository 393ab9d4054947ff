"""Whether the mean of forest and boosting ranks better than either of them."""

import time
from functools import partial
from statistics import mean, stdev
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.bags import LARGEST_TEST, divide, load, measure_kinds, sections
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
from treerank import BoostedTreeRank, RankingForest

FOREST, BOOSTING, BOTH = "`RankingForest`", "`BoostedTreeRank`", "both, soft voting"
MODELS = {FOREST: RankingForest, BOOSTING: BoostedTreeRank}
SEED = 86_243

Found = dict[str, dict[str, float]]  # model -> measures


def evaluate(X: Any, y: Any, train: Any, test: Any) -> Found:
    """AUC on other rows and processor seconds of each model, and of the mean probability.

    The latter is what scikit-learn's VotingClassifier returns with voting="soft".
    """
    found, shares = {}, []
    for name, make in MODELS.items():
        start = time.process_time()
        model = make().fit(X.iloc[train], y[train])
        shares.append(model.predict_proba(X.iloc[test])[:, 1])
        seconds = time.process_time() - start
        found[name] = {"auc": float(roc_auc_score(y[test], shares[-1])), "seconds": seconds}
    found[BOTH] = {
        "auc": float(roc_auc_score(y[test], np.mean(shares, axis=0))),
        "seconds": sum(of["seconds"] for of in found.values()),
    }
    return found


def measure(name: str, size: int) -> Found | None:
    """Both models and their mean on one table; None if it has too few rows."""
    X, y = load(name)
    divided = divide(y, size, SEED)
    if divided is None:
        return None
    key = f"voting-{name}-{size}-{fingerprint()}"
    found: Found = remember(key, partial(evaluate, X, y, *divided))
    return found


def gains(found: dict[str, Found], over: str) -> list[float]:
    """AUC of the mean above that of a model, table by table."""
    return [of[BOTH]["auc"] - of[over]["auc"] for of in found.values()]


def table_of(found: dict[str, Found]) -> str:
    """Means over the tables, by model."""
    rows = []
    for name in (FOREST, BOOSTING, BOTH):
        gain = gains(found, name)
        own = name == BOTH
        rows.append(
            [
                name, f"{mean(of[name]['auc'] for of in found.values()):.4f}",
                "" if own else f"{mean(gain):+.4f} ± {stdev(gain) / len(gain) ** 0.5:.4f}",
                "" if own else f"{sum(g > 0 for g in gain)} : {sum(g < 0 for g in gain)}",
                "" if own else f"{min(gain):+.4f}",
                f"{mean(of[name]['seconds'] for of in found.values()):.2f}",
            ]
        )  # fmt: skip
    head = ["model", "AUC", "gain of both", "won : lost", "lowest", "seconds"]
    return markdown_table(head, rows, "lrrrrr")


def judge(results: dict[str, dict[str, Found]]) -> list[Figure]:
    """Gain of the mean over the model that is better on average."""
    figures = []
    for title, found in results.items():
        better = min((FOREST, BOOSTING), key=lambda name: mean(gains(found, name)))
        figures.append(
            Figure(
                f"{title}: mean AUC of both minus that of {better}",
                mean(gains(found, better)),
                target=0.0,
                bound="at least",
            )
        )
    return figures


PAGE = """# Forest and boosting together

Is the mean of a forest and of boosting better than either? Noisy tables from R packages, and the
tables with [text columns of many levels](many_levels.md); one draw of each table that has enough
rows, up to {test:,} other rows for testing, all models with their defaults. The probabilities of
both are averaged, as scikit-learn's `VotingClassifier` does with `voting="soft"`
([how](../guide/which_model.md#both-together)). Seconds are processor seconds of fit and scoring on
one thread; ± is the standard error over the tables.

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
        test=LARGEST_TEST, figures=figure_table(figures), parts=sections(results, table_of),
        machine=describe(facts, "python -m benchmarks voting"),
    )  # fmt: skip
    print(page)
    if not quick:
        publish("voting", page, figures, {"machine": facts, "results": results})
