"""The experiments: every model on one set, measured as the paper measures it."""

import hashlib
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from benchmarks.common import fingerprint, remember
from benchmarks.papers.models import Make, cart_tree, ours, prepared, rivals, scores_of, variants
from treerank.baselines import RankBoost
from treerank.datasets import BenchmarkUnavailableError, load_benchmark, make_gaussians_20d
from treerank.metrics import hit_rate_score, instability, local_auc_score

GAUSSIANS = {"gauss_easy": "easy", "gauss_medium": "medium", "gauss_hard": "hard"}
UCI = (
    "vote_complete", "australian", "german", "crx", "auto_mpg_binary", "ionosphere", "wdbc",
    "breast_wisconsin_complete", "heart_statlog", "hepatitis_complete",
)  # fmt: skip
# By the shares of positives in its Table 1, the paper ranks first what the files call 0.
TURNED = {"german": 0, "vote_complete": 0}

# Samples, and bootstrap samples for instability: the paper's, fewer of the rivals, whose parameters
# are chosen anew each time, and of forests with SVM splits, which take ten seconds a fit.
GAUSSIAN_REPEATS, RIVAL_REPEATS, FEW_REPEATS = (30, 20), (10, 6), (4, 4)
SLOW = ("Bagg_SVM", "RF1_SVM", "RF2_SVM")
# Minutes for a set; they are started first, so that no core waits for one of them at the end.
LONG = (*SLOW, "TRK_SVM", "RankSVM", "KLR", "PNormPush", "BoostedTreeRank()", "SVMg", "RBpw")

Measures = dict[str, list[float]]  # measure -> one value a fold or sample
Results = dict[str, dict[str, Measures]]  # set -> model -> measures
Show = Callable[[str], None]


def measure(y: NDArray[Any], scores: NDArray[np.float64]) -> dict[str, float]:
    """AUC, local AUC, hit rates and average precision."""
    found = {"auc": float(roc_auc_score(y, scores))}
    for percent in (20, 10, 5):
        found[f"local_auc_{percent}"] = float(local_auc_score(y, scores, rate=percent / 100))
    for percent in (10, 20):
        found[f"hit_rate_{percent}"] = float(hit_rate_score(y, scores, rate=percent / 100))
    found["average_precision"] = float(average_precision_score(y, scores))
    return found


def collect(parts: list[dict[str, float]]) -> Measures:
    """Turn measures of parts into lists of measures."""
    return {name: [part[name] for part in parts] for name in parts[0]}


def on_gaussians(difficulty: str, make: Make, n_samples: int, n_bootstraps: int) -> Measures:
    """Tables 2 to 4 and 7 to 9: learn from samples of 1,000 rows, measure on one more.

    Instability is over models of bootstrap samples of the first, on the rows of the last.
    """
    test = make_gaussians_20d(1000, difficulty, random_state=10_000)
    parts = []
    for number in range(n_samples):
        train = make_gaussians_20d(1000, difficulty, random_state=number)
        model = make().fit(_frame(train.X), train.y)
        parts.append(measure(test.y, scores_of(model, _frame(test.X))))
    found = collect(parts)
    train = make_gaussians_20d(1000, difficulty, random_state=0)
    rng = np.random.default_rng(0)
    scores = []
    for _ in range(n_bootstraps):
        rows = rng.integers(1000, size=1000)
        model = make().fit(_frame(train.X[rows]), train.y[rows])
        scores.append(scores_of(model, _frame(test.X)))
    found["instability"] = [float(instability(scores))]
    return found


def _frame(X: NDArray[np.float64]) -> Any:
    """Name the columns, which the preparation of the rivals asks for."""
    import pandas as pd  # noqa: PLC0415

    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])


def load_uci(name: str) -> tuple[Any, NDArray[np.intp]]:
    """Rows and labels, 1 for the class that the paper ranks first."""
    found = load_benchmark(name)
    labels = np.asarray(found.y)
    return found.X.reset_index(drop=True), (labels == TURNED.get(name, labels.max())).astype(int)


def on_uci(name: str, make: Make, n_folds: int) -> Measures:
    """Tables 5, 6, 10 and 11: stratified cross-validation."""
    X, y = load_uci(name)
    parts = []
    for train, test in StratifiedKFold(n_folds, shuffle=True, random_state=0).split(X, y):
        model = make().fit(X.iloc[train], y[train])
        parts.append(measure(y[test], scores_of(model, X.iloc[test])))
    return collect(parts)


def on_breast_cancer(make: Make, n_samples: int) -> Measures:
    """Fig. 14 of "Adaptive partitioning schemes": bootstrap samples.

    80 % of the rows to learn from, new ones to measure on.
    """
    X, y = load_uci("wdbc")
    y = 1 - y  # 63 % of positives: the benign ones
    parts = []
    for number in range(n_samples):
        order = np.random.default_rng(number).permutation(len(y))
        n_train = int(0.8 * len(y))
        rows = np.random.default_rng(number).choice(order[:n_train], n_train)
        model = make().fit(X.iloc[rows].reset_index(drop=True), y[rows])
        scores = scores_of(model, X.iloc[order[n_train:]])
        parts.append({"auc": float(roc_auc_score(y[order[n_train:]], scores))})
    return collect(parts)


