"""What a forest gains by several codings of its categories, and how honest it is out of bag."""

from functools import partial
from statistics import mean, stdev
from typing import Any
from unittest.mock import patch

from sklearn.metrics import roc_auc_score

from benchmarks.bags import divide, load, measure_all, sections
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
from benchmarks.many_levels_sets import SETS
from treerank import RankingForest
from treerank._plans.forest import N_CODINGS

SIZES = (2_000, 10_000)
DRAWS = (41_201, 41_202, 41_203)
# Number of codings, and of the folds of each. The first was the default of earlier versions.
KINDS = ((1, 5), (N_CODINGS, 5), (N_CODINGS, 3), (N_CODINGS, 2))
FORMER, USUAL = KINDS[0], KINDS[2]

Found = dict[str, dict[str, float]]  # kind -> measures


def name_of(kind: tuple[int, int]) -> str:
    """A kind in words."""
    n_codings, n_folds = kind
    return f"{n_codings} coding{'' if n_codings == 1 else 's'}, {n_folds} folds"


def evaluate(kind: tuple[int, int], X: Any, y: Any, train: Any, test: Any) -> dict[str, float]:
    """AUC on other rows, and by how much the out-of-bag AUC is higher.

    Neither number of the kind is a parameter of the forest, so both are put in its place.
    """
    with (
        patch("treerank._forest.plan_codings", lambda *_: kind[0]),
        patch("treerank._binning.category_statistics.n_folds_for", lambda _: kind[1]),
    ):
        model = RankingForest(oob_score=True).fit(X.iloc[train], y[train])
    auc = float(roc_auc_score(y[test], model.score_samples(X.iloc[test])))
    return {"auc": auc, "optimism": model.oob_auc_ - auc}


def measure(name: str, size: int) -> Found | None:
    """All kinds on one table, means over the draws; None if it has too few rows."""
    X, y = load(name)
    found = {}
    for kind in KINDS:
        parts = []
        for seed in DRAWS:
            divided = divide(y, size, seed)
            if divided is None:
                return None
            key = f"codings-{name}-{size}-{seed}-{kind[0]}-{kind[1]}-{fingerprint()}"
            parts.append(remember(key, partial(evaluate, kind, X, y, *divided)))
        found[name_of(kind)] = {what: mean(part[what] for part in parts) for what in parts[0]}
    return found


def gains(found: dict[str, Found], kind: tuple[int, int]) -> list[float]:
    """AUC above that of one coding, table by table."""
    return [of[name_of(kind)]["auc"] - of[name_of(FORMER)]["auc"] for of in found.values()]


def with_error(values: list[float]) -> str:
    """Mean, and its standard error over the tables."""
    return f"{mean(values):+.4f} ± {stdev(values) / len(values) ** 0.5:.4f}"


def table_of(found: dict[str, Found]) -> str:
    """Means over the tables, by kind."""
    rows = []
    for kind in KINDS:
        name, gain = name_of(kind), gains(found, kind)
        own = kind == FORMER
        rows.append(
            [
                f"**{name}**" if kind == USUAL else name,
                f"{mean(of[name]['auc'] for of in found.values()):.4f}",
                "" if own else with_error(gain),
                "" if own else f"{sum(g > 0 for g in gain)} : {sum(g < 0 for g in gain)}",
                with_error([of[name]["optimism"] for of in found.values()]),
            ]
        )
    head = ["", "AUC", "over one coding", "won : lost", "out-of-bag AUC above it by"]
    return markdown_table(head, rows, "lrrrr")


def judge(results: dict[str, dict[str, Found]]) -> list[Figure]:
    """Gain of the default over one coding."""
    return [
        Figure(
            f"{title}: mean AUC with {name_of(USUAL)} minus that with {name_of(FORMER)}",
            mean(gains(found, USUAL)),
            target=0.0,
            bound="at least",
        )
        for title, found in results.items()
    ]


PAGE = """# Codings of categories in a forest

Levels of a column with more than 255 of them are put in order by the labels of their rows, and a
row is encoded by the rows of the other folds
([how](../guide/categories_and_missing.md#many-levels)). With one coding, all trees of a forest see
the same folds; below 50,000 rows, each group of eight trees now has a coding of its own. Default
forests on the [tables with many levels](many_levels.md), means over {draws} draws, up to 20,000
other rows for testing. ± is the standard error over the tables; tables that have no such column
among their training rows are neither won nor lost. Three folds were chosen on
[other tables](categories.md#several-codings) and on other draws of these.

{figures}

Out-of-bag rows are encoded in many ways, and new rows in one, so that the out-of-bag AUC can be too
high; the last column shows by how much it differs from the AUC on other rows.

{parts}

{machine}
"""


def run(quick: bool) -> None:
    """Measure, print, and unless `quick` write the page."""
    facts = machine()
    names = list(SETS)[: 2 if quick else None]
    results = {
        f"{size:,} rows": measure_all(measure, names, size)
        for size in SIZES[: 1 if quick else None]
    }
    figures = judge(results)
    page = PAGE.format(
        draws=len(DRAWS), figures=figure_table(figures), parts=sections(results, table_of),
        machine=describe(facts, "python -m benchmarks codings"),
    )  # fmt: skip
    print(page)
    if not quick:
        publish("codings", page, figures, {"machine": facts, "results": results})
