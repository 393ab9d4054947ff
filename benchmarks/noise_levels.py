"""What a text column of random labels costs, and what columns of real categories gain."""

import os
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

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
from treerank import BoostedTreeRank, LeafRank, RankingForest, TreeRank
from treerank.datasets import BenchmarkUnavailableError, list_benchmarks, load_benchmark
from treerank.metrics import ordinal_vus_score

LEVELS = [2, 10, 50, 200, 500, 1_000, 2_000]
N_TRAIN, N_TEST = 5_000, 20_000
SEEDS, QUICK_SEEDS = 5, 1
# What a column of noise may cost, of AUC or VUS, on average over tables and seeds.
BAR = 0.003

SIMULATED = ["linear", "weak", "steps", "grades"]
NOISE_SETS = ["adult", "bank_marketing", "magic", "coil2000", "churn_mlc", "spambase"]
CATEGORY_SETS = [
    "adult", "bank_marketing", "census_income_kdd", "german", "crx", "hypothyroid", "car",
    "flights", "movielens", "loan_grades", "resume_callback", "fertility", "vote2016", "attrition",
]  # fmt: skip

RIVAL = "LightGBM"


def make_rival(seed: int) -> Any:
    """Return an unfitted LightGBM, as many trees as BoostedTreeRank has."""
    from lightgbm import LGBMClassifier  # noqa: PLC0415

    return LGBMClassifier(
        n_estimators=200, learning_rate=0.05, n_jobs=1, verbose=-1, random_state=seed
    )


MODELS: dict[str, Callable[[int], Any]] = {
    "TreeRank()": lambda seed: TreeRank(random_state=seed),
    "TreeRank(LeafRank(max_depth=3))": lambda seed: TreeRank(
        LeafRank(max_depth=3), random_state=seed
    ),
    "LeafRank(max_depth=4)": lambda seed: LeafRank(max_depth=4, random_state=seed),
    "RankingForest(n_estimators=50)": lambda seed: RankingForest(
        n_estimators=50, random_state=seed
    ),
    "BoostedTreeRank()": lambda seed: BoostedTreeRank(random_state=seed),
    RIVAL: make_rival,
}
TWO_CLASSES_ONLY = "LeafRank(max_depth=4)"
OURS = [name for name in MODELS if name != RIVAL]

Rows = tuple[Any, Any]  # features and labels
Scores = dict[str, float]  # by model


def simulate(kind: str, seed: int) -> Rows:
    """Numbers and labels of a known model: two classes, or three grades."""
    rng = np.random.default_rng([seed, SIMULATED.index(kind)])
    n = N_TRAIN + N_TEST
    x = rng.normal(size=(n, 6))
    signal = {
        "linear": x[:, 0] + 0.6 * x[:, 1] - 0.5 * x[:, 2],
        "weak": 0.5 * x[:, 0] + 0.3 * x[:, 1] * x[:, 2],
        "steps": 1.5 * (x[:, 0] > 0) + (x[:, 1] > 0.5) * (x[:, 2] > 0),
        "grades": x[:, 0] + 0.6 * x[:, 1] - 0.5 * x[:, 2] * x[:, 3],
    }[kind] + rng.logistic(size=n)
    cuts = [1 / 3, 2 / 3] if kind == "grades" else [0.6]
    y = np.digitize(signal, np.quantile(signal, cuts))
    return pd.DataFrame(x, columns=list("abcdef")), y


@cache
def load(name: str) -> Rows:
    """Read a real set; more than three grades are put together into three."""
    if name in list_benchmarks():
        found = load_benchmark(name)
        X, y = found.X, found.y
    else:  # a set of the data folder that the package does not know
        path = Path(os.environ.get("TREERANK_DATA", "")) / f"{name}.csv.gz"
        if not path.is_file():
            raise BenchmarkUnavailableError(
                f"There is no {path.name} in the folder that TREERANK_DATA names."
            )
        X = pd.read_csv(path)
        y = X.pop("label").to_numpy()
        text = [column for column in X if not pd.api.types.is_numeric_dtype(X[column])]
        X = X.astype(dict.fromkeys(text, "category"))
    if len(np.unique(y)) > 3:
        y = np.digitize(y, np.quantile(y, [0.4, 0.8]))
    # LightGBM refuses some characters in names.
    return X.set_axis([f"x{j}" for j in range(X.shape[1])], axis=1), y


