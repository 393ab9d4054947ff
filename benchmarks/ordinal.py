"""Ordered classes: simulated models with known VUS, real sets beside rivals, and speed."""

import re
from collections.abc import Callable
from functools import cache, partial
from textwrap import fill
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.common import (
    Figure,
    Times,
    best_times,
    describe,
    figure_table,
    fingerprint,
    machine,
    markdown_table,
    publish,
    remember,
    remember_part,
)
from treerank import LeafRank, RankingForest, TreeRank
from treerank.datasets import load_benchmark, make_ordinal_gaussians, make_ordinal_uniform
from treerank.metrics import ordinal_vus_score

# Set, lowest and highest label kept, and the VUS of the TreeRank Tournament in Table 5 of
# Robbiano & Clémençon 2013.
TASKS: dict[str, tuple[str, int, int, float]] = {
    "Cardiotocography": ("cardiotocography", 1, 3, 0.8569),
    "MQ2008": ("mq2008", 0, 2, 0.4115),
    "SWD 2-5": ("swd", 2, 5, 0.4029),
    "SWD 3-5": ("swd", 3, 5, 0.5674),
    "LEV 0-4": ("lev", 0, 4, 0.3003),
    "LEV 0-3": ("lev", 0, 3, 0.4819),
    "ESL 3-7": ("esl", 3, 7, 0.6412),
    "ERA 1-9": ("era", 1, 9, 0.0023),
    "ERA 1-7": ("era", 1, 7, 0.0074),
}
Floats = NDArray[np.float64]
Score = Callable[[Floats, NDArray[Any], Floats], Floats]  # training rows, labels, new rows
Table = dict[tuple[str, str], float]  # task and model: mean VUS


def _number(model: Callable[[], Any]) -> Score:
    """Scores of a regression on the label as a number."""
    return lambda X, y, new: np.asarray(model().fit(X, y).predict(new), dtype=np.float64)


def _expected_class(X: Floats, y: NDArray[Any], new: Floats) -> Floats:
    forest = RandomForestClassifier(200, random_state=0).fit(X, y)
    return np.asarray(forest.predict_proba(new) @ np.arange(len(forest.classes_)))


def _lightgbm(X: Floats, y: NDArray[Any], new: Floats) -> Floats:
    from lightgbm import LGBMRegressor  # noqa: PLC0415

    model = LGBMRegressor(n_estimators=200, verbose=-1, n_jobs=1, random_state=0)
    return np.asarray(model.fit(X, y).predict(new))


def by_score(model: Callable[[], Any]) -> Score:
    """Scores of a ranking model."""
    return lambda X, y, new: np.asarray(model().fit(X, y).score_samples(new))


OUR_MODELS: dict[str, Callable[[], Any]] = {
    "RankingForest": RankingForest,
    "TreeRank": TreeRank,
    "TreeRank, LeafRank 2": lambda: TreeRank(LeafRank(max_depth=2), pruning=None),
    # Depth 4, and CART trees pruned by their own folds as the splits: what the paper says, and the
    # defaults of its R package, as far as they are known.
    "TreeRank, the paper's": lambda: TreeRank(
        LeafRank(max_depth=None, pruning="cv"),
        max_depth=4,
        min_samples_leaf=1,
        pruning=None,
        shrinkage=None,
    ),
    "TreeRank, linear": lambda: TreeRank(
        make_pipeline(StandardScaler(), LogisticRegression()), max_depth=3
    ),
}
OURS = {name: by_score(model) for name, model in OUR_MODELS.items()}
TREE_RIVALS: dict[str, Score] = {
    "RF number": _number(lambda: RandomForestRegressor(200, random_state=0)),
    "RF expected class": _expected_class,
    "LightGBM": _lightgbm,
}
RIVALS = {**TREE_RIVALS, "least squares": _number(LinearRegression)}
SLOW = {"TreeRank, linear": ("MQ2008", "Cardiotocography")}  # large, and nothing for lines
FEW_REPLICATIONS = {"MQ2008": 1}  # 15,211 rows: its folds hardly differ


