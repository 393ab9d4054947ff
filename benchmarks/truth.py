"""How close trees come to a truth that is known: simulated models, whose best ROC curve we have."""

from collections.abc import Callable
from functools import partial
from itertools import product
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import truncexpon
from sklearn.metrics import roc_auc_score

from benchmarks.common import (
    Figure,
    Part,
    best_times,
    describe,
    figure_table,
    fingerprint,
    machine,
    markdown_table,
    publish,
    remember_part,
)
from benchmarks.truth_draws import NEW_ROWS, draws
from benchmarks.truth_splitters import grid_against_all_unions, pruning_cost, svm_splits
from treerank import LeafRank, TreeRank
from treerank.approximation import approximate_roc
from treerank.datasets import make_gaussians_20d, make_truncated_gaussians, make_uniform_mixture
from treerank.inspection import partial_dependence
from treerank.splitters import DyadicGrid

SEEDS = 20
DEPTHS = range(9)


# --- the uniform mixture of section 6.1: four level sets ---

MIXTURE_MODELS: dict[str, Callable[[], TreeRank]] = {
    "TreeRank()": TreeRank,
    'TreeRank(LeafRank(max_depth=4, pruning="cv"))': lambda: TreeRank(
        LeafRank(max_depth=4, pruning="cv")
    ),
    "TreeRank(DyadicGrid(1))": lambda: TreeRank(DyadicGrid(1)),
}


def level_sets_found(model: TreeRank, X: Any, level: NDArray[np.intp]) -> tuple[int, float]:
    """How many level sets are the main one of a stratum, and the share of rows in the right one."""
    strata = model.apply(X)
    table = np.zeros((len(model.partition_), level.max() + 1))
    np.add.at(table, (strata, level), 1)
    main = table.argmax(axis=1)
    return len(np.unique(main)), float(np.mean(main[strata] == level))


def mixture(seeds: int) -> Part:
    """AUC below the best one, and how many of the four level sets are found."""
    rows, figures = [], []
    for n, (name, make) in product((2_000, 10_000), MIXTURE_MODELS.items()):
        gap, found, right, strata = [], [], [], []
        for seed in range(seeds):
            train, new = draws(make_uniform_mixture, n, seed)
            model = make().fit(train.X, train.y)
            gap.append(float(train.truth.auc - model.score(new.X, new.y)))
            level = np.unique(new.truth.score(new.X), return_inverse=True)[1]
            sets, share = level_sets_found(model, new.X, level)
            found.append(sets == 4)
            right.append(share)
            strata.append(len(model.partition_))
        rows.append([f"{n:,}", f"`{name}`", f"{mean(gap):.4f}", f"{sum(found)} of {seeds}",
                     f"{mean(right):.1%}", f"{mean(strata):.1f}"])  # fmt: skip
        if n == 2_000 and name != list(MIXTURE_MODELS)[1]:
            figures += [
                Figure(f"uniform mixture, `{name}`: AUC* minus AUC", mean(gap), target=0.01),
                Figure(f"uniform mixture, `{name}`: seeds with all four level sets",
                       sum(found), target=seeds, bound="at least",
                       note=f"{mean(right):.1%} of the rows in the right one"),
            ]  # fmt: skip
    header = ["rows", "model", "AUC* minus AUC", "all four level sets", "rows in the right one",
              "strata"]  # fmt: skip
    return figures, markdown_table(header, rows, "rlrrrr")


# --- Fig. 12: four settings of complexity ---

# As in the CART of the paper's time: the training AUCs of its table need such limits.
CART_LIMITS = {"max_depth": None, "min_samples_leaf": 7, "min_samples_split": 20}
PAPER = {"(i)": (0.71, 0.67), "(ii)": (0.88, 0.67), "(iii)": (0.91, 0.66), "(iv)": (0.75, 0.71)}


def cut_back(model: TreeRank, X: Any, most_leaves: int) -> NDArray[np.intp]:
    """Score rows by the largest nested subtree that has no more leaves than that."""
    tree = model.tree_
    lambdas, collapsed_at = tree.sequence
    sizes = [1 + np.sum(collapsed_at > k) for k in range(len(lambdas))]
    split = collapsed_at > next(k for k, size in enumerate(sizes) if size <= most_leaves)
    cell_of = np.arange(tree.n_cells)
    for cell, parent in enumerate(tree.cells["parent"][1:], start=1):
        if not split[cell_of[parent]]:
            cell_of[cell] = cell_of[parent]
    return -cell_of[tree.leaves[model.apply(X)]]


