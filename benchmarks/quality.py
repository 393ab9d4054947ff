"""How well we rank beside what people use, with defaults and tuned, on all real sets."""

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from textwrap import fill
from typing import Any

import numpy as np
from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

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
from benchmarks.quality_tables import OURS, Results
from benchmarks.real_sets import load_rows, one_hot, sets
from benchmarks.tuned_rivals import (
    BY_OOB,
    CATBOOST,
    N_TREES,
    TUNED,
    TUNED_XGBOOST,
    CatBoost,
    OutOfBagForest,
    make_lightgbm,
    make_xgboost,
    tuned_lightgbm,
    tuned_xgboost,
)
from treerank import BoostedTreeRank, RankingForest, TreeRank
from treerank.metrics import local_auc_score, ordinal_vus_score

# Rows of a set at most. Of the larger sizes only the sets that have more rows than the size before.
SIZES = (2_000, 20_000, 100_000)
MAX_ROWS = SIZES[0]
N_FOLDS = 3
# Neither rows nor folds are those on which our defaults were chosen.
SEED = 7_919
# A grade with a smaller share of the rows is joined to its neighbour: folds need some of each.
LEAST_GRADE = 0.05
EBM = "EBM"
EBM_SETTINGS = {"n_jobs": 1, "random_state": SEED}
# EBM takes minutes where there are many columns, and little is learned from its one fold of a small
# table.
LEAST_ROWS = 1_000
TOO_SLOW = {"mq2008"}
LEFT_OUT: dict[int, tuple[str, ...]] = {
    SIZES[0]: (),
    SIZES[1]: (EBM,),
    SIZES[2]: (EBM, CATBOOST, TUNED, TUNED_XGBOOST, BY_OOB, "RandomForest", "ExtraTrees",
               "logistic regression"),
}  # fmt: skip
VERSIONS = ("lightgbm", "xgboost", "catboost", "interpret-core")
RATES = {"local_auc_5": 0.05, "local_auc_10": 0.1, "local_auc_20": 0.2}


def logistic_regression() -> Any:
    """Logistic regression on scaled columns, medians and a flag in the place of missing numbers."""
    fill = SimpleImputer(strategy="median", add_indicator=True)
    return one_hot(LogisticRegression(max_iter=1_000), StandardScaler(), numbers=fill)


RIVALS: dict[str, Callable[[], Any]] = {
    "RandomForest": lambda: one_hot(RandomForestClassifier(N_TREES, random_state=SEED)),
    "ExtraTrees": lambda: one_hot(ExtraTreesClassifier(N_TREES, random_state=SEED)),
    "HistGradientBoosting": lambda: HistGradientBoostingClassifier(random_state=SEED),
    "LightGBM": partial(make_lightgbm, SEED),
    "XGBoost": partial(make_xgboost, SEED),
    CATBOOST: partial(CatBoost, SEED),
    EBM: lambda: ExplainableBoostingClassifier(**EBM_SETTINGS),
    "logistic regression": logistic_regression,
}
# For two classes alone: they choose their settings by the AUC.
TUNED_RIVALS: dict[str, Callable[[], Any]] = {
    TUNED: partial(tuned_lightgbm, SEED),
    TUNED_XGBOOST: partial(tuned_xgboost, SEED),
    BY_OOB: lambda: one_hot(OutOfBagForest(random_state=SEED)),
}
OUR_MODELS = dict(zip(OURS, (TreeRank, RankingForest, BoostedTreeRank), strict=True))
MODELS = OUR_MODELS | RIVALS | TUNED_RIVALS
# For ordered classes EBM learns the grade as a number: by classes it would take minutes a fit.
ORDINAL_MODELS = OUR_MODELS | RIVALS | {EBM: lambda: ExplainableBoostingRegressor(**EBM_SETTINGS)}


def ranking(model: Any, X: Any) -> Any:
    """Score of each row: our own, else the expected grade; with two classes, the probability."""
    if isinstance(model, TreeRank | RankingForest | BoostedTreeRank):
        return model.score_samples(X)
    if not hasattr(model, "predict_proba"):
        return model.predict(X)
    shares = model.predict_proba(X)
    return shares @ np.arange(shares.shape[1])


def evaluate(make: Callable[[], Any], X: Any, y: Any, train: Any, test: Any) -> dict[str, float]:
    """Quality on one fold, and the processor's seconds of fit and scores."""
    start = time.process_time()
    model = make().fit(X.iloc[train], y[train])
    fitted = time.process_time()
    score = ranking(model, X.iloc[test])
    measures = {"fit": fitted - start, "score": time.process_time() - fitted}
    if y.max() > 1:
        labels = np.arange(y.max() + 1)
        return measures | {"vus": float(ordinal_vus_score(y[test], score, labels=labels))}
    local = {n: float(local_auc_score(y[test], score, rate=r)) for n, r in RATES.items()}
    return measures | {"auc": float(roc_auc_score(y[test], score))} | local