@cache
def load(task: str) -> tuple[Floats, NDArray[Any]]:
    """Rows whose labels lie within the task's range."""
    name, low, high, _ = TASKS[task]
    data = load_benchmark(name)
    X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y)
    kept = (y >= low) & (y <= high)
    return X[kept], y[kept]


def fold_scores(task: str, score: Score, replication: int) -> list[float]:
    """VUS on each of five stratified folds."""
    X, y = load(task)
    classes = np.unique(y)
    folds = StratifiedKFold(5, shuffle=True, random_state=100 + replication)
    return [
        ordinal_vus_score(y[new], score(X[old], y[old], X[new]), labels=classes)
        for old, new in folds.split(X, y)
    ]


def measure_task(task: str, name: str, replication: int) -> list[float]:
    """VUS of one model on the folds of one replication; remembered, so that a run can go on."""
    own = f"{fingerprint()}-" if name in OURS else ""
    key = f"ordinal-{own}{task}-{name}-{replication}".replace(" ", "_").replace(",", "")
    score = (OURS | RIVALS)[name]
    found: list[float] = remember(key, partial(fold_scores, task, score, replication))
    return found


def real_sets(replications: int) -> tuple[list[Figure], str, Table]:
    """Mean VUS of every method on every task, and how often the forest wins."""
    rows = []
    table: Table = {}
    for task in TASKS:
        for name in [*OURS, *RIVALS]:
            if task in SLOW.get(name, ()):
                continue
            scores = [
                measure_task(task, name, r)
                for r in range(min(replications, FEW_REPLICATIONS.get(task, replications)))
            ]
            table[task, name] = float(np.mean(scores))
            print(f"{task}: {name} {table[task, name]:.4f}", flush=True)
        paper = TASKS[task][3]
        names = [*OURS, *RIVALS]
        cells = [f"{table[task, n]:.4f}" if (task, n) in table else "" for n in names]
        rows.append([task, f"{paper:.4f}", *cells])
    header = ["task", "paper", *OURS, *RIVALS]
    forest = {task: table[task, "RankingForest"] for task in TASKS}
    beats_trees = sum(
        all(forest[task] > table[task, rival] for rival in TREE_RIVALS) for task in TASKS
    )
    beats_paper = sum(forest[task] > TASKS[task][3] for task in TASKS)
    tree_wins = sum(
        max(table[t, "TreeRank"], table[t, "TreeRank, LeafRank 2"]) > TASKS[t][3]
        for t in ("Cardiotocography", "MQ2008")
    )
    figures = [
        Figure("tasks on which RankingForest() is above all tree rivals", beats_trees, "of 9", 7,
               "at least"),
        Figure("tasks on which RankingForest() is above the paper", beats_paper, "of 9", 7,
               "at least"),
        Figure("of Cardiotocography and MQ2008, where a single tree is above the paper", tree_wins,
               "of 2", 2, "at least"),
    ]  # fmt: skip
    return figures, markdown_table(header, rows, "l" + "r" * (len(header) - 1)), table


def say_linear(table: Table) -> str:
    """Say in words what splits by logistic regression bring."""
    linear, plain, line = "TreeRank, linear", "TreeRank", "least squares"
    tasks = [task for task in TASKS if (task, linear) in table]
    above = [task for task in tasks if table[task, linear] > table[task, plain]]
    level = [task for task in tasks if table[task, linear] >= table[task, line]]
    return fill(
        f'A tree of depth 3 whose cells are split by logistic regression ("{linear}") is above '
        f"`TreeRank()` on {len(above)} of {len(tasks)} tasks ({', '.join(above) or 'none'}), and "
        f"not below least squares on {len(level)} ({', '.join(level) or 'none'}).",
        100,
    )


def say_cardiotocography(table: Table) -> str:
    """Say in words how single trees do on the paper's own table."""
    task = "Cardiotocography"
    printed = TASKS[task][3]
    own = {name: table[task, name] for name in OURS if "Tree" in name and (task, name) in table}
    best = max(own, key=lambda name: own[name])
    named = "TreeRank, the paper's"
    reached = "reaches" if own[best] >= printed else "does not reach"
    return fill(
        f"On {task} this tree has {own[named]:.4f}, where the paper prints {printed:.4f}; the best "
        f'of our single trees there, "{best}", {reached} it with {own[best]:.4f}. The paper counts '
        "20 features where we have 21, and does not say how its CART trees were pruned.",
        100,
    )


