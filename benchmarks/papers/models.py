"""The methods of paper 003: variants of TreeRank, and its rivals with a choice of parameters."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import AdaBoostClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from treerank import BoostedTreeRank, LeafRank, RankingForest, TreeRank
from treerank.baselines import (
    KernelLogisticRegression,
    PNormPush,
    RankBoost,
    RankRLS,
    RankSVM,
)

MASTER_DEPTH, INNER_DEPTH = 8, 6  # of the unpruned trees on simulated data
N_TREES = 50
Make = Callable[[], Any]


class SvmForest(ClassifierMixin, BaseEstimator):
    """Ranking trees with SVM splits on bootstrap samples; the consensus is the mean rank."""

    def __init__(self, tree: TreeRank, n_estimators: int = N_TREES, random_state: int = 0):
        self.tree = tree
        self.n_estimators = n_estimators
        self.random_state = random_state

    def fit(self, X: NDArray[np.float64], y: NDArray[Any]) -> "SvmForest":
        """Grow the trees."""
        self.classes_ = np.unique(y)
        rng = np.random.default_rng(self.random_state)
        self.trees_ = []
        while len(self.trees_) < self.n_estimators:
            rows = rng.integers(len(y), size=len(y))
            if len(np.unique(y[rows])) == len(self.classes_):
                tree = TreeRank(**self.tree.get_params(deep=False))
                tree.set_params(random_state=len(self.trees_))
                self.trees_.append(tree.fit(X[rows], y[rows]))
        self.training_ = [np.sort(tree.score_samples(X)) for tree in self.trees_]
        return self

    def score_samples(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean over the trees of the share of training rows below, ties counted 1/2."""
        total = np.zeros(len(X))
        for tree, known in zip(self.trees_, self.training_, strict=True):
            scores = tree.score_samples(X)
            total += np.searchsorted(known, scores) + np.searchsorted(known, scores, "right")
        return total / (2 * len(self.training_[0]) * len(self.trees_))

    decision_function = score_samples


def prepared(model: Any) -> Any:
    """Put one column a level, filled gaps and standard scale before a model of plain numbers."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False, drop="if_binary")
    table = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")), remainder=levels
    )
    return make_pipeline(table, model)


def chosen(model: Any, grid: dict[str, list[Any]]) -> Any:
    """Choose parameters by five stratified folds inside the rows to be learned from."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return GridSearchCV(model, grid, scoring="roc_auc", cv=folds)


def svm_tree(pruning: str | None, max_features: Any = None) -> TreeRank:
    """Return a ranking tree whose cells are parted by Gaussian SVMs."""
    return TreeRank(
        SVC(kernel="rbf", C=1.0), max_depth=MASTER_DEPTH if pruning is None else 4,
        pruning=pruning, shrinkage=None, max_features=max_features, cv=5,
    )  # fmt: skip


def cart_tree(pruned: bool) -> TreeRank:
    """Return a ranking tree parted by LeafRank: of the paper's fixed depths, or pruned."""
    if pruned:
        inner = LeafRank(max_depth=INNER_DEPTH, pruning="cv")
        return TreeRank(inner, max_depth=MASTER_DEPTH, cv=5, shrinkage=None)
    inner = LeafRank(max_depth=INNER_DEPTH)
    return TreeRank(inner, max_depth=MASTER_DEPTH, pruning=None, shrinkage=None)


def variants(*, real: bool) -> dict[str, Make]:
    """Return the variants of TreeRank: twelve on simulated data, eight on real sets."""
    names = ["RF1", "RF2", "RF3", "RF4", "RF5", "RF6"]
    plain = prepared if real else lambda model: model
    found: dict[str, Make] = {
        "TRK_CART": lambda: cart_tree(pruned=real),
        "TRK_SVM": lambda: plain(svm_tree("cv" if real else None)),
        "Bagg_CART": lambda: RankingForest.preset("bagging"),
        "Bagg_SVM": lambda: plain(SvmForest(svm_tree(None))),
        "RF1_SVM": lambda: plain(SvmForest(svm_tree(None, 0.25))),
        "RF2_SVM": lambda: plain(SvmForest(svm_tree(None, 1))),
    }
    for name in names:
        found[f"{name}_CART"] = lambda name=name: RankingForest.preset(name.lower())
    if real:
        for name in ("RF2_CART", "RF2_SVM", "RF4_CART", "RF6_CART"):
            del found[name]
    return found


def rivals() -> dict[str, Make]:
    """Return the paper's rivals, with parameters chosen inside the training rows."""
    steps = {"n_estimators": [30, 100, 300]}
    strengths = {"C": [0.001, 0.01, 0.1, 1.0]}
    return {
        "AdaBoost": lambda: prepared(chosen(AdaBoostClassifier(random_state=0), steps)),
        "RankBoost": lambda: prepared(chosen(RankBoost(), steps)),
        "RankSVM": lambda: prepared(
            chosen(RankSVM(), strengths | {"kernel": ["linear", "rbf"]})
        ),
        "RankLS": lambda: prepared(chosen(RankRLS(), {"kernel": ["linear", "rbf"]})),
        "PNormPush": lambda: prepared(chosen(PNormPush(), steps | {"p": [2.0, 4.0]})),
        "KLR": lambda: prepared(chosen(KernelLogisticRegression(), strengths)),
    }  # fmt: skip


def ours() -> dict[str, Make]:
    """Return what the library would take today; the paper has no such rows."""
    return {
        "RankingForest()": RankingForest,
        "BoostedTreeRank()": BoostedTreeRank,
    }


def scores_of(model: Any, X: Any) -> NDArray[np.float64]:
    """Return the score of each row, by ranks where it is a probability."""
    for method in ("score_samples", "decision_function"):
        if hasattr(model, method):
            return np.asarray(getattr(model, method)(X), dtype=np.float64)
    return rankdata(model.predict_proba(X)[:, 1])
