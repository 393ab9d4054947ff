"""Whether the ratios that speed rests on still hold: a minute, and an exit status.

What a test cannot assert without a clock is asserted here, as ratios within one run wherever there
is something to compare with.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from benchmarks.common import Figure, best_times, figure_table
from benchmarks.speed import Data, make_data
from treerank import BoostedTreeRank, GeometricRanker, LeafRank, RankingForest, TreeRank
from treerank.inspection import partial_dependence
from treerank.metrics import auc_interval, ordinal_vus_score, ranking_distance, roc_band

N_ROWS, QUICK_ROWS = 100_000, 20_000
REPETITIONS = 3
SECONDS_TO_STOP = 1.0


def ratios(data: Data) -> list[Figure]:
    """Seconds of the processor on one thread, ours beside theirs."""
    X, y = data
    leaves = {"n_estimators": 50, "num_leaves": 31}
    calls: dict[str, Callable[[], Any]] = {
        "tree": lambda: TreeRank(LeafRank(), pruning=None, shrinkage=None).fit(X, y),
        "pruned": lambda: TreeRank(LeafRank()).fit(X, y),
        "CART": lambda: DecisionTreeClassifier(max_depth=10).fit(X, y),
        "forest": lambda: RankingForest(n_estimators=10).fit(X, y),
        "RandomForest": lambda: RandomForestClassifier(10, random_state=0).fit(X, y),
        "boosting": lambda: BoostedTreeRank(n_estimators=50, early_stopping=False).fit(X, y),
        "LightGBM": lambda: lightgbm.LGBMClassifier(n_jobs=1, verbose=-1, **leaves).fit(X, y),
    }
    took = {name: times.cpu for name, times in best_times(calls, REPETITIONS).items()}
    return [
        Figure("unpruned TreeRank beside CART of depth 10", took["CART"] / took["tree"], "x",
               target=5, bound="at least"),
        Figure("TreeRank() beside its unpruned fit", took["pruned"] / took["tree"], "x",
               target=8),
        Figure("RankingForest beside RandomForest", took["RandomForest"] / took["forest"], "x",
               target=8, bound="at least"),
        Figure("50 rounds of boosting beside LightGBM's", took["boosting"] / took["LightGBM"], "x",
               target=5),
    ]  # fmt: skip


def scoring_ratio(data: Data) -> Figure:
    """Seconds that a forest takes to score all rows, beside scikit-learn's."""
    X, y = data
    ours = RankingForest(n_estimators=50).fit(X[:20_000], y[:20_000])
    theirs = RandomForestClassifier(50, random_state=0).fit(X[:20_000], y[:20_000])
    calls: dict[str, Callable[[], Any]] = {
        "ours": lambda: ours.score_samples(X),
        "theirs": lambda: theirs.predict_proba(X),
    }
    took = best_times(calls, REPETITIONS)
    return Figure("scores of a forest beside RandomForest's", took["theirs"].cpu / took["ours"].cpu,
                  "x", target=2, bound="at least")  # fmt: skip


def metrics() -> list[Figure]:
    """Seconds of the processor for a million scores, and for other large inputs."""
    rng = np.random.default_rng(0)
    y, grades = rng.integers(0, 2, 1_000_000), rng.integers(0, 5, 1_000_000)
    scores = rng.normal(size=1_000_000)
    some, others = rng.normal(size=(2, 300_000))
    calls: dict[str, tuple[Callable[[], Any], float]] = {
        "interval of an AUC": (lambda: auc_interval(y, scores + y), 1.0),
        "VUS of five grades": (lambda: ordinal_vus_score(grades, scores + grades), 0.5),
        "band of a ROC curve": (lambda: roc_band(y, scores + y), 2.0),
        "Kendall distance of 300,000 points": (lambda: ranking_distance(some, others), 2.0),
    }
    took = best_times({name: call for name, (call, _) in calls.items()}, REPETITIONS)
    return [Figure(name, took[name].cpu, "s", target=most) for name, (_, most) in calls.items()]