# 30 step functions, and a tree pruned by eight folds: the paper says so.
FIGURE_14_MODELS: dict[str, Make] = {
    "TreeRank": lambda: cart_tree(pruned=True, cv=8),
    "RankBoost": lambda: prepared(RankBoost(n_estimators=30, learning_rate=1.0)),
    "logistic regression": lambda: prepared(LogisticRegression(C=1e6, max_iter=1000)),
}


@dataclass(frozen=True)
class Study:
    """Every model on every set."""

    name: str
    sets: dict[str, Callable[..., Measures]]  # called with the model and the repeats
    models: dict[str, Make]
    repeats: tuple[int, ...]  # folds, or samples and bootstrap samples
    fewer: dict[str, tuple[int, ...]] = field(default_factory=dict)  # the same, of slow models
    skipped: set[tuple[str, str]] = field(default_factory=set)  # sets and models, too slow

    def tasks(self) -> list["Task"]:
        """List what is to be measured, each model on each set."""
        return [
            self._task(name, model)
            for name in self.sets
            for model in self.models
            if (name, model) not in self.skipped
        ]

    def _task(self, name: str, model: str) -> "Task":
        repeats = self.fewer.get(model, self.repeats)
        compute = partial(self.sets[name], self.models[model], *repeats)
        return Task(self.name, name, model, self._key(name, model, repeats), compute)

    def gather(self, measured: dict[str, Measures]) -> Results:
        """Sort measures by set and model; sets without any are left out."""
        results: Results = {}
        for task in self.tasks():
            if task.key in measured:
                results.setdefault(task.set, {})[task.model] = measured[task.key]
        return results

    def _key(self, name: str, model: str, repeats: tuple[int, ...]) -> str:
        """Name a result by all that it depends on: the model's parameters and the library too."""
        said = self.models[model]().__repr__(N_CHAR_MAX=100_000)
        said = re.sub(r" at 0x[0-9a-f]+", "", said)  # of objects that do not say what they are
        digest = hashlib.sha256(f"{said} {repeats} {fingerprint()}".encode()).hexdigest()[:16]
        return re.sub(r"[^\w-]+", "_", f"papers-{self.name}-{name}-{model}-{digest}")


@dataclass(frozen=True)
class Task:
    """One model on one set."""

    study: str
    set: str
    model: str
    key: str
    compute: Callable[[], Measures]

    def run(self) -> tuple["Task", Measures | BenchmarkUnavailableError]:
        """Measure; what an earlier run has measured is not measured again."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return self, remember(self.key, self.compute)
            except BenchmarkUnavailableError as error:
                return self, error


def run_all(studies: dict[str, Study], show: Show) -> dict[str, Results]:
    """Measure all tasks of all studies, one on each core; leave out sets that are not available."""
    tasks = [task for study in studies.values() for task in study.tasks()]
    run = Parallel(n_jobs=-1, return_as="generator_unordered")
    measured: dict[str, Measures] = {}
    unavailable = set()
    tasks.sort(key=lambda task: task.model not in LONG)
    results = run(delayed(task.run)() for task in tasks)
    for number, (task, result) in enumerate(results, start=1):
        if isinstance(result, BenchmarkUnavailableError):
            if task.set not in unavailable:
                show(f"{task.set}: left out. {result}\n")
            unavailable.add(task.set)
        else:
            measured[task.key] = result
        done = number / len(tasks)
        bar = "#" * round(20 * done)
        show(f"[{bar:20}] {done:4.0%}  {task.study}, {task.set}: {task.model}")
    return {name: study.gather(measured) for name, study in studies.items()}


def gaussians(quick: bool) -> Study:
    """Simulated data: three pairs of Gaussians, all variants and rivals."""
    models = variants(real=False) | rivals(real=False) | ours()
    sets = {name: partial(on_gaussians, level) for name, level in GAUSSIANS.items()}
    if quick:
        return Study("gaussians", _first(sets), _quick(models), (1, 2))
    fewer = dict.fromkeys(rivals(real=False), RIVAL_REPEATS) | dict.fromkeys(SLOW, FEW_REPEATS)
    return Study("gaussians", sets, models, GAUSSIAN_REPEATS, fewer)


def uci(quick: bool) -> Study:
    """Ten real sets, eight variants and the rivals."""
    models = variants(real=True) | rivals(real=True) | ours()
    sets = {name: partial(on_uci, name) for name in UCI}
    if quick:
        few = {name: sets[name] for name in ("hepatitis_complete", "vote_complete")}
        return Study("uci", few, _quick(models), (3,))
    return Study("uci", sets, models, (10,))


def figure_14(quick: bool) -> Study:
    """One real set, bootstrap samples."""
    sets = {"wdbc": on_breast_cancer}
    return Study("figure 14", sets, FIGURE_14_MODELS, (2 if quick else 50,))


def _first(sets: dict[str, Any]) -> dict[str, Any]:
    return dict(list(sets.items())[:1])


def _quick(models: dict[str, Make]) -> dict[str, Make]:
    """Leave out what takes long even on little data."""
    return {name: make for name, make in models.items() if name not in SLOW}
