"""How well a forest ranks: RankingForest beside the forests and boosting people use, real sets."""

import time
from collections.abc import Callable
from functools import partial
from statistics import mean
from typing import Any

import lightgbm
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from benchmarks.common import Figure, fingerprint, markdown_table, remember
from benchmarks.real_sets import load_rows, one_hot, sets
from treerank import RankingForest
from treerank.metrics import local_auc_score

N_TREES = 200
# Rows and folds are drawn with a seed of their own: the defaults of the forest were chosen on
# other rows and other folds of these sets.
SEED = 2_013
OURS = "RankingForest"
FOREST = "RandomForest"
TUNED_FOREST = "RandomForest, leaf size by out-of-bag AUC"
EXTRA = "ExtraTrees"
BOOSTING = "LightGBM"
TUNED_BOOSTING = "LightGBM, best of 5 by inner CV"
LEAF_SIZES = (1, 2, 3, 5, 10, 20)
BOOSTING_GRID = [
    {"learning_rate": [0.1], "num_leaves": [31], "min_child_samples": [20]},
    {"learning_rate": [0.05], "num_leaves": [31], "min_child_samples": [5]},
    {"learning_rate": [0.05], "num_leaves": [15], "min_child_samples": [20]},
    {"learning_rate": [0.03], "num_leaves": [7], "min_child_samples": [20]},
    {"learning_rate": [0.02], "num_leaves": [31], "min_child_samples": [20],
     "subsample": [0.7], "subsample_freq": [1], "colsample_bytree": [0.5]},
]  # fmt: skip


def tuned_forest(X: Any, y: Any) -> Any:
    """Fit a RandomForest for each leaf size; keep that of the highest out-of-bag AUC."""
    best = (-1.0, None)
    for size in LEAF_SIZES:
        forest = RandomForestClassifier(
            N_TREES, min_samples_leaf=size, oob_score=True, random_state=SEED
        )
        model = one_hot(forest).fit(X, y)
        auc = float(roc_auc_score(y, model[-1].oob_decision_function_[:, 1]))
        best = max(best, (auc, model), key=lambda pair: pair[0])
    return best[1]


def boosting(X: Any, y: Any) -> Any:
    """Fit LightGBM with 200 rounds and its defaults; it takes categories as they are."""
    return lightgbm.LGBMClassifier(n_estimators=N_TREES, verbose=-1, n_jobs=1).fit(X, y)


def tuned_boosting(X: Any, y: Any) -> Any:
    """Fit the best of five configurations of LightGBM, by AUC on three inner folds."""
    model = lightgbm.LGBMClassifier(n_estimators=N_TREES, verbose=-1, n_jobs=1)
    return GridSearchCV(model, BOOSTING_GRID, scoring="roc_auc", cv=3).fit(X, y)


MODELS: dict[str, Callable[[Any, Any], Any]] = {
    OURS: lambda X, y: RankingForest(n_estimators=N_TREES).fit(X, y),
    FOREST: lambda X, y: one_hot(RandomForestClassifier(N_TREES, random_state=SEED)).fit(X, y),
    TUNED_FOREST: tuned_forest,
    EXTRA: lambda X, y: one_hot(ExtraTreesClassifier(N_TREES, random_state=SEED)).fit(X, y),
    BOOSTING: boosting,
    TUNED_BOOSTING: tuned_boosting,
}
CODES = dict(zip(MODELS, ["ours", "rf", "rf-oob", "et", "lgb", "lgb-cv"], strict=True))
Measures = dict[str, float]
Results = dict[str, dict[str, Measures]]  # set -> model -> means over the folds


def evaluate(model: str, X: Any, y: Any, train: Any, test: Any) -> Measures:
    """AUC, local AUC and fit time of one model on one fold."""
    start = time.perf_counter()
    fitted = MODELS[model](X.iloc[train], y[train])
    seconds = time.perf_counter() - start
    score = (
        fitted.score_samples(X.iloc[test])
        if model == OURS
        else fitted.predict_proba(X.iloc[test])[:, 1]
    )
    return {
        "auc": float(roc_auc_score(y[test], score)),
        "local_auc": float(local_auc_score(y[test], score, rate=0.1)),
        "seconds": seconds,
    }


