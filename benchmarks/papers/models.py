"""The methods of "An empirical comparison": variants of TreeRank, and its rivals."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin, clone
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
KERNELS = ["linear", "rbf"]
# Of SVM splits. A linear SVM with C=100 takes twenty times as long as with C=1.
SVM_GRID = [
    {"splitter__kernel": ["linear"], "splitter__C": [0.1, 1.0, 10.0]},
    {"splitter__kernel": ["rbf"], "splitter__C": [0.1, 1.0, 10.0, 100.0]},
]
SVM_FOLDS = 3
Make = Callable[[], Any]


class ChosenSVM(ClassifierMixin, BaseEstimator):
    """A forest of SVM splits, whose penalty and kernel a single tree of such splits chooses.

    By the AUC of inner folds of the rows to be learned from: a forest would take fifty times as
    long to choose for itself.
    """

    def __init__(self, forest: RankingForest, search: GridSearchCV):
        self.forest = forest
        self.search = search

    def fit(self, X: Any, y: NDArray[Any]) -> "ChosenSVM":
        """Choose, and grow with it."""
        self.search_ = clone(self.search).set_params(refit=False).fit(X, y)
        self.forest_ = clone(self.forest).set_params(**self.search_.best_params_).fit(X, y)
        self.classes_ = self.forest_.classes_
        return self

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Scores of the forest."""
        return np.asarray(self.forest_.score_samples(X))


def prepared(model: Any) -> Any:
    """Put one column a level, filled gaps and standard scale before a model of plain numbers."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False, drop="if_binary")
    table = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")), remainder=levels
    )
    return make_pipeline(table, model)


def chosen(
    model: Any,
    grid: dict[str, list[Any]] | list[dict[str, list[Any]]],
    *,
    n_folds: int = 5,
    scoring: str | None = "roc_auc",
) -> GridSearchCV:
    """Choose parameters by stratified folds inside the rows to be learned from.

    Without `scoring` the model's own: AUC, or VUS beyond two classes.
    """
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    return GridSearchCV(model, grid, scoring=scoring, cv=folds)


def svm_tree(*, real: bool, pruned: bool) -> Any:
    """Return a ranking tree of SVM splits whose penalty and kernel its own inner folds choose.

    On simulated data the kernel is Gaussian, as in the paper; the paper does not print a penalty.
    A penalty with which the SVM puts all rows of a fold into one class cannot be fitted, has no
    score, and so is never chosen.
    """
    tree = TreeRank(SVC(), max_depth=MASTER_DEPTH, shrinkage=None, noise_limit=0)
    grid = SVM_GRID if real else SVM_GRID[-1:]
    return chosen(
        tree if pruned else tree.set_params(pruning=None), grid, n_folds=SVM_FOLDS, scoring=None
    )


def svm_forest(name: str, *, real: bool) -> ChosenSVM:
    """Return a forest of SVM splits, with what an unpruned tree of such splits chooses."""
    return ChosenSVM(RankingForest.preset(name, SVC()), svm_tree(real=real, pruned=False))


def cart_tree(*, pruned: bool, cv: int = 5) -> TreeRank:
    """Return a ranking tree parted by LeafRank: of the paper's fixed depths, or pruned.

    `noise_limit=0`: the papers keep the best of the nested subtrees however little it is above
    chance. The default of the library asks for three standard errors, which on 112 rows with 19
    positives few trees reach.
    """
    if pruned:
        inner = LeafRank(max_depth=INNER_DEPTH, pruning="cv")
        return TreeRank(inner, max_depth=MASTER_DEPTH, shrinkage=None, noise_limit=0, cv=cv)
    inner = LeafRank(max_depth=INNER_DEPTH)
    return TreeRank(inner, max_depth=MASTER_DEPTH, pruning=None, shrinkage=None)


def variants(*, real: bool) -> dict[str, Make]:
    """Return the variants of TreeRank: twelve on simulated data, eight on real sets."""
    # Gaussian samples have one scale, and no levels: nothing to prepare.
    plain = prepared if real else lambda model: model
    found: dict[str, Make] = {
        "TRK_CART": lambda: cart_tree(pruned=real),
        "TRK_SVM": lambda: plain(svm_tree(real=real, pruned=real)),
        "Bagg_CART": lambda: RankingForest.preset("bagging"),
        "Bagg_SVM": lambda: plain(svm_forest("bagging", real=real)),
    }
    for name in ("RF1", "RF2"):
        found[f"{name}_SVM"] = lambda name=name: plain(svm_forest(name.lower(), real=real))
    for name in ("RF1", "RF2", "RF3", "RF4", "RF5", "RF6"):
        found[f"{name}_CART"] = lambda name=name: RankingForest.preset(name.lower())
    if real:
        for left_out in ("RF2_CART", "RF2_SVM", "RF4_CART", "RF6_CART"):
            del found[left_out]
    return found


def rivals(*, real: bool) -> dict[str, Make]:
    """Return the paper's rivals, with parameters chosen inside the training rows.

    RankLS chooses its penalty by leave-one-out on its own.
    """
    steps, few_steps = {"n_estimators": [30, 100, 300]}, {"n_estimators": [30, 100]}
    shrinkages = {"C": [0.001, 0.01, 0.1, 1.0, 10.0], "kernel": KERNELS}
    # On smooth features 999 cuts take four times as long as 127.
    stumps: dict[str, Any] = {} if real else {"max_bins": 128}
    return {
        "AdaBoost": lambda: prepared(chosen(AdaBoostClassifier(random_state=0), few_steps)),
        "RankBoost": lambda: prepared(chosen(RankBoost(**stumps), steps)),
        "RankSVM": lambda: prepared(chosen(RankSVM(), shrinkages)),
        "RankLS": lambda: prepared(chosen(RankRLS(), {"kernel": KERNELS})),
        "PNormPush": lambda: prepared(chosen(PNormPush(**stumps), few_steps | {"p": [2.0, 4.0]})),
        "KLR": lambda: prepared(chosen(KernelLogisticRegression(), shrinkages)),
    }


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
