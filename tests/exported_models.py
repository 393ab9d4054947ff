"""Models that tests export, and rows to score: quoted names, categories, missing values."""

import saved_models

from treerank import BoostedTreeRank, LeafRank, RankingForest, TreeRank

N_ROWS = 10_000
NASTY = "we\"ird 'name'; DROP TABLE loans; --"
RENAMED = {"income": NASTY, "age": "Age", "home": "Größe", "member": "select"}


def training():
    X, y = saved_models.loans(800)
    return X.rename(columns=RENAMED), y


def to_score(n=N_ROWS):
    return saved_models.new_rows(n).rename(columns=RENAMED)


MODELS = {
    "tree": TreeRank(),
    "deep tree": TreeRank(LeafRank(max_depth=3), max_depth=5, pruning=None),
    "cell mean": TreeRank(missing="cell_mean", pruning=None, max_depth=4),
    "leafrank": LeafRank(max_depth=3),
    "forest": RankingForest(n_estimators=3),
    "whole forest": RankingForest(LeafRank(max_depth=None), n_estimators=4),
    "mean ranks": RankingForest.preset("rf5", n_estimators=3, max_depth=4),
    "boosted": BoostedTreeRank(n_estimators=4),
    "bagged": BoostedTreeRank(n_estimators=2, n_bags=3),
}
GRADES = ["poor", "fair", "good", "it's best"]  # worst first
ORDINAL = {
    "tree": TreeRank(LeafRank(max_depth=2), label_order=GRADES),
    "forest": RankingForest(n_estimators=3, label_order=GRADES),
    "mean ranks": RankingForest(n_estimators=2, aggregation="mean_rank", label_order=GRADES),
    "boosted": BoostedTreeRank(n_estimators=3, label_order=GRADES),
}
TREES = ["tree", "deep tree", "cell mean", "leafrank"]
FORESTS = ["forest", "whole forest", "mean ranks", "boosted", "bagged"]