GAUSSIAN_MODELS: dict[str, Callable[[], Any]] = {
    "TreeRank()": TreeRank,
    'TreeRank(LeafRank(criterion="auc"), min_samples_leaf=20)': lambda: TreeRank(
        LeafRank(criterion="auc"), min_samples_leaf=20
    ),
    "TreeRank(LogisticRegression(), max_depth=5)": lambda: TreeRank(
        LogisticRegression(), max_depth=5
    ),
    "RankingForest()": RankingForest,
}
UNIFORM_MODELS: dict[str, Callable[[], Any]] = {
    "TreeRank()": TreeRank,
    "TreeRank(LeafRank(max_depth=4))": lambda: TreeRank(LeafRank(max_depth=4)),
    "RankingForest()": RankingForest,
}


def sample_scores(
    make: Callable[..., Any], n: int, model: Callable[[], Any], samples: int
) -> list[float]:
    """VUS of a model on new rows, sample after sample."""
    draws = ((make(n, random_state=s), make(n, random_state=10_000 + s)) for s in range(samples))
    return [model().fit(old.X, old.y).score(new.X, new.y) for old, new in draws]


def simulated(
    make: Callable[..., Any], n: int, models: dict[str, Callable[[], Any]], samples: int
) -> tuple[dict[str, Floats], float]:
    """VUS of each model on new rows, sample after sample; and the best there is."""
    found = {}
    for name, model in models.items():
        words = re.sub(r"\W+", "_", f"{make.__name__} {samples} {name}")
        compute = partial(sample_scores, make, n, model, samples)
        found[name] = np.array(remember(f"ordinal-{fingerprint()}-{words}", compute))
    return found, make(n, random_state=0).truth.vus


def simulated_table(found: dict[str, Floats], best: float, paper: float) -> str:
    """Means and spreads beside the paper's figure and the best VUS there is."""
    rows = [[f"`{n}`", f"{v.mean():.4f}", f"{v.std(ddof=1):.4f}"] for n, v in found.items()]
    rows += [["TreeRank Tournament in the paper", f"{paper:.4f}", ""]]
    rows += [["the best there is", f"{best:.4f}", ""]]
    return markdown_table(["model", "mean test VUS", "spread"], rows, "lrr")


