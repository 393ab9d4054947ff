"""Recognise rows that a model was trained on, where what the model keeps leaves no doubt."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from treerank._base import TreeRanker
from treerank._forest import RankingForest
from treerank._input.class_weight import with_class_weight
from treerank._input.frames import take_rows_of
from treerank._input.label_order import class_codes
from treerank._input.types import FittedClassifier, Floats, TableLike
from treerank._trees.packed_forest import ForestArrays
from treerank._trees.ranking_tree import CATEGORICAL, MISSING_RIGHT, NO_CUT, SLOT, as_records

# With fewer strata, or fewer drawn trees, other rows could have the same counts by chance.
MIN_STRATA = 3
MIN_TREES, MAX_TREES = 5, 20
# Trees keep shares in single precision, and counts of weights that were scaled.
SAME = 1e-6


def are_training_rows(
    model: FittedClassifier, X: TableLike, labels: NDArray[Any], weight: Floats
) -> bool:
    """Whether a tree or forest was certainly fitted to these rows; other models cannot tell.

    A tree with few strata, a forest read from a model file and one without bootstrap cannot tell
    either; the rows of a forest must be in the order in which it was fitted to them.

    Parameters
    ----------
    model : fitted estimator
    X : array-like or data frame of shape (n_samples, n_features)
    labels : array of shape (n_samples,)
        Labels that the model knows.
    weight : array of shape (n_samples,)
    """
    if not isinstance(model, TreeRanker | RankingForest):
        return False
    order = model.label_order_
    code = class_codes(labels, order)
    counted = with_class_weight(
        getattr(model, "class_weight", None), code.astype(np.uint8), order, weight
    )
    weight = weight if counted is None else counted
    if not (weight > 0).all():  # `fit` leaves them out
        kept = np.flatnonzero(weight > 0)
        X, code, weight = take_rows_of(X, kept), code[kept], weight[kept]
    if isinstance(model, TreeRanker):
        return _fill_the_strata(model, X, code, weight)
    return _fill_the_drawn_trees(model, X, weight)


def _fill_the_strata(
    model: TreeRanker, X: TableLike, code: NDArray[np.intp], weight: Floats
) -> bool:
    """Whether the rows fall into all strata of a tree as its training rows did."""
    counts = model.partition_.counts
    if len(counts) < MIN_STRATA:
        return False
    place = model.apply(X).astype(np.intp) * counts.shape[1] + code
    found = np.bincount(place, weights=weight, minlength=counts.size).reshape(counts.shape)
    return bool(np.allclose(found / found.sum(), counts / counts.sum(), rtol=0, atol=SAME / 1e3))


def _fill_the_drawn_trees(model: RankingForest, X: TableLike, weight: Floats) -> bool:
    """Whether the rows drawn for some trees of a forest part at the roots as they did in `fit`."""
    trees, sampling = model._trees, model._plan.sampling
    n = len(weight)
    if not isinstance(trees, ForestArrays) or trees.left_share is None:
        return False
    if n != model._plan.n_rows or not sampling.leaves_rows_out(n):
        return False
    codes, _ = model._codes(X)
    slots = as_records(trees.slots, SLOT)
    n_same = 0
    for tree, start in enumerate(trees.starts[:-1].tolist()):
        root = slots[start]
        if root["cut"] == NO_CUT or root["next"] & CATEGORICAL:
            continue
        drawn = sampling.counts(tree, n) * weight
        share = drawn[_goes_left(root, codes)].sum() / drawn.sum()
        if not abs(share - trees.left_share[start]) <= SAME:
            return False
        n_same += 1
        if n_same == MAX_TREES:
            break
    return n_same >= MIN_TREES


def _goes_left(root: Any, codes: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each row passes the test of a number; code 0 is missing."""
    code = codes[root["feature"]].astype(np.int64)
    if root["next"] & MISSING_RIGHT:
        return np.asarray((code > 0) & (code - 1 <= root["cut"]))
    return np.asarray(code <= root["cut"])
