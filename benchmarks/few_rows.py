"""How well the defaults rank with few rows to learn from."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from benchmarks import quality_tables as tables
from benchmarks.bags import measure_all
from benchmarks.common import (
    Figure,
    describe,
    figure_table,
    fingerprint,
    machine,
    publish,
    remember,
)
from benchmarks.judging import MODELS as JUDGED
from benchmarks.judging import evaluate
from benchmarks.quality_tables import OURS, Results
from benchmarks.real_sets import one_hot
from benchmarks.soft_labels import load_two_classes, names_of_two_classes
from benchmarks.tuned_rivals import BY_OOB, CATBOOST

SIZES = (60, 100, 200, 500)
LEAST_OF_CLASS = 5  # rows of each class to learn from
LARGEST_TEST = 5_000
SEED = 15_013

LOGISTIC = "logistic regression"
MODELS: dict[str, Callable[[], Any]] = {
    **{name: JUDGED[name] for name in (*OURS, BY_OOB, "LightGBM", CATBOOST)},
    LOGISTIC: lambda: one_hot(
        LogisticRegression(max_iter=1_000), SimpleImputer(strategy="median"), StandardScaler()
    ),
}

Found = dict[str, dict[str, float]]  # model -> measures


def measure(name: str, size: int) -> Found | None:
    """All models on one draw of a table; None if it has too few rows of a class."""
    X, y = load_two_classes(name)
    X = X.set_axis([f"x{j}" for j in range(X.shape[1])], axis=1)  # LightGBM refuses some names
    mixed = np.random.RandomState([SEED, size]).permutation(len(y))
    train, test = mixed[:size], mixed[size:][:LARGEST_TEST]
    rarest = min(np.bincount(y[some], minlength=2).min() for some in (train, test))
    if len(test) < size or rarest < LEAST_OF_CLASS:
        return None
    found = {}
    for model, make in MODELS.items():
        key = f"few_rows-{SEED}-{size}-{name}-{model.replace(' ', '_')}"
        key += f"-{fingerprint()}" if model in OURS else ""
        found[model] = remember(key, partial(evaluate, make, X, y, train, test))
    return found


def judge(results: dict[int, Results]) -> list[Figure]:
    """Lead of forest and boosting over the best of the others."""
    figures = []
    for size, found in results.items():
        means = tables.means(found, "auc")
        best = max((model for model in means if model not in OURS), key=lambda model: means[model])
        figures += [
            Figure(
                f"{size} rows: {own}, mean AUC minus {best}",
                means[own] - means[best],
                target=0.0,
                bound="at least",
                note=f"{means[own]:.4f} against {means[best]:.4f}",
            )
            for own in ("RankingForest", "BoostedTreeRank")
        ]
    return figures


PAGE = """# Few rows

How well do the defaults rank with 60 to 500 rows to learn from, as in many medical studies? Tables
with two classes from R packages, and the data sets of the [quality page](quality.md); one draw of
each table, with at least {least} rows of each class, and up to {test:,} other rows for testing.
Some defaults were chosen on other draws of these tables: which trees of few rows are kept, and how
many and how large trees boosting grows with fewer than 50 rows of a class.

{figures}

Logistic regression sees numbers on a standard scale, medians in place of missing values and a
column for each level. RandomForest is the best of five leaf sizes by its out-of-bag AUC; LightGBM
and CatBoost have their defaults. All run on one thread; seconds are processor seconds.

{parts}

{machine}
"""

PART = """## {size} training rows

{n} tables. An average rank of 1 is the best; models closer than {critical:.1f} do not differ
significantly (Nemenyi, 95 %).

{summary}

Wins and losses by AUC, table by table, and the mean lead:

{duels}"""


def run(quick: bool) -> None:
    """Measure, print, and unless `quick` write the page."""
    facts = machine()
    names = names_of_two_classes()[: 6 if quick else None]
    results: dict[int, Results] = {
        size: measure_all(measure, names, size) for size in (SIZES[:1] if quick else SIZES)
    }
    parts = [
        PART.format(
            size=size, n=len(found), critical=tables.critical(found),
            summary=tables.summary(found, ["auc"]), duels=tables.duels(found, "auc"),
        )
        for size, found in results.items()
    ]  # fmt: skip
    figures = judge(results)
    page = PAGE.format(
        least=LEAST_OF_CLASS, test=LARGEST_TEST, figures=figure_table(figures),
        parts="\n\n".join(parts), machine=describe(facts, "python -m benchmarks few_rows"),
    )  # fmt: skip
    print(page)
    if not quick:
        publish("few_rows", page, figures, {"machine": facts, "results": results})
