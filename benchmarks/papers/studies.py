"""The experiments: every model on one set, measured as the paper measures it."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
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

Measures = dict[str, list[float]]  # measure -> one value a fold or sample
Results = dict[str, dict[str, Measures]]  # set -> model -> measures


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


def on_gaussians(make: Make, difficulty: str, n_samples: int, n_bootstraps: int) -> Measures:
    """Tables 2 to 4 and 7 to 9: learn from 30 samples of 1,000 rows, measure on one of 1,000.

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


def on_uci(make: Make, name: str, n_folds: int) -> Measures:
    """Tables 5, 6, 10 and 11: stratified cross-validation."""
    X, y = load_uci(name)
    parts = []
    for train, test in StratifiedKFold(n_folds, shuffle=True, random_state=0).split(X, y):
        model = make().fit(X.iloc[train], y[train])
        parts.append(measure(y[test], scores_of(model, X.iloc[test])))
    return collect(parts)


def on_breast_cancer(make: Make, n_samples: int) -> Measures:
    """Fig. 14 of paper 000: bootstrap samples, 80 % to learn from, new rows to measure on."""
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


FIGURE_14_MODELS: dict[str, Make] = {
    "TreeRank": lambda: cart_tree(pruned=True),
    "RankBoost": lambda: prepared(RankBoost(n_estimators=30)),
    "logistic regression": lambda: prepared(LogisticRegression(C=1e6, max_iter=1000)),
}


def _run(study: str, sets: dict[str, Callable[[Make], Measures]], models: dict[str, Make],
         quick: bool, show: Callable[[str], None]) -> Results:  # fmt: skip
    """Every model on every set; what an earlier run has measured is not measured again."""
    results: Results = {}
    for number, (name, evaluate) in enumerate(sets.items()):
        results[name] = {}
        for place, (model, make) in enumerate(models.items()):
            done = (number * len(models) + place) / (len(sets) * len(models))
            show(f"{study} {done:4.0%}  {name}: {model}")
            key = f"papers-{study}-{name}-{model.strip('()')}-{'quick' if quick else 'full'}"
            try:
                results[name][model] = remember(f"{key}-{fingerprint()}", partial(evaluate, make))
            except BenchmarkUnavailableError as error:
                show(f"{name}: left out. {error}")
                del results[name]
                break
    return results


def gaussians(quick: bool, show: Callable[[str], None]) -> Results:
    """Simulated data: three pairs of Gaussians, all variants and rivals."""
    samples, bootstraps = (1, 2) if quick else (30, 20)
    models = variants(real=False) | rivals() | ours()
    sets = {name: partial(_swap(on_gaussians), level, samples, bootstraps)
            for name, level in GAUSSIANS.items()}  # fmt: skip
    return _run("gaussians", _few(sets, quick), _quick_models(models, quick), quick, show)


def uci(quick: bool, show: Callable[[str], None]) -> Results:
    """Ten real sets, eight variants and the rivals."""
    models = variants(real=True) | rivals() | ours()
    names = ("hepatitis_complete", "vote_complete") if quick else UCI
    sets = {name: partial(_swap(on_uci), name, 3 if quick else 10) for name in names}
    return _run("uci", sets, _quick_models(models, quick), quick, show)


def figure_14(quick: bool, show: Callable[[str], None]) -> Results:
    """One real set, bootstrap samples."""
    sets = {"wdbc": partial(_swap(on_breast_cancer), 2 if quick else 50)}
    return _run("figure 14", sets, FIGURE_14_MODELS, quick, show)


def ordinal(quick: bool, show: Callable[[str], None]) -> Results:
    """Tables 2, 3 and 5 of paper 004, ordered classes: the models of `ORDINAL_MODELS`.

    Empty until forests rank ordered classes; fill `ORDINAL_SETS` and `ORDINAL_MODELS`, and give
    the page a table of the result.
    """
    return _run("ordinal", ORDINAL_SETS, ORDINAL_MODELS, quick, show)


ORDINAL_SETS: dict[str, Callable[[Make], Measures]] = {}
ORDINAL_MODELS: dict[str, Make] = {}


def _swap(function: Callable[..., Measures]) -> Callable[..., Measures]:
    """Put the model last, so that `partial` can give the rest."""
    return lambda *rest: function(rest[-1], *rest[:-1])


def _few(sets: dict[str, Any], quick: bool) -> dict[str, Any]:
    return dict(list(sets.items())[:1]) if quick else sets


def _quick_models(models: dict[str, Make], quick: bool) -> dict[str, Make]:
    """Leave out what takes minutes even on little data."""
    slow = ("Bagg_SVM", "RF1_SVM", "RF2_SVM", "RankSVM")
    return {name: make for name, make in models.items() if not (quick and name in slow)}