def join_grades(y: Any) -> Any:
    """Grades 0, 1, …: from below, values are joined until they have a share of `LEAST_GRADE`."""
    values, counts = np.unique(y, return_counts=True)
    least = LEAST_GRADE * len(y)
    grade, held, grades = 0, 0, []
    for i, count in enumerate(counts):
        grades.append(grade)
        held += count
        if held >= least and counts[i + 1 :].sum() >= least:
            grade, held = grade + 1, 0
    return np.array(grades)[np.searchsorted(values, y)]


def load(task: str, size: int, name: str) -> tuple[Any, Any]:
    """Rows of a set, and labels or grades from 0 on."""
    X, y = load_rows(name, SEED, size)
    return X, join_grades(y) if task == "ordinal" else y


def folds_of(X: Any, y: Any) -> Iterator[tuple[Any, Any]]:
    """Rows to learn from and to judge by, fold after fold."""
    return StratifiedKFold(N_FOLDS, shuffle=True, random_state=SEED).split(X, y)


def measure_fold(
    name: str, size: int, number: int, model: str, evaluated: Callable[[], Any]
) -> dict[str, float]:
    """Measures of one model on one fold; remembered, so that a run can go on."""
    key = f"quality-{SEED}-{size}-{name}-{number}-{model.replace(' ', '_')}"
    key += f"-{fingerprint()}" if model in OURS else ""
    found: dict[str, float] = remember(key, evaluated)
    return found


def is_measured(model: str, size: int, name: str, n_rows: int) -> bool:
    """Whether a model is tried on a set."""
    if model == EBM and (n_rows < LEAST_ROWS or name in TOO_SLOW):
        return False
    return model not in LEFT_OUT[size]


def measure(task: str, size: int, quick: bool) -> Results:
    """First fold of the sets of a task that have more rows than the smaller sizes."""
    smaller = max((other for other in SIZES if other < size), default=0)
    models = MODELS if task == "binary" else ORDINAL_MODELS
    what = "auc" if task == "binary" else "vus"
    results: Results = {}
    for name, X, y in sets(task, partial(load, task, size), quick):
        if len(y) <= smaller:
            continue
        train, test = next(folds_of(X, y))
        results[name] = {
            model: measure_fold(name, size, 0, model, partial(evaluate, make, X, y, train, test))
            for model, make in models.items()
            if is_measured(model, size, name, len(y))
        }
        print(f"{name:20s}", *[f"{m[what]:.4f}" for m in results[name].values()], flush=True)
    return results


def without_ebm(results: Results) -> Results:
    """All sets, without the model that has not all of them."""
    return {
        name: {model: measures for model, measures in found.items() if model != EBM}
        for name, found in results.items()
    }


def with_ebm(results: Results) -> Results:
    """The sets that EBM is measured on."""
    return {name: found for name, found in results.items() if EBM in found}


def say_places(found: dict[str, tuple[str, Results]]) -> str:
    """Say which places our models take by their means."""
    parts = []
    for words, (what, results) in found.items():
        means = tables.means(results, what)
        order = sorted(means, key=lambda name: -means[name])
        places = [f"`{name}` {order.index(name) + 1}" for name in sorted(OURS, key=order.index)]
        parts.append(f"{words}: {', '.join(places)} of {len(order)}")
    words = "Places by the mean over the data sets: " + "; ".join(parts) + "."
    return fill(words, 100, break_on_hyphens=False)


def judge(found: dict[str, tuple[str, Results]]) -> list[Figure]:
    """Lead of each of ours over the rival of the highest mean; measure and results by words."""
    figures = []
    for words, (what, results) in found.items():
        means = tables.means(results, what)
        best = max((name for name in means if name not in OURS), key=lambda name: means[name])
        for name in OURS:
            lead = means[name] - means[best]
            note = f"{means[name]:.4f} against {means[best]:.4f}"
            label = f"{words}: {name}, mean {tables.HEADERS[what]} minus that of {best}"
            figures.append(Figure(label, lead, note=note))
    return figures


PAGE = """# Beside the models people use

{machine}

How well do our models rank beside those people use every day, and how long do they take? The tables
cover {n_binary} data sets with two classes and {n_ordinal} with ordered classes: all that
`treerank.datasets.load_benchmark` offers of these kinds (a data set that only has the complete rows
of another is not counted again).

Each data set has at most {rows:,} rows and, where it has more, {sizes}. The first of {folds}
stratified folds is the test set, the same for all models, drawn with a seed that no other page
uses. Models not marked as tuned have their defaults; the forests of scikit-learn have {trees}
trees, as many as ours. Tuned models have the best of twelve settings by three folds inside the
training rows, RandomForest the leaf size with the best out-of-bag AUC. All run on one thread.
Boosting gets the categories themselves, forests and logistic regression one column per level;
logistic regression gets scaled columns, with medians in place of missing numbers and a flag for
each such column. Seconds are processor seconds and include tuning.

Our figures are slightly too good: our defaults were chosen on these data sets (on other folds and,
for large ones, other rows), those of the other models by their authors on other data. On
[tables that nobody tuned on](judging.md) nobody has this advantage.

{places}

Each lead is over the other model with the highest mean, which is known only afterwards:

{figures}

## Two classes, up to {rows:,} rows

An average rank of 1 is the best; models closer than {critical_binary:.1f} do not differ
significantly (Nemenyi, 95 %).

{summary}

Wins and losses by AUC, set by set, and the mean lead:

{duels}

AUC set by set, the best of the columns in bold:

{sets}

The mean of `RankingForest` and `BoostedTreeRank` often ranks better than either of them: see
[forest and boosting together](voting.md).

## Ordered classes, up to {rows:,} rows

Other models rank by the expected grade of their class probabilities. Grades with less than
{grade:.0%} of the rows are joined with their neighbours. Models closer than {critical_ordinal:.1f}
in average rank do not differ significantly. With many grades the VUS is small (a random ranking has
1/k! for k grades), so that the average rank says more than the mean.

{ordinal_summary}

{ordinal_duels}

VUS set by set, the best of the columns in bold:

{ordinal_sets}

{larger}

## EBM

The explainable boosting machine of `interpret`, with its defaults, takes {ebm_seconds:.0f} seconds
per fit, so that it is measured on the {n_ebm} data sets with two classes and at least {least:,}
rows; for ordered classes it predicts the grade as a number, on {n_ebm_ordinal} of {n_ordinal} data
sets. All models on the same data sets:

{ebm_binary}

{ebm_ordinal}

{ebm_duels}
"""

