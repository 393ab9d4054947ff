"""Estimators with parameters drawn at random, some of them wrong."""

from decimal import Decimal

import numpy as np
import pandas as pd
from random_inputs import SURROGATE
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from treerank import BoostedTreeRank, GeometricRanker, LeafRank, RankingForest, TreeRank, baselines
from treerank.splitters import DyadicGrid

WRONG = [
    -1, 0, 1.5, np.nan, np.inf, -np.inf, "no", "", [], {}, 2**31, 2**63, 10**30, -(2**70), None,
    True, False, object(), b"x", (1, 2), np.array([1, 2]), np.float32(0.5), np.int8(3), 1e-320,
    1e308, 1j, Decimal("0.5"), pd.NA, SURROGATE,
]  # fmt: skip
ENDLESS = ("n_estimators", "max_iter", "n_components", "hidden_units", "n_jobs", "resolution")
TREE = {
    "max_depth": [1, 3, 10, None],
    "min_samples_leaf": [1, 2, 5, 0.1, 10**6],
    "max_features": [None, 1, 0.5, "sqrt", "log2", 1.0],
    "max_bins": ["auto", 2, 16, 255, 300, 65535],
    "random_state": [None, 0, 7],
    "monotonic_cst": [None] * 6 + [{"column 0": 1}, {"column 1": -1}, {"x0": 1}, [0, -1]],
    "n_jobs": [None, 2, -1],
}
CLASSES = {"tournament": ["all", "adjacent"], "tournament_gain": ["vus", "local"]}
LEAFRANK = {
    "criterion": ["gini", "entropy", "auc", "hellinger"],
    "max_depth": [1, 2, 4, None],
    "max_leaf_nodes": [None, 2, 5],
    "min_samples_leaf": [1, 3, 0.1],
    "min_samples_split": [2, 5, 0.5],
    "max_features": [None, 1, 0.5, "sqrt"],
    "pruning": [None, None, None, None, "cv"],
}
KERNEL = {
    "kernel": ["linear", "rbf"],
    "gamma": ["scale", "auto", 0.1, 1e6, 1e-9],
    "approximation": ["auto", "exact", "nystroem"],
    "n_components": [2, 50],
    "random_state": [None, 0],
}
STUMPS = {
    "n_estimators": [1, 5],
    "learning_rate": [0.3, 1.0, 1e-9, 50.0],
    "smoothing": [1e-3, 1e-300, 1.0],
    "max_bins": [2, 1024],
}


def draw(rng, choices):
    """Draw some of the parameters with one of their values; a wrong value now and then."""
    kept = [name for name in choices if rng.random() < 0.4]
    drawn = {name: choices[name][int(rng.integers(len(choices[name])))] for name in kept}
    if rng.random() < 0.1:
        name = str(rng.choice(list(choices)))
        wrong = WRONG[int(rng.integers(len(WRONG)))]
        huge = isinstance(wrong, int | float) and not isinstance(wrong, bool) and wrong > 100
        if not (name in ENDLESS and huge):
            drawn[name] = wrong
    return drawn


def leafrank(rng):
    return LeafRank(**draw(rng, LEAFRANK))


def splitter(rng):
    kind = rng.random()
    if kind < 0.5:
        return None
    if kind < 0.85:
        return leafrank(rng)
    if kind < 0.9:
        return DyadicGrid(int(rng.integers(1, 4)))
    if kind < 0.95:
        return DecisionTreeClassifier(max_depth=2, random_state=0)
    return WRONG[int(rng.integers(len(WRONG)))]


def treerank(rng):
    choices = TREE | CLASSES | {
        "min_samples_split": [2, 10, 0.2],
        "min_auc_gain": [0.0, 0.01],
        "pruning": ["cv", "penalty", None],
        "one_standard_error": [True, False],
        "noise_limit": [3.0, 0.0],
        "penalty_constant": ["auto", 1.0],
        "penalty_bounds": [None, (0.2, 0.8)],
        "shrinkage": ["cv", None, 0.0, 10.0, 1e300],
        "soft_labels": [False, "auto", True],
        "cv": [2, 3, 5],
        "categorical_features": ["from_dtype", "from_dtype", None, [0]],
        "missing": ["learned", "cell_mean"],
    }  # fmt: skip
    return TreeRank(splitter(rng), **draw(rng, choices))