def draw(name: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """Rows and labels to learn from and to be judged on, as (X, y, learned, judged)."""
    if name in SIMULATED:
        X, y = simulate(name, seed)
        return X, y, np.arange(N_TRAIN), np.arange(N_TRAIN, len(y))
    X, y = load(name)
    rows = np.random.default_rng(seed).permutation(len(y))
    n_train = min(N_TRAIN, round(0.7 * len(y)))
    return X, y, rows[:n_train], rows[n_train : n_train + N_TEST]


def quality(model: Any, X: Any, y: Any) -> float:
    """AUC, or VUS of three grades."""
    if len(model.classes_) == 2:
        scored = hasattr(model, "score_samples")
        score = model.score_samples(X) if scored else model.predict_proba(X)[:, 1]
        return float(roc_auc_score(y, score))
    if hasattr(model, "score_samples"):
        return float(ordinal_vus_score(y, model.score_samples(X)))
    return float(ordinal_vus_score(y, model.predict_proba(X) @ np.arange(3)))


def evaluate(X: Any, y: Any, rows: tuple[Any, Any], seed: int) -> Scores:
    """Fit all models to some rows, and judge them on others."""
    learned, judged = rows
    found = {}
    for name, make in MODELS.items():
        if name == TWO_CLASSES_ONLY and len(np.unique(y)) > 2:
            continue
        model = make(seed).fit(X.iloc[learned], y[learned])
        found[name] = quality(model, X.iloc[judged], y[judged])
    return found


def with_noise(X: Any, n_levels: int, seed: int) -> Any:
    """Add a column of random labels; none for 0 levels."""
    if n_levels == 0:
        return X
    labels = np.random.default_rng([seed, n_levels]).integers(0, n_levels, len(X))
    return X.assign(noise=pd.Categorical(np.char.add("v", labels.astype(str))))


def _evaluate_noise(name: str, seed: int, n_levels: int) -> Scores:
    X, y, learned, judged = draw(name, seed)
    return evaluate(with_noise(X, n_levels, seed), y, (learned, judged), seed)


def measure_noise(name: str, seed: int, n_levels: int) -> Scores:
    """Scores on one draw with noise; remembered, so that a run can go on."""
    key = f"noise-{name}-{seed}-{n_levels}-{fingerprint()}"
    found: Scores = remember(key, partial(_evaluate_noise, name, seed, n_levels))
    return found


def _evaluate_categories(name: str, seed: int, kept: bool) -> Scores:
    X, y, learned, judged = draw(name, seed)
    if not kept:
        X = X.select_dtypes(exclude="category")
        if X.shape[1] == 0:  # nothing but categories: a constant
            X = X.assign(constant=0.0)
    return evaluate(X, y, (learned, judged), seed)


def measure_categories(name: str, seed: int, kept: bool) -> Scores:
    """Scores on one draw with or without categories; remembered likewise."""
    key = f"categories-{name}-{seed}-{kept}-{fingerprint()}"
    found: Scores = remember(key, partial(_evaluate_categories, name, seed, kept))
    return found


def available(names: list[str], skipped: list[str]) -> Iterator[str]:
    """Sets that can be had; the names of others go to `skipped`."""
    for name in names:
        try:
            if name not in SIMULATED:
                load(name)
        except BenchmarkUnavailableError as error:
            print(f"{name}: left out. {error}", flush=True)
            skipped.append(name)
        else:
            yield name


Measured = dict[str, dict[str, list[Scores]]]  # set -> variant -> scores of each seed


def measure(quick: bool) -> tuple[Measured, Measured, list[str]]:
    """Evaluate all models on all sets: with noise of each number of levels; with categories."""
    skipped: list[str] = []
    seeds = range(QUICK_SEEDS if quick else SEEDS)
    levels = [0, 50, 500] if quick else [0, *LEVELS]
    noise: Measured = {}
    for name in available(SIMULATED[:2] if quick else SIMULATED + NOISE_SETS, skipped):
        noise[name] = {str(k): [measure_noise(name, seed, k) for seed in seeds] for k in levels}
        print(name, {k: round(mean(s["TreeRank()"] for s in v), 4) for k, v in noise[name].items()})
    real: Measured = {}
    for name in available(CATEGORY_SETS[:1] if quick else CATEGORY_SETS, skipped):
        real[name] = {
            "kept" if kept else "dropped": [measure_categories(name, seed, kept) for seed in seeds]
            for kept in (True, False)
        }
        print(name, {k: round(mean(s["TreeRank()"] for s in v), 4) for k, v in real[name].items()})
    return noise, real, sorted(set(skipped))


def costs(noise: Measured, model: str, n_levels: str) -> list[float]:
    """What the noise costs a model, for each set and seed."""
    return [
        without[model] - beside[model]
        for variants in noise.values()
        for without, beside in zip(variants["0"], variants[n_levels], strict=True)
        if model in without
    ]


def levels_of(noise: Measured) -> list[str]:
    """Numbers of levels that were measured."""
    return [k for k in next(iter(noise.values())) if k != "0"]


def judge(noise: Measured) -> list[Figure]:
    """Compare with the bar: the worst number of levels of each model."""
    figures = []
    for model in OURS:
        found = {k: mean(costs(noise, model, k)) for k in levels_of(noise)}
        worst = max(found, key=lambda k: found[k])
        figures.append(
            Figure(f"{model}: largest mean cost", found[worst], target=BAR,
                   note=f"with {int(worst):,} levels")
        )  # fmt: skip
    return figures


def noise_table(noise: Measured) -> str:
    """Mean cost by model and number of levels, with its standard error."""
    rows = []
    for model in MODELS:
        cells = []
        for k in levels_of(noise):
            found = np.array(costs(noise, model, k))
            error = found.std(ddof=1) / np.sqrt(len(found))
            cells.append(f"{found.mean():+.4f} ± {error:.4f}")
        rows.append([f"`{model}`" if model in OURS else model, *cells])
    header = ["model", *[f"{int(k):,} levels" for k in levels_of(noise)]]
    return markdown_table(header, rows, "l" + "r" * len(levels_of(noise)))


def category_table(real: Measured) -> str:
    """AUC or VUS with the categories, and in brackets what they gain over the numbers alone."""
    rows = []
    for name, variants in real.items():
        cells = []
        for model in MODELS:
            if model not in variants["kept"][0]:
                cells.append("")
                continue
            kept, dropped = (
                mean(scores[model] for scores in variants[k]) for k in ("kept", "dropped")
            )
            cells.append(f"{kept:.4f} ({kept - dropped:+.4f})")
        rows.append([name, *cells])
    header = ["set", *[f"`{model}`" if model in OURS else model for model in MODELS]]
    return markdown_table(header, rows, "l" + "r" * len(MODELS))


PAGE = """# Categories: what noise costs, what real levels gain

{machine}

How much does a meaningless category cost, and how much do real categories gain? Each data set is
drawn {seeds} times, with at most {train:,} training rows and at most {test:,} others for testing,
on one thread. The score is the AUC, or the VUS of three grades. LightGBM has 200 trees and is told
which columns are categories.
{skipped}
## Against the targets

A text column of random labels is added to each data set. Its cost is the score without it minus the
score with it, averaged over {noise_sets} data sets, simulated and real, and over the draws.

{targets}

## Noise

Mean cost and its standard error. Part of the spread of single trees is not due to the column: an
additional column assigns rows to other folds, and the folds decide how a tree is pruned.

{noise}

## Real categories

The score with all columns; in brackets, what the categories add to the score of the numbers alone.
`movielens`, `loan_grades` and `car` have grades, which are joined into three.

{categories}
"""


def run(quick: bool) -> None:
    """Measure, print, and unless `quick` write the page."""
    facts = machine()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        noise, real, skipped = measure(quick)
    figures = judge(noise)
    page = PAGE.format(
        machine=describe(facts, "python -m benchmarks noise_levels"),
        train=N_TRAIN, test=N_TEST, seeds=SEEDS, noise_sets=len(noise),
        targets=figure_table(figures), noise=noise_table(noise), categories=category_table(real),
        skipped=f"\nLeft out because they were not available: {', '.join(skipped)}.\n"
        if skipped else "",
    )  # fmt: skip
    print(page)
    if not quick:
        publish("noise_levels", page, figures, {"machine": facts, "noise": noise, "real": real})