def measure(quick: bool) -> Results:
    """Evaluate all models on all sets; every fold is remembered, so that a run can go on."""
    results: Results = {}
    for name, X, y in sets("binary", partial(load_rows, seed=SEED), quick):
        folds = StratifiedKFold(5, shuffle=True, random_state=SEED).split(X, y)
        measured: dict[str, list[Measures]] = {model: [] for model in MODELS}
        for number, (train, test) in enumerate(folds):
            for model, code in CODES.items():
                key = f"forest-{name}-{number}-{code}"
                key += f"-{fingerprint()}" if model == OURS else ""
                measured[model].append(remember(key, partial(evaluate, model, X, y, train, test)))
        results[name] = {
            model: {what: mean(fold[what] for fold in folds) for what in folds[0]}
            for model, folds in measured.items()
        }
        aucs = " ".join(f"{m['auc']:.4f}" for m in results[name].values())
        print(f"{name:20s} {aucs}", flush=True)
    return results


def column(results: Results, model: str, what: str) -> list[float]:
    """One measure of one model on all sets."""
    return [models[model][what] for models in results.values()]


def wins(results: Results, rival: str) -> tuple[int, int]:
    """Sets on which we are above and below a rival, by AUC."""
    pairs = list(zip(column(results, OURS, "auc"), column(results, rival, "auc"), strict=True))
    return sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)


def without_best(results: Results, rival: str) -> tuple[float, str]:
    """Mean lead in AUC without the set that helps us most, and that set."""
    leads = {name: models[OURS]["auc"] - models[rival]["auc"] for name, models in results.items()}
    best = max(leads, key=lambda name: leads[name])
    return mean(lead for name, lead in leads.items() if name != best or len(leads) == 1), best


def judge(results: Results) -> list[Figure]:
    """Compare with the targets."""
    auc = {model: mean(column(results, model, "auc")) for model in MODELS}
    top = {model: mean(column(results, model, "local_auc")) for model in MODELS}
    figures = []
    for rival in [m for m in MODELS if m not in (OURS, FOREST)]:
        rest, best = without_best(results, rival)
        above, below = wins(results, rival)
        target = 0.002 if rival == TUNED_FOREST else 0.0
        figures += [
            Figure(f"mean AUC minus that of {rival}", auc[OURS] - auc[rival], target=target,
                   bound="at least", note=f"{auc[OURS]:.4f} against {auc[rival]:.4f}; "
                   f"{rest:+.4f} without {best}"),
            Figure(f"wins minus losses against {rival}", above - below, target=1,
                   bound="at least", note=f"{above} to {below}"),
            Figure(f"local AUC at 10 % minus that of {rival}", top[OURS] - top[rival], target=0.0,
                   bound="at least", note=f"{top[OURS]:.4f} against {top[rival]:.4f}"),
        ]  # fmt: skip
    return figures


def summary_table(results: Results) -> str:
    """One row a model, over all sets."""
    header = ["model", "AUC", "we win", "we lose", "our lead", "without our best set",
              "local AUC, top 10 %", "fit, seconds"]  # fmt: skip
    own = mean(column(results, OURS, "auc"))
    rows = []
    for model in MODELS:
        cells = ["", "", "", ""]
        auc = mean(column(results, model, "auc"))
        if model != OURS:
            above, below = wins(results, model)
            rest, _ = without_best(results, model)
            cells = [str(above), str(below), f"{own - auc:+.4f}", f"{rest:+.4f}"]
        rows.append([
            model, f"{auc:.4f}", *cells, f"{mean(column(results, model, 'local_auc')):.4f}",
            f"{mean(column(results, model, 'seconds')):.2f}",
        ])  # fmt: skip
    return markdown_table(header, rows, "lrrrrrrr")


def set_table(results: Results) -> str:
    """One row a set, the best in bold."""
    rows = []
    for name, models in results.items():
        best = max(m["auc"] for m in models.values())
        texts = [f"{m['auc']:.4f}" for m in models.values()]
        bold = [f"**{t}**" if m["auc"] == best else t
                for t, m in zip(texts, models.values(), strict=True)]  # fmt: skip
        rows.append([name, *bold])
    return markdown_table(["set", *MODELS], rows, "l" + "r" * len(MODELS))
