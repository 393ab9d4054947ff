"""Rivals that choose their settings inside the training rows, and CatBoost."""

from typing import Any

import lightgbm
import numpy as np
import xgboost
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold

N_TREES = 200
LEAVES = (1, 3, 5, 10, 20)
TUNED = "LightGBM, tuned"
TUNED_XGBOOST = "XGBoost, tuned"
BY_OOB = "RandomForest, leaf by out-of-bag"
CATBOOST = "CatBoost"
# Twelve settings each, chosen by three folds.
RATES = ((0.1, 100), (0.05, 200), (0.02, 500))
LIGHTGBM_GRID = [
    {"learning_rate": [rate], "n_estimators": [trees], "num_leaves": [7, 31],
     "min_child_samples": [10, 40]}
    for rate, trees in RATES
]  # fmt: skip
XGBOOST_GRID = [
    {"learning_rate": [rate], "n_estimators": [trees], "max_depth": [3, 6],
     "min_child_weight": [1, 10]}
    for rate, trees in RATES
]  # fmt: skip


class OutOfBagForest(RandomForestClassifier):
    """scikit-learn's forest with the least size of a leaf that its out-of-bag AUC likes best."""

    def fit(self, X: Any, y: Any) -> Any:
        """Grow a forest for each size, and keep the best."""
        best = -1.0
        for leaf in LEAVES:
            forest = RandomForestClassifier(
                N_TREES, min_samples_leaf=leaf, oob_score=True, random_state=self.random_state
            ).fit(X, y)
            auc = roc_auc_score(y, np.nan_to_num(forest.oob_decision_function_[:, 1], nan=0.5))
            if auc > best:
                best, self.forest_ = auc, forest
        self.classes_ = self.forest_.classes_
        return self

    def predict_proba(self, X: Any) -> Any:
        """Shares of the classes."""
        return self.forest_.predict_proba(X)


def make_lightgbm(seed: int) -> Any:
    """LightGBM's defaults."""
    return lightgbm.LGBMClassifier(n_jobs=1, verbose=-1, random_state=seed)


def make_xgboost(seed: int) -> Any:
    """XGBoost's defaults."""
    return xgboost.XGBClassifier(enable_categorical=True, n_jobs=1, random_state=seed)


def tuned_lightgbm(seed: int) -> Any:
    """Return the best of LightGBM's settings."""
    return _search(make_lightgbm(seed), LIGHTGBM_GRID, seed)


def tuned_xgboost(seed: int) -> Any:
    """Return the best of XGBoost's settings."""
    return _search(make_xgboost(seed), XGBOOST_GRID, seed)


def _search(model: Any, grid: list[dict[str, Any]], seed: int) -> Any:
    folds = StratifiedKFold(3, shuffle=True, random_state=seed)
    return GridSearchCV(model, grid, scoring="roc_auc", cv=folds)


class CatBoost:
    """CatBoost's defaults, told which columns are categories."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(self, X: Any, y: Any) -> Any:
        """Boost."""
        import catboost  # noqa: PLC0415

        self.names = list(X.columns[X.dtypes == "category"])
        self.model = catboost.CatBoostClassifier(
            thread_count=1, verbose=False, random_seed=self.seed, allow_writing_files=False
        ).fit(self._as_text(X), y, cat_features=self.names)
        return self

    def _as_text(self, X: Any) -> Any:
        return X.assign(**{name: X[name].astype(object).fillna("missing") for name in self.names})

    def predict_proba(self, X: Any) -> Any:
        """Shares of the classes."""
        return self.model.predict_proba(self._as_text(X))