def lone_leafrank(rng):
    choices = LEAFRANK | {
        name: TREE[name] for name in ("max_bins", "random_state", "monotonic_cst", "n_jobs")
    }
    choices |= {"categorical_features": ["from_dtype", [0]], "missing": ["learned", "cell_mean"]}
    return LeafRank(**draw(rng, choices))


def forest(rng):
    choices = TREE | CLASSES | {
        "max_depth": ["auto", 1, 3, None],
        "min_samples_leaf": [None, 1, 5, 0.2],
        "bootstrap": [True, False],
        "max_samples": [None, 0.5, 3],
        "aggregation": ["posterior", "mean_rank", "median_rank", "kendall"],
        "shrinkage": ["oob", None, 0.0, 5.0],
        "oob_score": [True, False],
        "random_cut_share": ["auto", 0.0, 1.0],
        "categorical_features": ["from_dtype", [0]],
    }  # fmt: skip
    model = RankingForest(splitter(rng), **draw(rng, choices))
    return model.set_params(n_estimators=int(rng.integers(1, 6)), n_jobs=None)


def boosted(rng):
    choices = TREE | {
        "n_estimators": [1, 5, 20],
        "learning_rate": [0.05, 1.0, 1e-300, 1e3],
        "loss": ["auto", "logistic", "pairwise", "rankboost"],
        "max_depth": [1, 2, 20],
        "max_leaf_nodes": [None, 2, 9],
        "leafrank_depth": ["auto", 1, 5],
        "min_samples_leaf": [1, 5, 0.1, 2.5, 2**40],
        "l2_regularization": [0.0, 5.0, 1e-300, 1e300],
        "subsample": [1.0, 0.5, 0.01],
        "leaf_values": ["leaf", "stratum"],
        "early_stopping": [False, True],
        "validation_fraction": [0.1, 0.9],
        "n_iter_no_change": [1, 50],
        "categorical_features": ["from_dtype", [0]],
    }  # fmt: skip
    parameters = {"n_estimators": 5} | draw(rng, choices)
    return BoostedTreeRank(**parameters)


def geometric(rng):
    inner = [
        DecisionTreeClassifier(max_depth=3, random_state=0),
        leafrank(rng),
        TreeRank(leafrank(rng), pruning=None, max_depth=3),
        make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3, random_state=0)),
        LogisticRegression(),
    ]
    choices = {
        "ranking": ["global", "local", None],
        "metric": ["minmax", "standard", [1.0], [1e-300, 1e300]],
        "smoothing": ["laplace", "m", None],
        "class_of_interest": [None, 0, 1],
    }
    which = int(rng.choice(len(inner), p=[0.3, 0.3, 0.25, 0.1, 0.05]))
    return GeometricRanker(inner[which], **draw(rng, choices))


def rival(rng):
    drawn = str(rng.choice(baselines.__all__))
    choices = {
        "RankBoost": STUMPS,
        "PNormPush": STUMPS | {"p": [1.0, 4.0, 1e3]},
        "RankSVM": KERNEL | {"C": [0.1, 1e-300, 1e300], "max_iter": [1, 20]},
        "RankRLS": KERNEL | {"alphas": [[1.0], [1e-300, 1e300], []]},
        "KernelLogisticRegression": KERNEL | {"C": [1.0, 1e-300, 1e300], "max_iter": [1, 20]},
        "LogitBoost": {
            "n_estimators": [1, 5], "learning_rate": [0.5, 1e3], "max_depth": [1, 3],
            "random_state": [None, 0],
        },
        "RankNet": {
            "hidden_units": [1, 3], "alpha": [0.01, 0.0, 1e300], "max_iter": [1, 10],
            "random_state": [None, 0],
        },
    }[drawn]  # fmt: skip
    few = {"n_estimators": 5} if "n_estimators" in choices else {}
    few |= {"max_iter": 10} if "max_iter" in choices else {}
    return getattr(baselines, drawn)(**few | draw(rng, choices))


MAKERS = [treerank, lone_leafrank, forest, boosted, geometric, rival]
CHANCES = [0.25, 0.1, 0.2, 0.2, 0.1, 0.15]


def estimator(rng):
    return MAKERS[int(rng.choice(len(MAKERS), p=CHANCES))](rng)
