"""Fitted attributes of a forest, and the trees that a warm start continues from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._growth.forest import Trees
from treerank._growth.forest_rows import ForestRows, Unseen
from treerank._input.parameters import check_choice, check_integer
from treerank._input.validation import TrainingData
from treerank._trees.packed_forest import ForestArrays
from treerank.metrics import auc_interval, vus_interval

FITTED_SOMETIMES = [
    "oob_decision_function_", "oob_auc_", "oob_auc_interval_", "oob_vus_", "oob_vus_interval_",
    "feature_importances_", "feature_importances_std_",
]  # fmt: skip


def set_measures(forest: Any, out_of_bag: Unseen | None, rows: ForestRows) -> None:
    """Set the fitted attributes that only some forests have, and delete outdated ones."""
    for name in FITTED_SOMETIMES:
        if hasattr(forest, name):
            delattr(forest, name)
    if forest.oob_score and out_of_bag is not None:
        _measure_out_of_bag(forest, out_of_bag, rows)
    if isinstance(forest._trees, ForestArrays):
        means, spread = _mean_importances(forest._trees)
        forest.feature_importances_, forest.feature_importances_std_ = means, spread


def _mean_importances(
    trees: ForestArrays,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each feature's share in the gains, averaged over the trees, and its spread."""
    total = trees.importance.sum(axis=1, keepdims=True)
    shares = trees.importance / np.where(total > 0, total, 1.0)
    mean = shares.mean(axis=0)
    return mean / mean.sum() if mean.any() else mean, shares.std(axis=0)


def _measure_out_of_bag(forest: Any, unseen: Unseen, rows: ForestRows) -> None:
    """Set the out-of-bag scores of the rows, and their AUC or VUS."""
    scores = unseen.means[:, 0]
    forest.oob_decision_function_ = rows.as_given(scores)
    seen = np.isfinite(scores)
    weight = None if unseen.units is None else unseen.units[seen] / rows.scale
    labels = unseen.labels[seen]
    n_classes = len(np.unique(labels))
    if n_classes < len(rows.sizes):
        raise ValueError(
            f"Got oob_score=True with {forest._trees.n_trees} trees, which leave out rows of "
            f"{n_classes} classes; expected some of all {len(rows.sizes)}. Grow more trees, "
            "or set oob_score=False."
        )
    if len(rows.sizes) > 2:
        forest.oob_vus_interval_ = vus_interval(labels, scores[seen], sample_weight=weight)
        forest.oob_vus_ = forest.oob_vus_interval_.vus
    else:
        forest.oob_auc_interval_ = auc_interval(labels, scores[seen], sample_weight=weight)
        forest.oob_auc_ = forest.oob_auc_interval_.auc


def warm_trees(forest: Any, data: TrainingData) -> Trees | None:
    """Return the trees of the last fit that a warm start continues from."""
    check_choice("warm_start", forest.warm_start, [True, False])
    n_trees = check_integer("n_estimators", forest.n_estimators, 1)
    before: Trees | None = getattr(forest, "_before_shrinkage", None)
    if not forest.warm_start or before is None:
        return None
    if n_trees < before.n_trees:
        raise ValueError(
            f"Got n_estimators={n_trees} with warm_start=True; expected at least the "
            f"{before.n_trees} trees that are there."
        )
    if data.table.n_rows != forest._plan.n_rows or not np.array_equal(
        data.classes, forest.label_order_
    ):
        raise other_data_error()
    return before


def other_data_error() -> ValueError:
    """Build the error for a warm start with different rows or classes."""
    return ValueError(
        "Got other data with warm_start=True; expected the rows and classes of the first fit."
    )