def four_settings(train: Any) -> dict[str, Callable[[Any], Any]]:
    """Fit (i) to (iv) of Fig. 12; each gives scores for rows."""

    def grow(**limits: Any) -> TreeRank:
        splitter = LeafRank(**{**CART_LIMITS, **limits})
        model = TreeRank(splitter, max_depth=None, min_samples_leaf=1, pruning=None, shrinkage=None)
        return model.fit(train.X, train.y)

    small, middle, large = grow(max_leaf_nodes=3), grow(max_leaf_nodes=15), grow()
    pruned = TreeRank(
        LeafRank(**CART_LIMITS, pruning="cv"), max_depth=None, min_samples_leaf=1, cv=10,
        shrinkage=None,
    ).fit(train.X, train.y)  # fmt: skip
    return {
        "(i)": lambda X: cut_back(small, X, 3),
        "(ii)": lambda X: cut_back(middle, X, 15),
        "(iii)": large.score_samples,
        "(iv)": pruned.score_samples,
        "`TreeRank()`": TreeRank().fit(train.X, train.y).score_samples,
        "the truth": train.truth.score,
    }


def figure_12(seeds: int) -> Part:
    """Training and test AUC of the four settings on the pair of section 6.2."""
    aucs: dict[str, list[tuple[float, float]]] = {}
    for seed in range(seeds):
        train, new = draws(make_truncated_gaussians, 500, seed)
        for name, score in four_settings(train).items():
            pair = roc_auc_score(train.y, score(train.X)), roc_auc_score(new.y, score(new.X))
            aucs.setdefault(name, []).append(pair)
    test = {name: np.array(pairs)[:, 1] for name, pairs in aucs.items()}
    figures = []
    for rival in ("(i)", "(ii)", "(iii)"):
        ahead = test["(iv)"] - test[rival]
        error = ahead.std(ddof=1) / np.sqrt(seeds)
        figures.append(
            Figure(f"Fig. 12: test AUC of (iv) minus that of {rival}", float(ahead.mean()),
                   target=0, bound="at least",
                   note=f"standard error {error:.4f}, ahead in {np.sum(ahead > 0)} of {seeds}")
        )  # fmt: skip
    words = {
        "(i)": "(i) at most 3 leaves, LeafRank too", "(ii)": "(ii) at most 15, LeafRank too",
        "(iii)": "(iii) no limit", "(iv)": "(iv) both pruned by cross-validation",
    }  # fmt: skip
    rows = []
    for name, pairs in aucs.items():
        learning, testing = np.mean(pairs, axis=0)
        printed = [f"{value:.2f}" for value in PAPER.get(name, ())] or ["", ""]
        rows.append([words.get(name, name), f"{learning:.3f}", f"{testing:.3f}", *printed])
    header = ["setting", "training", "test", "paper: training", "paper: test"]
    return figures, markdown_table(header, rows, "lrrrr")


# --- approximation of ROC* by depth ---


def smooth_curve(fpr: Any) -> Any:
    """ROC curve of an exponential density on [0, 1] against the uniform one."""
    return truncexpon.cdf(3 * np.asarray(fpr), b=3)


def approximation(_seeds: int) -> Part:
    """Both distances for depths 0 to 8, on a smooth curve and on that of section 6.2."""
    curves = {"smooth": smooth_curve, "pair of section 6.2": make_truncated_gaussians(10).truth}
    errors = {
        name: np.array(
            [(a.sup_distance, a.l1_distance) for a in (approximate_roc(c, d) for d in DEPTHS)]
        )
        for name, c in curves.items()
    }
    falls = {name: (e[4:-1] / e[5:]) for name, e in errors.items()}
    figures = [
        Figure(f"approximation of the smooth curve, {norm}: least fall by level from depth 4 to 8",
               float(falls["smooth"][:, i].min()), target=3.9, bound="at least")
        for i, norm in enumerate(("largest gap", "area"))
    ]  # fmt: skip
    figures += [
        Figure("the same for the pair of section 6.2, area",
               float(falls["pair of section 6.2"][:, 1].min()), target=3.9, bound="at least"),
        Figure("the same for the pair of section 6.2, largest gap",
               float(falls["pair of section 6.2"][:, 0].min()),
               note="no bounded curvature at the ends of the curve: (9/4)^1.5 = 3.38 is the limit"),
    ]  # fmt: skip
    rows = []
    for depth in DEPTHS:
        cells = [str(depth), str(2**depth)]
        for e in errors.values():
            for norm in (0, 1):
                fall = f" (/ {e[depth - 1, norm] / e[depth, norm]:.2f})" if depth else ""
                cells.append(f"{e[depth, norm]:.2e}{fall}")
        rows.append(cells)
    header = ["depth", "pieces", "smooth: gap", "area", "section 6.2: gap", "area"]
    return figures, markdown_table(header, rows, "rrrrrr")


# --- partial dependence ---


def average_predictions(model: TreeRank, X: NDArray[Any], grid: NDArray[Any]) -> NDArray[Any]:
    """The definition: predict a copy of the rows for each value of the first feature."""
    copy, average = X.copy(), np.empty(len(grid))
    for i, value in enumerate(grid):
        copy[:, 0] = value
        average[i] = model.score_samples(copy).mean()
    return average


