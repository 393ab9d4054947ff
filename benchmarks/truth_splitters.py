"""Splitters where the truth is known: an SVM, unions of cubes, and pruned LeafRank trees."""

from collections.abc import Callable
from functools import partial
from itertools import product
from statistics import mean
from typing import Any

import numpy as np
from sklearn.svm import SVC

from benchmarks.common import Figure, Part, best_times, markdown_table
from benchmarks.truth_draws import draws
from treerank import LeafRank, TreeRank
from treerank.datasets import make_gaussians_20d
from treerank.splitters import DyadicGrid


def svm_splits(seeds: int) -> Part:
    """A Gaussian SVM as the splitter, beside LeafRank, on the easy pair in 20 dimensions."""
    models: dict[str, Callable[[], TreeRank]] = {
        "TreeRank()": TreeRank,
        "TreeRank(LeafRank(max_depth=4))": lambda: TreeRank(LeafRank(max_depth=4)),
        'TreeRank(LeafRank(max_depth=4, pruning="cv"))': lambda: TreeRank(
            LeafRank(max_depth=4, pruning="cv")
        ),
        'TreeRank(splitter=SVC(kernel="rbf"))': lambda: TreeRank(splitter=SVC(kernel="rbf")),
    }
    seeds = min(seeds, 5)
    aucs: dict[str, list[float]] = {name: [] for name in models}
    strata: dict[str, list[int]] = {name: [] for name in models}
    for seed in range(seeds):
        train, new = draws(make_gaussians_20d, 1_000, seed, difficulty="easy")
        for name, make in models.items():
            model = make().fit(train.X, train.y)
            aucs[name].append(float(model.score(new.X, new.y)))
            strata[name].append(len(model.partition_))
    svm = mean(aucs[list(models)[-1]])
    best_tree = max(mean(aucs[name]) for name in list(models)[:-1])
    rows = [[f"`{name}`", f"{mean(aucs[name]):.3f}", f"{mean(strata[name]):.1f}"]
            for name in models]  # fmt: skip
    rows.append(["the truth", f"{train.truth.auc:.3f}", ""])
    figure = Figure("easy 20-dimensional pair: AUC with SVM splits minus the best LeafRank tree's",
                    svm - best_tree, target=0, bound="at least",
                    note=f"{seeds} seeds, 1,000 training rows as in the paper")  # fmt: skip
    return [figure], markdown_table(["model", "test AUC", "strata"], rows, "lrr")


def grid_against_all_unions(seeds: int) -> Part:
    """DyadicGrid's beta - alpha beside the best of all unions of cubes."""
    largest, rows = 0.0, []
    for n_features, resolution in ((1, 2), (1, 3), (2, 1), (3, 1)):
        side = 2**resolution
        differences = []
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            X = rng.random((60, n_features))
            X[0], X[1] = 0, 1  # so that the cubes are known
            y, weight = rng.integers(0, 2, 60), rng.integers(1, 4, 60).astype(float)
            better = DyadicGrid(resolution).fit(X, y, weight).better_side(X)
            cube = np.minimum((X * side).astype(int), side - 1) @ side ** np.arange(n_features)
            unions = np.array(list(product([False, True], repeat=side**n_features)))
            shares = [weight * (y == k) / weight[y == k].sum() for k in (0, 1)]
            worth = unions[:, cube] @ (shares[1] - shares[0])
            differences.append(float(abs(worth.max() - better @ (shares[1] - shares[0]))))
        largest = max(largest, *differences)
        rows.append([str(n_features), str(side), f"{2 ** (side**n_features):,}",
                     f"{max(differences):.0e}"])  # fmt: skip
    figure = Figure("DyadicGrid's split less than the best of all unions of cubes", largest,
                    target=1e-12)  # fmt: skip
    header = ["features", "cubes a side", "unions", "largest difference"]
    return [figure], markdown_table(header, rows, "rrrr")


def fit_tree(train: Any, settings: dict[str, Any], depth: int, pruning: str | None) -> TreeRank:
    """Fit with LeafRank of some depth, pruned or not."""
    splitter = LeafRank(max_depth=depth, pruning=pruning)
    return TreeRank(splitter, **settings).fit(train.X, train.y)


def pruning_cost(_seeds: int) -> Part:
    """Growth with pruned splits beside growth without, and the whole fit."""
    rows, largest = [], 0.0
    for n, depth in ((1_000, 4), (20_000, 2), (20_000, 4)):
        train = make_gaussians_20d(n, "easy", random_state=0)
        ratios = []
        for settings in ({"pruning": None, "shrinkage": None}, {}):
            calls = {
                str(pruning): partial(fit_tree, train, settings, depth, pruning)
                for pruning in (None, "cv")
            }
            times = best_times(calls, 3)
            ratios.append(times["cv"].cpu / times["None"].cpu)
        largest = max(largest, ratios[0])
        rows.append([f"{n:,} x 20", str(depth), f"{ratios[0]:.2f}", f"{ratios[1]:.2f}"])
    figure = Figure('growth with `LeafRank(pruning="cv")`: times as long', largest,
                    note="trees whose splits are pruned often end earlier")  # fmt: skip
    header = ["rows x features", "LeafRank's depth", "growth alone", "whole fit"]
    return [figure], markdown_table(header, rows, "rrrr")
