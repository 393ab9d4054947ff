"""One fitted model of every kind that a model file can hold, and rows to score with it."""

import numpy as np
import pandas as pd

from treerank import LeafRank, RankingForest, TreeRank, baselines


def loans(n=400, seed=0):
    """A table with numbers, categories of text, booleans and numbers, and missing values."""
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
    """Rows with missing values, a level that the models have not seen, and far values."""
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
FORESTS = {
    "forest": lambda: RankingForest(n_estimators=5, oob_score=True, random_state=3),
    "whole_forest": lambda: RankingForest(LeafRank(max_depth=None), n_estimators=4),
    "warm_forest": lambda: RankingForest(n_estimators=3, warm_start=True),
    "mean_rank_forest": lambda: RankingForest.preset("rf5", n_estimators=4),
    "median_rank_forest": lambda: RankingForest(n_estimators=4, aggregation="median_rank"),
    "kendall_forest": lambda: RankingForest(n_estimators=4, aggregation="kendall"),
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
NAMES = [*TREES, *FORESTS, *ORDINAL, *RIVALS]


def fitted(name):
    """Return a fitted model and rows that it can score."""
    if name in RIVALS:
        X, y = numbers()
        return RIVALS[name]().fit(X, np.where(y == 1, "good", "bad")), numbers(300, seed=1)[0]
    X, y = loans()
    if name in ORDINAL:
        grades = np.array(GRADES)[y + (X["age"] > 50)]
        return ORDINAL[name]().fit(X, grades), new_rows()
    return {**TREES, **FORESTS}[name]().fit(X, y), new_rows()