def speed(quick: bool) -> tuple[list[Figure], str]:
    """A tournament beside a fit of two classes on the same rows."""
    rng = np.random.default_rng(0)
    n = 20_000 if quick else 200_000
    X = rng.normal(size=(n, 20))
    latent = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n)
    figures, rows = [], []
    grown = {"pruning": None, "shrinkage": None, "max_depth": 8}

    def labels(n_classes: int) -> NDArray[np.intp]:
        return np.searchsorted(np.quantile(latent, np.arange(1, n_classes) / n_classes), latent)

    for n_classes in (3, 5):
        calls: dict[str, Callable[[], Any]] = {
            "two": lambda: TreeRank(**grown).fit(X, labels(2)),
            "adjacent": lambda k=n_classes: TreeRank(tournament="adjacent", **grown).fit(
                X, labels(k)
            ),
            "all": lambda k=n_classes: TreeRank(**grown).fit(X, labels(k)),
        }
        times: dict[str, Times] = best_times(calls, 3)
        for name in ("adjacent", "all"):
            ratio = times[name].cpu / times["two"].cpu
            rows.append([str(n_classes), name, f"{times[name].cpu:.2f}", f"{ratio:.2f}"])
            target = 1.3 * (n_classes - 1) if name == "adjacent" else None
            figures.append(
                Figure(f"fit of {n_classes} classes, {name} pairs, over a fit of two", ratio,
                       "times", target)
            )  # fmt: skip
    y, s = labels(5), latent + rng.normal(size=n)
    many = np.tile(y, 1_000_000 // n), np.tile(s, 1_000_000 // n) + rng.random(1_000_000)
    took = best_times({"vus": lambda: ordinal_vus_score(*many)}, 3)["vus"].cpu
    figures.append(Figure("VUS of a million scores, five classes", took, "s", 0.5))
    header = ["classes", "tournament", "seconds", "times a fit of two classes"]
    return figures, markdown_table(header, rows, "rlrr")


PAGE = """# Ordered classes

How well do trees and forests rank ordered classes, beside the best possible ranking, other models
and the paper? The score is the VUS, the probability that one row of each class is ordered
correctly.

{machine}

## Against the targets

{targets}

## Simulated: three Gaussians

{samples} samples of 3,000 rows, tested on as many new rows. The level sets are straight lines
across both features: a tree needs many boxes to approximate them, while a tree whose cells are
split by logistic regression follows them.

{gaussian}

## Simulated: nine cells

{samples} samples of 10,000 rows, tested on as many new rows. A cell of the square may contain the
worst and the best class and nothing of the middle one: a tournament of adjacent classes cannot see
that, a tournament of all pairs can, and a split has to be a union of several boxes.

{uniform}

## Real sets

Stratified five-fold cross-validation, replications: {replications} (in the paper 5), default
parameters unless the column says otherwise. "Paper" is the TreeRank Tournament of Robbiano &
Clémençon 2013, Table 5; its folds and its Cardiotocography features differ slightly from ours. "RF
number" and LightGBM predict the label as a number; "RF expected class" ranks by the expected class
of the forest's class probabilities.

{real}

On LEV, ESL and ERA a few features increase or decrease with the label, and least squares is hard to
beat: a straight line is the right shape, and boxes can only approximate it. Monotone constraints
were tried on the simulated Gaussians only.

{linear}

"TreeRank, the paper's" is the tree that the paper describes: depth 4, with cells split by CART
trees, here pruned by folds of their own, all pairs of classes in the tournament, and nothing pruned
or shrunk afterwards.

{cardiotocography}

## Speed

Seconds on one thread for 200,000 rows of 20 features, depth 8, unpruned.

{speed}
"""


def run(quick: bool) -> None:
    """Measure, print, and unless `quick` write the page."""
    facts = machine()
    samples, replications = (3, 1) if quick else (50, 1)
    timed, speeds = remember_part(f"ordinal-speed-{quick}-{fingerprint()}", partial(speed, quick))
    gaussian, best = simulated(make_ordinal_gaussians, 3_000, GAUSSIAN_MODELS, samples)
    trees = [float(v.mean()) for n, v in gaussian.items() if n.startswith("TreeRank(")]
    uniform, top = simulated(make_ordinal_uniform, 10_000, UNIFORM_MODELS, samples)
    figures = [
        Figure("Gaussians: best mean test VUS of tree and forest",
               max(float(v.mean()) for v in gaussian.values()), "", 0.4326, "at least"),
        Figure("Gaussians: mean test VUS of a tree", max(trees), "", 0.425, "at least"),
        Figure("Gaussians: mean test VUS of `TreeRank()`", float(gaussian["TreeRank()"].mean())),
        Figure("nine cells: VUS* less mean test VUS",
               top - max(float(v.mean()) for v in uniform.values()), "", 0.0143, "at most"),
        Figure("nine cells: mean test VUS of `TreeRank()`", float(uniform["TreeRank()"].mean()), "",
               0.578, "at least"),
        *timed,
    ]  # fmt: skip
    print(figure_table(figures), flush=True)
    found, real, table = real_sets(replications)
    figures += found
    page = PAGE.format(
        machine=describe(facts, "python -m benchmarks ordinal"), samples=samples,
        replications=replications, targets=figure_table(figures),
        gaussian=simulated_table(gaussian, best, 0.4326),
        uniform=simulated_table(uniform, top, 0.5783), real=real, speed=speeds,
        linear=say_linear(table), cardiotocography=say_cardiotocography(table),
    )  # fmt: skip
    print(figure_table(figures))
    if not quick:
        publish("ordinal", page, figures, {"machine": facts})
