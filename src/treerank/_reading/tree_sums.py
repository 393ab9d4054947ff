"""A fitted model as a sum of trees, from which attributions are computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from treerank._input.types import Floats
from treerank._trees.packed_forest import ForestArrays
from treerank._trees.ranking_tree import CATEGORICAL, NO_CUT, SLOT, RankTree, as_bytes, as_records


@dataclass(frozen=True)
class TreeSum:
    """Trees whose sum, times `factor` and plus `offset`, is the score of a model."""

    starts: NDArray[np.int64]
    slots: NDArray[np.uint8]
    step: Floats  # added on arrival at a slot; if at_end, only at the end of a walk
    set_of: NDArray[np.int32]
    category_sets: NDArray[np.uint8]
    at_end: NDArray[np.uint8]
    left_share: Floats | None  # share of the training weight, by slot; None if not known
    factor: float
    offset: float

    @property
    def walks(self) -> tuple[Any, Any, Any, Any, Any, Any]:
        """Arrays in the order of the core's arguments."""
        return self.starts, self.slots, self.step, self.set_of, self.category_sets, self.at_end


def tree_sum(model: Any) -> TreeSum | None:
    """Return the trees of a fitted model; None if it has none and scores all rows alike.

    Raises unless the score is a sum of trees whose tests each use a single feature.
    """
    if isinstance(model, BaseEstimator):
        check_is_fitted(model)
    if isinstance(getattr(model, "tree_", None), RankTree):
        return _of_tree(model)
    if hasattr(model, "loss_") and hasattr(model, "_start"):  # boosted
        return None if model._trees is None else _of_many(model._trees, 1.0, model._start)
    if hasattr(model, "_ranks") and isinstance(model._trees, ForestArrays):
        kind = "posterior" if model._ranks is None else model._ranks.kind
        if kind not in ("posterior", "mean_rank"):
            raise ValueError(
                f"Got a forest with aggregation={kind!r}, whose score is not a sum over its trees; "
                "expected 'posterior' or 'mean_rank'."
            )
        offset = -0.5 if model._ranks is None else -model._ranks.cut
        return _of_many(model._trees, 1.0 / model._trees.n_trees, offset)
    raise ValueError(
        f"Got a {type(model).__name__}; expected a model whose trees ask for single features: "
        "TreeRank, LeafRank or RankingForest with LeafRank as the splitter, or BoostedTreeRank."
    )


def _of_tree(model: Any) -> TreeSum:
    tree = model.tree_
    slots, target = tree.flat
    records = as_records(slots, SLOT)
    is_end = records["cut"] == NO_CUT
    in_set = ~is_end & (records["next"] & CATEGORICAL != 0)
    stratum = model._stratum[np.where(is_end, target, 0)]
    return TreeSum(
        starts=np.array([0, len(target)], dtype=np.int64),
        slots=np.ascontiguousarray(slots),
        step=np.where(is_end, model.partition_.scores[stratum], 0.0),
        set_of=np.where(in_set, target, -1).astype(np.int32),
        category_sets=as_bytes(tree.category_sets),
        at_end=np.ones(1, dtype=np.uint8),
        left_share=tree.left_shares,
        factor=1.0,
        offset=0.0,
    )


def _of_many(trees: ForestArrays, factor: float, offset: float) -> TreeSum:
    share = trees.left_share
    return TreeSum(
        starts=trees.starts,
        slots=np.ascontiguousarray(trees.slots),
        step=np.asarray(trees.step, dtype=np.float64),
        set_of=trees.set_of,
        category_sets=trees.category_sets,
        at_end=trees.at_end,
        left_share=None if share is None else np.asarray(share, dtype=np.float64),
        factor=factor,
        offset=float(offset),
    )