def dependence_ratio() -> Figure:
    """Predictions for every point of a grid beside one walk of all rows."""
    X, y = make_data(10_000)
    model = TreeRank(pruning=None).fit(X, y)
    grid = partial_dependence(model, X, 0).grid[0]
    copy = X.copy()

    def predict() -> None:
        for value in grid:
            copy[:, 0] = value
            model.score_samples(copy)

    calls: dict[str, Callable[[], Any]] = {
        "walk": lambda: partial_dependence(model, X, 0),
        "predict": predict,
    }
    took = best_times(calls, REPETITIONS)
    return Figure("partial dependence beside predictions", took["predict"].cpu / took["walk"].cpu,
                  "x", target=50, bound="at least")  # fmt: skip


def scoring_stops(data: Data) -> list[Figure]:
    """Every kind of scoring, on rows for which it would take much longer."""
    X, y = data[0][:5_000], data[1][:5_000]
    rows = np.tile(X, (2_000, 1))
    models: dict[str, tuple[Any, str]] = {
        "scores of a tree": (LeafRank(max_depth=None), "score_samples"),
        "scores of a forest": (RankingForest(n_estimators=200, n_jobs=2), "score_samples"),
        "leaves of a forest": (RankingForest(n_estimators=20), "apply"),
        "scores of boosting": (BoostedTreeRank(200), "score_samples"),
        "distances": (GeometricRanker(DecisionTreeClassifier(), ranking="global"), "score_samples"),
    }

    def repeat(method: Callable[[Any], Any]) -> None:
        while True:  # only Ctrl-C ends it; a call that does not answer takes its own time
            method(rows)

    return [
        stopping(name, partial(repeat, getattr(model.fit(X, y), method)))
        for name, (model, method) in models.items()
    ]


def stopping(what: str, call: Callable[[], Any]) -> Figure:
    """Seconds from Ctrl-C to the end of a call that would take much longer."""
    pressed: list[float] = []

    def press() -> None:
        pressed.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(1.0, press)
    timer.start()
    try:
        call()
    except KeyboardInterrupt:
        took = time.perf_counter() - pressed[0]
    else:
        timer.cancel()
        raise RuntimeError(f"{what} ended before it was stopped: give it more to do.")
    return Figure(f"{what} stops after Ctrl-C", took, "s", target=SECONDS_TO_STOP)


def growth_of_time(what: str, call: Callable[[int], Any], n: int) -> Figure:
    """How many times longer ten times the work takes."""
    took = best_times({"small": lambda: call(n), "large": lambda: call(10 * n)}, REPETITIONS)
    ratio = took["large"].cpu / took["small"].cpu
    return Figure(f"{what}, ten times as long", ratio, "x", target=30, note="100 if quadratic")


def read_long_j48(n: int) -> None:
    """Read a line of J48 text that is no tree."""
    try:
        GeometricRanker("a = b: " * n + "((((").fit(pd.DataFrame({"a": ["b", "c"]}))
    except ValueError:
        return
    raise RuntimeError("The text was taken for a tree.")


def run(quick: bool) -> None:
    """Print the table; end with status 1 if a target is missed."""
    data = make_data(QUICK_ROWS if quick else N_ROWS)
    X, y = data
    deep = LeafRank(max_depth=20)
    figures = [
        *ratios(data),
        scoring_ratio(data),
        dependence_ratio(),
        *metrics(),
        stopping("a fit", lambda: TreeRank(deep, max_depth=None, cv=2_000).fit(X, y)),
        stopping(
            "a fit of a forest", lambda: RankingForest(n_estimators=5_000, n_jobs=2).fit(X, y)
        ),
        *scoring_stops(data),
        growth_of_time("a line of J48 text", read_long_j48, 20_000),
    ]
    print(figure_table(figures))
    missed = [figure.what for figure in figures if figure.met is False]
    if missed:
        sys.exit(f"Missed: {'; '.join(missed)}.")