LARGER = """## Two classes, up to {size:,} rows

{n} data sets with more than {smaller:,} rows. Models closer than {critical:.1f} in average rank do
not differ significantly. Not measured here: {without}.

{summary}

{duels}

{sets}
"""
# Columns of a table set by set, as many as fit a page.
SHOWN = (*OURS, BY_OOB, TUNED, TUNED_XGBOOST, CATBOOST)
ORDINAL_SHOWN = (*OURS, "RandomForest", "HistGradientBoosting", "LightGBM", CATBOOST,
                 "logistic regression")  # fmt: skip


def larger_sizes(found: dict[int, Results]) -> str:
    """Tables of the larger sizes, for those that some set has."""
    return "\n".join(
        LARGER.format(
            size=size, smaller=SIZES[SIZES.index(size) - 1], n=len(results),
            critical=tables.critical(results), summary=tables.summary(results, ["auc"]),
            duels=tables.duels(results, "auc"), without="; ".join(LEFT_OUT[size]),
            sets=tables.by_set(results, "auc", SHOWN if size == SIZES[1] else None),
        )
        for size, results in found.items()
        if results
    )  # fmt: skip


def write(
    binary: Results,
    ordinal: Results,
    larger: dict[int, Results],
    facts: dict[str, Any],
) -> tuple[str, list[Figure]]:
    """Put all tables on a page; and the figures."""
    two, grades = without_ebm(binary), without_ebm(ordinal)
    ebm, ebm_grades = with_ebm(binary), with_ebm(ordinal)
    compared = {
        f"{MAX_ROWS:,} rows": ("auc", two),
        **{f"{size:,} rows": ("auc", found) for size, found in larger.items() if found},
        "ordered classes": ("vus", grades),
    }
    figures = judge(compared)
    page = PAGE.format(
        machine=describe(facts, "python -m benchmarks quality"),
        n_binary=len(two), n_ordinal=len(grades), rows=MAX_ROWS, folds=N_FOLDS, trees=N_TREES,
        sizes=" and ".join(f"{size:,}" for size in SIZES[1:]),
        grade=LEAST_GRADE, larger=larger_sizes(larger), figures=figure_table(figures),
        places=say_places(compared), critical_binary=tables.critical(two),
        critical_ordinal=tables.critical(grades), summary=tables.summary(two, ["auc", *RATES]),
        duels=tables.duels(two, "auc"), sets=tables.by_set(two, "auc", SHOWN),
        ordinal_summary=tables.summary(grades, ["vus"]), ordinal_duels=tables.duels(grades, "vus"),
        ordinal_sets=tables.by_set(grades, "vus", ORDINAL_SHOWN),
        n_ebm=len(ebm), n_ebm_ordinal=len(ebm_grades), least=LEAST_ROWS,
        ebm_seconds=tables.means(ebm, "fit")[EBM],
        ebm_binary=tables.summary(ebm, ["auc", *RATES]),
        ebm_ordinal=tables.summary(ebm_grades, ["vus"]),
        ebm_duels=tables.duels_with(EBM, {"auc": ebm, "vus": ebm_grades}),
    )  # fmt: skip
    return page, figures


def run(quick: bool) -> None:
    """Measure, print, and unless `quick` write the page."""
    facts = machine()
    facts["versions"] |= {name: version(name) for name in VERSIONS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        binary, ordinal = (measure(task, MAX_ROWS, quick) for task in ("binary", "ordinal"))
        larger = {size: {} if quick else measure("binary", size, quick) for size in SIZES[1:]}
    if not binary or not ordinal:
        print("No data set is available: nothing to compare.")
        return
    page, figures = write(binary, ordinal, larger, facts)
    print(page)
    if not quick:
        publish("quality", page, figures, {
            "machine": facts, "code": fingerprint(), "binary": binary, "ordinal": ordinal,
            "larger": larger,
        })  # fmt: skip
