"""How fast a forest is fitted and scores, beside the forests people use, ratios within one run."""

from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np
import xgboost
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from benchmarks.common import Figure, Times, best_times, markdown_table
from benchmarks.speed import Data, make_data
from treerank import RankingForest

N_TREES = 50
THREADS = 2
OURS, FOREST = "RankingForest", "RandomForest"
LGB_FOREST = "LightGBM rf, 4,095 leaves"
XGB_FOREST, XGB_SHALLOW = "XGBoost rf, depth 16", "XGBoost rf, depth 12"
ROUNDS, HISTOGRAM = "LightGBM, 100 rounds", "HistGradientBoosting"
# What takes a minute is timed once; a busy moment does not weigh as much there.
SLOW = [FOREST, LGB_FOREST, XGB_FOREST, XGB_SHALLOW]
FAST = [OURS, ROUNDS, HISTOGRAM]


def ours(n_jobs: int = THREADS) -> RankingForest:
    """Our forest with its defaults."""
    return RankingForest(n_estimators=N_TREES, n_jobs=n_jobs)


def models() -> dict[str, Callable[[], Any]]:
    """All that are fitted, on the same number of threads."""

    def xgboost_forest(depth: int) -> Any:
        return xgboost.XGBRFClassifier(
            max_depth=depth, tree_method="hist", min_child_weight=1, n_jobs=THREADS,
            subsample=0.632, colsample_bynode=0.2, n_estimators=N_TREES,
        )  # fmt: skip

    return {
        OURS: ours,
        FOREST: lambda: RandomForestClassifier(N_TREES, n_jobs=THREADS, random_state=0),
        LGB_FOREST: lambda: lightgbm.LGBMClassifier(
            boosting_type="rf", subsample_freq=1, num_leaves=4_095, min_child_samples=5,
            n_jobs=THREADS, verbose=-1, feature_fraction_bynode=0.2, n_estimators=N_TREES,
            subsample=0.632,
        ),
        XGB_FOREST: lambda: xgboost_forest(16),
        XGB_SHALLOW: lambda: xgboost_forest(12),
        ROUNDS: lambda: lightgbm.LGBMClassifier(n_estimators=100, n_jobs=THREADS, verbose=-1),
        HISTOGRAM: lambda: HistGradientBoostingClassifier(random_state=0),
    }  # fmt: skip


def score(model: Any, X: Any) -> Any:
    """Scores of the rows."""
    if isinstance(model, RankingForest):
        return model.score_samples(X)
    return model.predict_proba(X)[:, 1]


def measure(quick: bool) -> dict[str, Any]:
    """Fit and scoring times by the clock and by the processor, AUC on other rows, sizes."""
    n_train = 20_000 if quick else 200_000
    X, y = make_data(n_train + n_train // 4)
    train: Data = (X[:n_train], y[:n_train])
    test: Data = (np.ascontiguousarray(X[n_train:]), y[n_train:])
    fitted: dict[str, Any] = {}
    times: dict[str, Times] = {}

    def fit(name: str) -> Callable[[], None]:
        return lambda: fitted.update({name: models()[name]().fit(*train)})

    with threadpool_limits(THREADS):
        for names, repetitions in ((SLOW, 1), (FAST, 1 if quick else 4)):
            times |= best_times({name: fit(name) for name in names}, repetitions)
            print({name: round(times[name].wall, 2) for name in names}, flush=True)
        scoring = {
            name: (lambda model=model: score(model, test[0])) for name, model in fitted.items()
        }
        scoring_times = best_times(scoring, 2 if quick else 7)
    fitted[OURS].set_params(n_jobs=1)
    codes, _ = fitted[OURS]._codes(test[0])
    alone = {
        "score": lambda: fitted[OURS].score_samples(test[0]),
        "walk": lambda: fitted[OURS]._trees.mean(codes, 1),
    }
    one_thread = best_times(alone, 2 if quick else 9)
    return {
        "fit": times,
        "scoring": scoring_times,
        "auc": {n: float(roc_auc_score(test[1], score(m, test[0]))) for n, m in fitted.items()},
        "nanoseconds": {
            name: 1e9 * t.cpu / len(test[1]) / N_TREES for name, t in one_thread.items()
        },
        "n_train": n_train,
        "n_test": len(test[1]),
        "megabytes": model_size(quick),
    }


def model_size(quick: bool) -> float:
    """Size of 500 trees on 2,000 x 20."""
    X, y = make_data(2_000)
    trees = 50 if quick else 500
    return RankingForest(n_estimators=trees).fit(X, y).n_bytes_ / 1e6


def ratio(times: dict[str, Times], rival: str) -> tuple[float, str]:
    """How many times faster we are by the clock, and what the processors say."""
    ours_, other = times[OURS], times[rival]
    note = (
        f"{other.wall:.3g} s against {ours_.wall:.3g} s; "
        f"{other.cpu / ours_.cpu:.3g} by processor time"
    )
    return other.wall / ours_.wall, note


def judge(results: dict[str, Any]) -> list[Figure]:
    """Compare with the targets."""
    fit, auc = results["fit"], results["auc"]
    targets = {
        FOREST: 20.0, LGB_FOREST: 4.0, XGB_FOREST: 4.0, XGB_SHALLOW: 4.0, ROUNDS: 1.0,
        HISTOGRAM: None,
    }  # fmt: skip
    figures = []
    for rival, target in targets.items():
        value, note = ratio(fit, rival)
        if rival == ROUNDS:
            note += f"; stretch of 2 {'reached' if value >= 2 else 'not reached'}"
        figures.append(
            Figure(f"fit: times faster than {rival}", value, target=target, bound="at least",
                   note=note)
        )  # fmt: skip
    figures += [
        Figure(f"AUC minus that of {FOREST}", auc[OURS] - auc[FOREST], target=-0.002,
               bound="at least", note=f"{auc[OURS]:.4f} against {auc[FOREST]:.4f}"),
        *(Figure(f"AUC minus that of {rival}", auc[OURS] - auc[rival], target=0.0,
                 bound="at least", note=f"{auc[OURS]:.4f} against {auc[rival]:.4f}")
          for rival in (LGB_FOREST, XGB_FOREST, XGB_SHALLOW)),
    ]  # fmt: skip
    for rival in (FOREST, LGB_FOREST):
        value, note = ratio(results["scoring"], rival)
        figures.append(
            Figure(f"scoring: times faster than {rival}", value, target=2, bound="at least",
                   note=note)
        )  # fmt: skip
    spent = results["nanoseconds"]
    figures += [
        Figure("scoring on one thread, a row and tree", spent["score"], "ns", target=50,
               note=f"{spent['walk']:.3g} ns without reading the rows into bins"),
        Figure("500 trees on 2,000 x 20", results["megabytes"], "MB", target=10),
    ]  # fmt: skip
    return figures


def table(results: dict[str, Any]) -> str:
    """Seconds and AUC of each model."""
    header = ["model", "fit, s", "processor s", "scoring, s", "processor s", "AUC"]
    rows = []
    for name in models():
        took, scored = results["fit"][name], results["scoring"][name]
        rows.append([
            name, f"{took.wall:.2f}", f"{took.cpu:.2f}", f"{scored.wall:.3f}", f"{scored.cpu:.3f}",
            f"{results['auc'][name]:.4f}",
        ])  # fmt: skip
    return markdown_table(header, rows, "lrrrrr")
