"""One fitted model of every kind that a model file can hold, and rows to score with it."""

import numpy as np
import pandas as pd
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

import treerank
from treerank import (
    BoostedTreeRank,
    GeometricRanker,
    LeafRank,
    RankingForest,
    TreeRank,
    baselines,
)
from treerank.splitters import DyadicGrid


def loans(n=400, seed=0):
    """Return a table with numbers, text categories, booleans and missing values."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "income": rng.normal(size=n).round(3),
            "age": rng.integers(18, 80, n),
            "home": rng.choice(["owns", "rents", 'with "family"', "größe <b>"], n),
            "member": rng.random(n) < 0.3,
        }
    )
    risk = X.income + 0.04 * X.age - 1.2 * (X.home == "rents") + 0.8 * X.member
    y = (risk + rng.normal(size=n) > 2).astype(int)
    X.loc[rng.random(n) < 0.15, "income"] = np.nan
    X["home"] = X["home"].where(rng.random(n) > 0.1, None)
    return X, y


def new_rows(n=500, seed=7):
    """Return rows with missing values, a level that the models have not seen, and far values."""
    X, _ = loans(n, seed)
    X["income"] *= 3
    X.loc[::11, "home"] = "a boat"
    return X


def numbers(n=200, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, (X[:, 0] - X[:, 1] ** 2 + rng.normal(size=n) > -0.5).astype(int)


TREES = {
    "tree": TreeRank,
    "deep_tree": lambda: TreeRank(LeafRank(max_depth=3), max_depth=4, pruning=None, cv=3),
    "penalty_tree": lambda: TreeRank(pruning="penalty", shrinkage=None, penalty_bounds=(0.2, 0.8)),
    "monotone_tree": lambda: TreeRank(monotonic_cst={"income": 1, "age": 1}, n_jobs=2),
    "cell_mean_tree": lambda: TreeRank(missing="cell_mean", min_samples_leaf=0.05),
    "leafrank": lambda: LeafRank(max_depth=3, criterion="entropy"),
}
GRID_TREES = {
    "grid_tree": lambda: TreeRank(DyadicGrid(3), max_features=4, cv=3, noise_limit=0),
    "penalty_grid_tree": lambda: TreeRank(DyadicGrid(), pruning="penalty"),
}
FORESTS = {
    "forest": lambda: RankingForest(n_estimators=5, oob_score=True, random_state=3),
    "whole_forest": lambda: RankingForest(LeafRank(max_depth=None), n_estimators=4),
    "warm_forest": lambda: RankingForest(n_estimators=3, warm_start=True),
    "mean_rank_forest": lambda: RankingForest.preset("rf5", n_estimators=4),
    "median_rank_forest": lambda: RankingForest(n_estimators=4, aggregation="median_rank"),
    "kendall_forest": lambda: RankingForest(n_estimators=4, aggregation="kendall"),
    "grid_forest": lambda: RankingForest(DyadicGrid(), n_estimators=3, oob_score=True),
    "warm_grid_forest": lambda: RankingForest(
        DyadicGrid(), n_estimators=2, warm_start=True, aggregation="mean_rank"
    ),
}
BOOSTED = {
    "boosted": lambda: BoostedTreeRank(n_estimators=6),
    "stopped_boosted": lambda: BoostedTreeRank(
        n_estimators=9, loss="pairwise", early_stopping=True, n_iter_no_change=2
    ),
}
ORDINAL = {
    "graded_tree": lambda: TreeRank(LeafRank(max_depth=2), label_order=["bad", "fair", "good"]),
    "graded_forest": lambda: RankingForest(n_estimators=4, oob_score=True, label_order=GRADES),
    "graded_warm_forest": lambda: RankingForest(
        n_estimators=3, warm_start=True, monotonic_cst={"income": 1}, label_order=GRADES
    ),
    "graded_rank_forest": lambda: RankingForest(
        n_estimators=4, aggregation="median_rank", label_order=GRADES
    ),
    "graded_boosted": lambda: BoostedTreeRank(n_estimators=4, label_order=GRADES),
    "graded_grid_tree": lambda: TreeRank(DyadicGrid(1), label_order=GRADES),
}
GRADES = ["bad", "fair", "good"]
RIVALS = {
    "rankboost": lambda: baselines.RankBoost(n_estimators=8),
    "pnorm_push": lambda: baselines.PNormPush(n_estimators=8),
    "linear_svm": lambda: baselines.RankSVM(kernel="linear"),
    "svm": baselines.RankSVM,
    "rls": baselines.RankRLS,
    "kernel_logistic": lambda: baselines.KernelLogisticRegression(
        approximation="nystroem", n_components=10, random_state=0
    ),
    "logitboost": lambda: baselines.LogitBoost(n_estimators=6, max_depth=2, random_state=0),
    "ranknet": lambda: baselines.RankNet(hidden_units=3, max_iter=20, random_state=0),
}
J48 = """income <= 0.2: 0 (120.0/10.0)
income > 0.2
|   home = owns: 1 (60.0/4.0)
|   home = rents
|   |   age <= 40: 0 (30.0)
|   |   age > 40: 1 (25.0/9.0)
|   home = größe <b>: 1 (20.0/3.0)"""
STUMP = {
    "children_left": [1, -1, -1], "children_right": [2, -1, -1], "feature": [2, -2, -2],
    "threshold": [0.25, 0.0, 0.0], "value": [[9, 8], [8, 2], [1, 6]], "n_features": 4,
}  # fmt: skip
# Geometric rankers of this library's trees, and of other trees on numbers.
GEOMETRIC = {
    "geometric_tree": lambda: GeometricRanker(TreeRank(max_depth=3), metric="standard"),
    "geometric_leafrank": lambda: GeometricRanker(LeafRank(max_depth=3), ranking="local"),
    "geometric_frozen": lambda: GeometricRanker(
        FrozenEstimator(TreeRank(max_depth=2).fit(*loans())), class_of_interest=0
    ),
    "geometric_j48": lambda: GeometricRanker(J48, ranking="local", smoothing="m"),
}
GEOMETRIC_NUMBERS = {
    "geometric_cart": lambda: GeometricRanker(
        DecisionTreeClassifier(max_depth=3, random_state=0).fit(*numbers())
    ),
    "geometric_unfitted_cart": lambda: GeometricRanker(
        DecisionTreeClassifier(max_leaf_nodes=4, random_state=0), ranking=None, smoothing=None
    ),
    "geometric_arrays": lambda: GeometricRanker(STUMP, metric=[1.0, 2.0, 0.5, 1.0]),
}
ON_NUMBERS = {*RIVALS, *GEOMETRIC_NUMBERS}
NAMES = [*TREES, *GRID_TREES, *FORESTS, *BOOSTED, *ORDINAL, *RIVALS, *GEOMETRIC, *GEOMETRIC_NUMBERS]


def fitted(name):
    """Return a fitted model and rows that it can score."""
    if name in RIVALS:
        X, y = numbers()
        return RIVALS[name]().fit(X, np.where(y == 1, "good", "bad")), numbers(300, seed=1)[0]
    if name in GEOMETRIC_NUMBERS:
        return GEOMETRIC_NUMBERS[name]().fit(*numbers()), numbers(300, seed=1)[0]
    X, y = loans()
    rows = new_rows()
    if name == "geometric_j48":  # C4.5 sends a part of a row with missing values down each branch
        X, y = known(X, y)
        rows = known(rows)[0]
    if name in ORDINAL:
        grades = np.array(GRADES)[y + (X["age"] > 50)]
        return ORDINAL[name]().fit(X, grades), rows
    return {**TREES, **GRID_TREES, **FORESTS, **BOOSTED, **GEOMETRIC}[name]().fit(X, y), rows


def known(X, y=None):
    """Return the rows without missing values whose level the J48 text names."""
    keep = X["income"].notna() & X["home"].isin(["owns", "rents", "größe <b>"])
    return X[keep], None if y is None else y[keep.to_numpy()]


def come_back(model, rows, folder):
    """Save and load a model; its scores must not change."""
    treerank.save(model, folder / "model")
    again = treerank.load(folder / "model")
    np.testing.assert_array_equal(again.score_samples(rows), model.score_samples(rows))
    return again
