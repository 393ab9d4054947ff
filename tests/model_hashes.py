"""Models with various options, classes, weights and categories, and a hash of each.

`python tests/model_hashes.py` writes the hashes. They change only with a fix that the changelog
mentions: code that is moved, or made faster, must keep them.
"""

import hashlib
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from treerank import BoostedTreeRank, GeometricRanker, LeafRank, RankingForest, TreeRank
from treerank.splitters import DyadicGrid

HASHES = Path(__file__).parent / "fixtures" / "model_hashes.json"
N = 900

TREES = {
    "default": TreeRank(LeafRank()),
    "one standard error": TreeRank(LeafRank(), one_standard_error=True),
    "own order": TreeRank(LeafRank(), shrinkage=None),
    "unpruned": TreeRank(pruning=None, shrinkage=None, min_samples_leaf=1),
    "penalty": TreeRank(pruning="penalty", shrinkage=4.0),
    "deep": TreeRank(LeafRank(max_depth=4, criterion="entropy")),
    "best first": TreeRank(LeafRank(max_depth=None, max_leaf_nodes=6), min_auc_gain=1e-3),
    "pruned leaves": TreeRank(LeafRank(max_depth=4, pruning="cv"), cv=3),
    "drawn": TreeRank(LeafRank(max_depth=3, max_features=2), max_features=3, random_state=5),
    "auc": TreeRank(LeafRank(max_depth=2, criterion="auc"), max_bins=32),
    "cell mean": TreeRank(LeafRank(), missing="cell_mean"),
    "adjacent": TreeRank(LeafRank(max_depth=2), tournament="adjacent", tournament_gain="local"),
    "soft labels": TreeRank(LeafRank(max_depth=2), soft_labels=True, max_depth=5),
}
FORESTS = {
    "forest": RankingForest(n_estimators=12),
    "exact forest": RankingForest(n_estimators=8, random_cut_share=0, random_state=3),
    "bagging": RankingForest.preset("bagging", n_estimators=6),
    "mean rank": RankingForest(n_estimators=6, aggregation="mean_rank"),
}
BOOSTING = {"l2_regularization": 5.0, "leafrank_depth": 2}
BOOSTED = {
    "boosting": BoostedTreeRank(12, **BOOSTING),
    "pairwise": BoostedTreeRank(6, loss="pairwise", subsample=0.7, **BOOSTING),
}
NUMBERS_ONLY = {
    "monotone": TreeRank(LeafRank(max_depth=2), monotonic_cst=[1, 0, -1, 0, 0]),
    "monotone boosting": BoostedTreeRank(8, monotonic_cst=[1, 0, -1, 0, 0], **BOOSTING),
    "grid": TreeRank(DyadicGrid(2), pruning=None, shrinkage=None),
    "leafrank": LeafRank(max_depth=3),
}


TWO_CLASSES_ONLY = {"penalty", "leafrank"}


def make_table(n_classes, kind):
    rng = np.random.default_rng(n_classes)
    x = rng.normal(size=(N, 5)).round(1)
    signal = x[:, 0] + x[:, 1] * x[:, 2] + rng.normal(size=N)
    level = rng.integers(0, 8, N)
    if kind != "numbers":
        signal += level % 3
    y = np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))
    x[rng.random(x.shape) < 0.05] = np.nan
    if kind == "numbers":
        return x, y
    frame = pd.DataFrame(x, columns=list("abcde"))
    frame["town"] = pd.Series([f"t{k}" for k in level]).where(rng.random(N) > 0.03)
    return frame, y


WEIGHTS = {
    "unit": lambda rng: None,
    "counts": lambda rng: rng.integers(0, 4, N),
    "fractions": lambda rng: rng.uniform(0.1, 2.0, N).round(3),
}


def cases():
    """Yield the name of each case and the arguments of `model_hash`."""
    every = {**TREES, **FORESTS, **BOOSTED}
    for n_classes in (2, 4):
        for kind in ("numbers", "categories"):
            for weight in WEIGHTS:
                for name, model in {**every, **(NUMBERS_ONLY if kind == "numbers" else {})}.items():
                    if n_classes > 2 and name in TWO_CLASSES_ONLY:
                        continue
                    if n_classes > 2 and isinstance(model, BoostedTreeRank):
                        model = clone(model).set_params(loss="pairwise")  # noqa: PLW2901
                    if weight != "unit" and (kind, n_classes) == ("categories", 4):
                        continue
                    yield f"{name}, {n_classes} classes, {kind}, {weight}", (
                        model, n_classes, kind, weight,
                    )  # fmt: skip
    cart = GeometricRanker(DecisionTreeClassifier(max_depth=4, random_state=0))
    yield "geometric, 2 classes, numbers, unit", (cart, 2, "numbers", "unit")


def model_hash(model, n_classes, kind, weight):
    """Return a hash of the fitted model's scores and tests."""
    x, y = make_table(n_classes, kind)
    sample_weight = WEIGHTS[weight](np.random.default_rng(7))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        fitted = clone(model).fit(x, y, sample_weight=sample_weight)
    digest = hashlib.sha256()
    # Ten digits only: exponentials may differ in their last bits between processors.
    text = [f"{score:.9e}" for score in fitted.score_samples(x)]
    digest.update(" ".join(text).encode())
    tree = getattr(fitted, "tree_", None)
    if hasattr(tree, "tests"):
        for field in ("feature", "cut", "missing_left", "left", "right"):
            digest.update(np.ascontiguousarray(tree.tests[field]).tobytes())
    return digest.hexdigest()[:16]


if __name__ == "__main__":
    found = {name: model_hash(*case) for name, case in cases()}
    HASHES.write_text(json.dumps(found, indent=1) + "\n")
    print(len(found), "hashes")