def dependence(_seeds: int) -> Part:
    """Tree walks beside the average of predictions on copies of the rows."""
    train = make_gaussians_20d(NEW_ROWS, "easy", random_state=0)
    rows, figures = [], []
    models = {"TreeRank()": TreeRank(), "TreeRank(pruning=None)": TreeRank(pruning=None)}
    for name, model in models.items():
        model.fit(train.X, train.y)
        walk = partial(partial_dependence, model, train.X, [0], grid_resolution=100)
        found = walk()
        predict = partial(average_predictions, model, train.X, found.grid[0])
        error = float(np.abs(predict() - found.average).max())
        times = best_times({"walk": walk, "predict": predict}, 3)
        ratio = times["predict"].cpu / times["walk"].cpu
        rows.append([f"`{name}`", str(len(model.partition_)), f"{1e3 * times['walk'].cpu:.1f}",
                     f"{1e3 * times['predict'].cpu:.0f}", f"{ratio:.0f}",
                     f"{error:.0e}"])  # fmt: skip
        figures += [
            Figure(f"partial dependence of `{name}`: error", error, target=1e-12),
            Figure(f"partial dependence of `{name}`: times faster than predictions", ratio,
                   target=50, bound="at least"),
        ]  # fmt: skip
    header = ["model", "strata", "walks, ms", "predictions, ms", "ratio", "largest difference"]
    return figures, markdown_table(header, rows, "lrrrrr")


PARTS: dict[str, Callable[[int], Part]] = {
    "mixture": mixture,
    "figure_12": figure_12,
    "approximation": approximation,
    "svm": svm_splits,
    "grid": grid_against_all_unions,
    "dependence": dependence,
    "cost": pruning_cost,
}

PAGE = """# Where the truth is known

{machine}

How close does a tree come to the best possible ranking? The rows are simulated and their best ROC
curve is computed, not estimated: {seeds} samples each unless a table says otherwise, tested on
{new:,} new rows.

## Against the targets

{targets}

## The uniform mixture

Section 6.1 of the paper *Adaptive partitioning schemes for bipartite ranking*: four quarters of a
square whose rates of positives are 0.2, 0.4, 0.67 and 0.75. A level set counts as found if it makes
up the largest part of some stratum.

{mixture}

With 2,000 rows the two best quarters are hard to tell apart: their rates differ by three standard
errors, and separating them adds only 0.01 to the AUC. In samples where one is not found, some other
split does better on the training rows, and no rule that looks only at those rows could know better.
The grid has no such splits to choose from, and with more rows LeafRank finds all four too.

## Four settings of complexity

Fig. 12 of the same paper, on the pair of Gaussians of section 6.2: 500 training rows, the true
optimum of the test column is 0.7391.

{figure_12}

All of them split nodes of at least 20 rows and leave at least 7 in a leaf, as CART does. With these
limits the training AUCs are those of the paper; without them a LeafRank tree memorises its rows and
(iii) has two strata. Setting (i) does better here than in the paper, perhaps because its leaves are
those of the best nested subtree of a larger tree.

## A piecewise linear ROC*

Distances between the best curve and the piecewise linear curve of the recursive scheme; in
brackets, the factor by which the error decreased from the previous level. Where the curvature is
bounded, the largest gap decreases by a factor of 4; the smooth curve is that of an exponential
density against the uniform one on [0, 1]. The curve of section 6.2 behaves like x + x^1.5 at both
ends, where the first piece keeps 4/9 of its length.

{approximation}

## A Gaussian SVM as the splitter

{svm}

## Unions of cubes

{grid}

## Partial dependence

10,000 rows, 20 features, a grid of 100 values; processor time, one thread.

{dependence}

## What pruned splits cost

Processor time of a fit with `LeafRank(pruning="cv")` over that without.

{cost}
"""


def measure(name: str, seeds: int) -> Part:
    """One part, from the cache if an earlier run got as far with this code."""
    return remember_part(f"truth-{name}-{seeds}-{fingerprint()}", partial(PARTS[name], seeds))


def run(quick: bool) -> None:
    """Measure, print, and unless `quick` write the page."""
    facts = machine()
    seeds = 2 if quick else SEEDS
    figures, tables = [], {}
    for name in PARTS:
        found, tables[name] = measure(name, seeds)
        figures += found
        print(f"{name}\n{tables[name]}\n", flush=True)
    page = PAGE.format(
        machine=describe(facts, "python -m benchmarks truth"), seeds=seeds, new=NEW_ROWS,
        targets=figure_table(figures), **tables,
    )  # fmt: skip
    print(figure_table(figures))
    if not quick:
        publish("truth", page, figures, {"machine": facts, "tables": tables})
